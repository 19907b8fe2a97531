"""The built-in voices, and whose voices they are."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class BuiltInVoice:
    """One voice.

    Attributes:
        name: what callers ask for.
        pack: the voice of Kokoro-82M that it was learned from.
        gender: for callers who look for one.
        description: a sentence for people.
    """

    name: str
    pack: str
    gender: Literal["female", "male"]
    description: str

    @property
    def card(self) -> dict[str, Any]:
        """What `voices/<name>.json` says, but for the name and the vector."""
        return {"language_codes": ["en-US"], "gender": self.gender, "description": self.description}


FIRST_VOICE = BuiltInVoice(
    "aria", "af_heart", "female", "Warm and clear. Distilled from hibari-tts (Kokoro-82M, af_heart)."
)
"""The one that talker and codec were trained on; its voice vector is all zeros."""

OTHER_VOICES = (
    BuiltInVoice("cora", "af_kore", "female", "Even and confident. Timbre of Kokoro-82M, af_kore."),
    BuiltInVoice("daniel", "bm_daniel", "male", "Crisp; a British speaker. Timbre of Kokoro-82M, bm_daniel."),
    BuiltInVoice("emma", "bf_emma", "female", "Composed; a British speaker. Timbre of Kokoro-82M, bf_emma."),
    BuiltInVoice("felix", "bm_fable", "male", "Lively; a British speaker. Timbre of Kokoro-82M, bm_fable."),
    BuiltInVoice("michael", "am_michael", "male", "Calm and friendly. Timbre of Kokoro-82M, am_michael."),
    BuiltInVoice("nova", "af_nova", "female", "Bright and lively. Timbre of Kokoro-82M, af_nova."),
    BuiltInVoice("oscar", "am_onyx", "male", "Deep. Timbre of Kokoro-82M, am_onyx."),
    BuiltInVoice("sky", "af_sky", "female", "Light and young. Timbre of Kokoro-82M, af_sky."),
)
