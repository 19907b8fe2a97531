"""A client that listens in real time: when it heard the first sound, and whether it ever ran out of audio."""

import time
from dataclasses import dataclass, field

import numpy as np

from antiphon_client.aio import AsyncClient
from antiphon_client.errors import AntiphonError
from antiphon_client.options import SpeechOptions

AUDIBLE = 0.01
PCM_SCALE = 32768.0


@dataclass
class Listening:
    """What one listener, who plays from the first chunk on, went through.

    Attributes:
        asked_s: when the text was sent, on the clock of the process.
        first_audio_s: time from then to the first chunk.
        first_sound_s: time from then to the first sample above `AUDIBLE` leaving the loudspeaker.
        gaps_s: how long the loudspeaker fell silent because the next chunk had not come.
        audio_s: length of the speech.
        ended_s: when the last chunk came.
        error: class name of what ended it early, or empty.
    """

    asked_s: float
    first_audio_s: float | None = None
    first_sound_s: float | None = None
    gaps_s: list[float] = field(default_factory=list)
    audio_s: float = 0.0
    ended_s: float = 0.0
    error: str = ""
    _plays_until_s: float = 0.0

    def hear(self, audio: bytes, sample_rate_hz: int) -> None:
        """Take in a chunk that arrives now."""
        now_s = time.perf_counter()
        if self.first_audio_s is None:
            self.first_audio_s = now_s - self.asked_s
        elif now_s > self._plays_until_s:
            self.gaps_s.append(now_s - self._plays_until_s)
        begins_s = max(now_s, self._plays_until_s)
        samples = np.frombuffer(audio, np.int16)
        if self.first_sound_s is None:
            loud = np.flatnonzero(np.abs(samples / PCM_SCALE) > AUDIBLE)
            if len(loud):
                self.first_sound_s = begins_s + loud[0] / sample_rate_hz - self.asked_s
        duration_s = len(samples) / sample_rate_hz
        self._plays_until_s = begins_s + duration_s
        self.audio_s += duration_s
        self.ended_s = now_s


async def listen(client: AsyncClient, text: str, options: SpeechOptions, timeout_s: float = 60.0) -> Listening:
    """Have a text spoken and listen to its end; an error is noted, not raised."""
    heard = Listening(time.perf_counter())
    speech = client.speak(text, options, timeout_s=timeout_s)
    try:
        async for chunk in speech:
            assert speech.started is not None
            heard.hear(chunk.audio, speech.started.sample_rate_hz)
    except AntiphonError as error:
        heard.error = type(error).__name__
    return heard


def percentiles_ms(values_s: list[float], shares: tuple[float, ...] = (50, 95, 99)) -> list[float]:
    """Return percentiles in milliseconds; nan for no values."""
    if not values_s:
        return [float("nan")] * len(shares)
    return [1000 * float(value) for value in np.percentile(values_s, shares)]
