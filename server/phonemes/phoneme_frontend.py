"""The front end of voices that speak phonemes: one row per phoneme, then the row that the first step begins with."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.phonemes.inventory import PhonemeInventory, read_inventory
from server.phonemes.pronouncer import Pronouncer, Pronunciation
from server.prepared_segment import ClosingPause, PreparedSegment, WordSpan
from server.segment_cutter import SegmentCutter
from server.voice import Voice
from trt_engines.errors import ManifestError
from trt_engines.manifest import MANIFEST_NAME, Manifest

_COLUMNS = ("phoneme", "advance", "pointer", "dwell")
_BEGIN_ADVANCE = 5
_FEWEST_FRAMES, _SLOWEST_PHONEME_MS = 16, 200
"""Run-away guard: 200 ms for every phoneme, three times what speech takes, and some frames for pads and pauses."""
_SENTENCE_ENDS, _PAUSES = ".?!", ",;:"
_SENTENCE_PAUSE_S, _CLAUSE_PAUSE_S = 0.3, 0.15
"""Silence at the end of a segment. The voice was trained on utterances that end in half a second of it, which between
two segments of a sentence would be a stumble."""
_LAST_SOUND_S = 0.35
"""Longest sound of a segment's last phoneme; a talker that stays on it for longer is silent already."""
_BEFORE_WORD, _BEHIND_WORD = " “,;:.?!", " ”,;:.?!"


@dataclass(frozen=True, slots=True)
class _Spoken:
    """Where a word stands: in the string of phonemes, and in the text."""

    begin: int
    end: int
    char_start: int
    char_end: int


class PhonemeFrontend:
    """Makes the prompt of the `pointer` family: a pad, the phonemes, a pad, and the row of frame -1.

    Safe to use from several threads.

    Args:
        bundle_dir: Directory of the bundle.
        manifest: Its manifest.

    Raises:
        ManifestError: The bundle's phonemes or rows are not what this front end makes.
    """

    def __init__(self, bundle_dir: Path, manifest: Manifest) -> None:
        self._inventory = _inventory(bundle_dir, manifest)
        self._columns = manifest.row.columns
        self._max_positions = manifest.max_positions
        self._max_frames = manifest.step.max_frames
        self._frame_rate_hz = manifest.audio.frame_rate_hz
        variants = {_is_british(language) for language in manifest.languages}
        self._pronouncers = {british: Pronouncer(british=british) for british in variants}

    def cutter(self) -> SegmentCutter:
        """Return what cuts the text of one utterance: by sentences, and by clauses where somebody waits."""
        return SegmentCutter()

    def prepare(self, text: str, voice: Voice) -> tuple[PreparedSegment, ...]:
        """Turn a segment of text into one prepared segment, or into several where its phonemes are too many for one.

        Args:
            text: As the cutter gives it: white space behind the last word tells that the sentence goes on.
            voice: Who shall speak; decides between American and British English.
        """
        pronouncer = self._pronouncers[_is_british(voice.language_codes[0])]
        space = text[len(text.rstrip()) :]
        return tuple(self._prepared(text, pronouncer, goes_on=bool(space) and "\n" not in space))

    def _prepared(self, text: str, pronouncer: Pronouncer, *, goes_on: bool) -> Iterator[PreparedSegment]:
        pronunciations, unspoken = pronouncer.pronounce(text)
        phonemes, words = self._joined(pronunciations)
        phonemes = self._ended(phonemes, goes_on=goes_on)
        if all(pronunciation.is_silent for pronunciation in pronunciations):
            yield PreparedSegment(text, np.zeros((0, len(self._columns)), np.int32), (), unspoken, 0)
        elif len(phonemes) <= self._inventory.max_phonemes:
            spans = tuple(_span(word, text) for word in words)
            guard, pause = self._guard_frames(len(phonemes)), self._closing_pause(phonemes)
            yield PreparedSegment(text, self._rows(phonemes), spans, unspoken, guard, pause)
        else:
            place = _place_to_split(text, phonemes, words, self._inventory.max_phonemes)
            yield from self._prepared(text[:place], pronouncer, goes_on=True)
            yield from self._prepared(text[place:], pronouncer, goes_on=goes_on)

    def _joined(self, pronunciations: Iterable[Pronunciation]) -> tuple[str, list[_Spoken]]:
        """Join the phonemes of all words by spaces; note where each word that can be heard stands."""
        phonemes, words = "", []
        for pronunciation in pronunciations:
            known = self._inventory.known(pronunciation.phonemes)
            phonemes += " " if phonemes and known else ""
            begin = len(phonemes) + len(known) - len(known.lstrip(_BEFORE_WORD))
            phonemes += known
            end = len(phonemes.rstrip(_BEHIND_WORD))
            if not pronunciation.is_silent and pronunciation.char_start < pronunciation.char_end:
                words.append(_Spoken(begin, end, pronunciation.char_start, pronunciation.char_end))
        return phonemes, words

    def _ended(self, phonemes: str, *, goes_on: bool) -> str:
        """Let the phonemes end as what the voice was trained on: as a sentence, or in a pause."""
        ended = phonemes.rstrip(" ”" + _PAUSES)
        if ended[-1:] in _SENTENCE_ENDS:
            return phonemes.rstrip(" " + _PAUSES)
        pauses = goes_on or phonemes.rstrip(" ”")[-1:] in _PAUSES
        return ended + ("," if pauses and self._inventory.ends_with_pause else ".")

    def _rows(self, phonemes: str) -> NDArray[np.int32]:
        pad = self._inventory.pad_id
        ids = [pad, *self._inventory.ids(phonemes), pad]
        rows = np.full((len(ids) + 1, len(self._columns)), -1, np.int32)
        rows[:-1, 0] = ids
        rows[-1, 1:] = 0
        rows[-1, 1] = _BEGIN_ADVANCE
        return rows

    def _closing_pause(self, phonemes: str) -> ClosingPause:
        last_word_end = len(phonemes.rstrip(_BEHIND_WORD))
        pause_s = _SENTENCE_PAUSE_S if phonemes[-1:] in _SENTENCE_ENDS else _CLAUSE_PAUSE_S
        silent, sounding = (math.ceil(seconds * self._frame_rate_hz) for seconds in (pause_s, _LAST_SOUND_S))
        return ClosingPause(1 + last_word_end, silent, sounding)

    def _guard_frames(self, phoneme_count: int) -> int:
        guard = _FEWEST_FRAMES + math.ceil(_SLOWEST_PHONEME_MS * phoneme_count * self._frame_rate_hz / 1000)
        prefilled = phoneme_count + 2
        return min(guard, self._max_frames, self._max_positions - prefilled)


