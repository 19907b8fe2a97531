"""Turns the samples of one utterance into `AudioChunk`s: bytes in the caller's format, offsets, word times."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from server.audio import AudioEncoder
from server.prepared_segment import WordSpan
from server.utterance import AudioChunk, AudioFormat, WordTiming

_AUDIBLE = 0.01  # of full scale; what is below counts as silence
_LEAD_IN_S, _LEAD_IN_LEVEL = 0.045, 0.003  # a voice draws breath before it speaks; nobody needs to wait for that


class SpokenWord(NamedTuple):
    """A word and the frame of its segment in which it begins to sound."""

    span: WordSpan
    frame_index: int


class Chunker:
    """Keeps count of the audio of one utterance; used by one thread at a time.

    Each segment is encoded by itself, so its bytes do not depend on the segments around it.

    Args:
        audio: The caller's format, with its sample rate filled in.
        native_rate_hz: Sample rate of the vocoder.
        samples_per_frame: Samples of the vocoder per frame.
    """

    def __init__(self, audio: AudioFormat, native_rate_hz: int, samples_per_frame: int) -> None:
        self._audio = audio
        self._native_rate_hz = native_rate_hz
        self._frame_s = samples_per_frame / native_rate_hz
        self._encoder = self._new_encoder()
        self._segment_start = 0  # in samples of the caller's rate, as are all counts here
        self._unsent_words: list[WordTiming] = []
        self._is_audible = False
        self._lead_in_left = round(_LEAD_IN_S * native_rate_hz)
        self._lead_in_s = 0.0

    @property
    def segment_start_s(self) -> float:
        """Offset of the present segment from the start of the utterance."""
        return self._segment_start / self._audio.sample_rate_hz

    @property
    def segment_s(self) -> float:
        """Audio of the present segment so far."""
        return self._encoder.sample_count / self._audio.sample_rate_hz

    @property
    def duration_s(self) -> float:
        """Audio of the utterance so far."""
        return self.segment_start_s + self.segment_s

    def begin_segment(self) -> None:
        """Close the books of the segment before."""
        self._segment_start += self._encoder.sample_count
        self._encoder = self._new_encoder()

    def without_lead_in(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Leave out silence before the first sound of the utterance, at most 45 ms of it.

        Args:
            samples: float32 [samples] at the native rate, as they come.

        Returns:
            What is left of them. The decision is made sample by sample, so it does not depend on how they were cut.
        """
        sounding = np.flatnonzero(np.abs(samples[: self._lead_in_left]) > _LEAD_IN_LEVEL)
        cut = int(sounding[0]) if len(sounding) else min(len(samples), self._lead_in_left)
        self._lead_in_left = 0 if len(sounding) else self._lead_in_left - cut
        self._lead_in_s += cut / self._native_rate_hz
        return samples[cut:]

    def chunk(
        self, samples: NDArray[np.float32], segment_index: int, words: Iterable[SpokenWord], is_last: bool
    ) -> AudioChunk | None:
        """Encode the next samples of the present segment.

        Args:
            samples: float32 [samples] at the native rate.
            segment_index: Position of the segment in the utterance.
            words: Words of the segment that begin within these samples.
            is_last: Whether the segment ends here, so that nothing may be held back.

        Returns:
            The chunk, or None if the resampler kept everything; words then go with the next one.
        """
        start_s, before = self.segment_start_s, self._encoder.sample_count
        offset_s = self.duration_s
        audible_s = self._audible_s(samples, offset_s)
        self._unsent_words += [self._timing(word, start_s, segment_index) for word in words]
        audio = self._encoder.encode(samples)
        if is_last:
            audio += self._encoder.finish()
        duration_s = (self._encoder.sample_count - before) / self._audio.sample_rate_hz
        if not audio:
            return None
        timings, self._unsent_words = tuple(self._unsent_words), []
        return AudioChunk(audio, offset_s, duration_s, segment_index, timings, audible_s)

    def _new_encoder(self) -> AudioEncoder:
        return AudioEncoder(self._audio.encoding, self._native_rate_hz, self._audio.sample_rate_hz)

    def _timing(self, word: SpokenWord, start_s: float, segment_index: int) -> WordTiming:
        span = word.span
        start_s += word.frame_index * self._frame_s
        if not self._segment_start:  # the first segment that sounds is where the lead-in was left out
            start_s = max(0.0, start_s - self._lead_in_s)
        return WordTiming(span.text, start_s, span.char_start, span.char_end, segment_index)

    def _audible_s(self, samples: NDArray[np.float32], offset_s: float) -> float | None:
        """Return where the first audible sample of the utterance is, once."""
        if self._is_audible:
            return None
        audible = np.abs(samples) > _AUDIBLE
        first = int(np.argmax(audible)) if samples.size else 0
        self._is_audible = bool(samples.size and audible[first])
        return offset_s + first / self._native_rate_hz if self._is_audible else None
