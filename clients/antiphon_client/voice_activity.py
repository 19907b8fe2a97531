"""Whether somebody speaks into a microphone, by loudness alone: enough to interrupt a voice that is playing."""

import math

_SILENCE_DB = -96.0
_FLOOR_RISE = 0.02
_FLOOR_FALL = 0.3


class VoiceActivity:
    """Hears a voice when the sound is well above the noise of the room for long enough.

    The noise is learned from what is heard: quickly when it gets quieter, slowly when it gets louder.

    Args:
        margin_db: How far above the noise a voice is.
        onset_s: How long it must last.
    """

    def __init__(self, margin_db: float = 15.0, onset_s: float = 0.12) -> None:
        self._margin_db = margin_db
        self._onset_s = onset_s
        self._floor_db: float | None = None
        self._loud_s = 0.0

    def hears_voice(self, samples: bytes, sample_rate_hz: int) -> bool:
        """Takes the next samples, 16-bit mono; true once the voice has lasted for the onset."""
        level_db = _level_db(samples)
        if self._floor_db is None:
            self._floor_db = level_db
        if level_db > self._floor_db + self._margin_db:
            self._loud_s += len(samples) / (2 * sample_rate_hz)
        else:
            self._loud_s = 0.0
        speed = _FLOOR_FALL if level_db < self._floor_db else _FLOOR_RISE
        self._floor_db += speed * (level_db - self._floor_db)
        return self._loud_s >= self._onset_s


def _level_db(samples: bytes) -> float:
    """Loudness relative to full scale."""
    values = memoryview(samples).cast("h")
    power = sum(value * value for value in values) / max(1, len(values))
    return max(_SILENCE_DB, 10 * math.log10(power / 32768**2)) if power else _SILENCE_DB