def _inventory(bundle_dir: Path, manifest: Manifest) -> PhonemeInventory:
    """Read the phonemes of the bundle and check what the front end needs of the rest of it."""
    file = bundle_dir / MANIFEST_NAME
    if len(manifest.frontend.files) != 1:
        raise ManifestError(
            f"{file}: `frontend.files` names {len(manifest.frontend.files)} files, but a front end of kind 'phonemes' "
            "has one, the list of phonemes; rebuild the bundle."
        )
    if manifest.row.columns[: len(_COLUMNS)] != _COLUMNS:
        raise ManifestError(
            f"{file}: `row.columns` begins with {', '.join(manifest.row.columns[:4])}, but a front end of kind "
            f"'phonemes' makes {', '.join(_COLUMNS)}; rebuild the bundle."
        )
    foreign = [language for language in manifest.languages if language.partition("-")[0].lower() != "en"]
    if foreign:
        raise ManifestError(
            f"{file}: `languages` names {foreign[0]!r}, but the front end 'phonemes' reads English only."
        )
    inventory = read_inventory(bundle_dir / manifest.frontend.files[0])
    needed = inventory.max_phonemes + 2 + manifest.step.min_frames
    if needed > manifest.max_positions:
        raise ManifestError(
            f"{file}: `max_positions` is {manifest.max_positions}, but a segment of {inventory.max_phonemes} phonemes "
            f"needs at least {needed}; rebuild the bundle with more."
        )
    return inventory


def _is_british(language: str) -> bool:
    return language.lower() == "en-gb"


def _span(word: _Spoken, text: str) -> WordSpan:
    """Turn places in the string of phonemes into rows: the first row is the pad."""
    written = text[word.char_start : word.char_end]
    return WordSpan(written, word.begin + 1, word.end + 1, word.char_start, word.char_end)


def _place_to_split(text: str, phonemes: str, words: list[_Spoken], max_phonemes: int) -> int:
    """Return where to split a text that has too many phonemes: behind a pause, else between words, else inside one."""
    fitting = [index for index in range(1, len(words)) if words[index - 1].end < max_phonemes]
    if not fitting:
        middle = (words[0].char_start + words[0].char_end) // 2 if words else len(text) // 2
        return min(max(middle, 1), len(text) - 1)
    behind_pause = [index for index in fitting if set(phonemes[words[index - 1].end : words[index].begin]) - {" "}]
    good = [index for index in behind_pause if words[index].begin > max_phonemes // 3]
    index = (good or fitting)[-1]
    place = words[index].char_start
    while place > words[index - 1].char_end and not text[place - 1].isspace():
        place -= 1
    return place
