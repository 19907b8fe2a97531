"""The front end of the `fish_speech` family: a piece of text and a voice become the rows of a prompt.

There are no phonemes and no spelling out: the model reads the text itself. The voice comes first in the prompt, the
same rows for every segment it speaks.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from server.config import SegmentSettings
from server.errors import TextTooLongError
from server.fish_speech.byte_cutter import ByteCutter
from server.fish_speech.early_cutter import EarlyCutter
from server.fish_speech.prompt import RESERVED_ROWS, PromptBuilder, Rows, keep_history
from server.fish_speech.text import EMOJI, byte_count, is_speakable, segment_text
from server.fish_speech.tokenizer import SEMANTIC_COUNT, load_tokenizer
from server.fish_speech.voice_prompt import CUSTOM_FILE
from server.fish_speech.voice_rows import VoiceRows
from server.prepared_segment import Continuation, PreparedSegment, SpokenSegment
from server.voice import Voice
from trt_engines.errors import ManifestError
from trt_engines.manifest import Manifest
from trt_engines.manifest_reading import dataclass_from_json

_WHITE_SPACE = re.compile(r"\s+")
_FRAMES_PER_BYTE = 6
_SPARE_FRAMES = 64
_CONTEXT_ROWS = 4096
"""The original's own limit, whatever the model could hold."""


@dataclass(frozen=True)
class _PromptFile:
    """What `frontend/fish_speech.json` says."""

    codebook_count: int
    semantic_count: int
    upstream_compat: bool


@dataclass(frozen=True)
class PromptLimits:
    """How long a segment can be.

    Attributes:
        max_positions: rows of prompt and speech together.
        max_frames: frames of speech.
    """

    max_positions: int
    max_frames: int


class FishFrontend:
    """Prepares text. Safe to use from several threads.

    Args:
        builder: Makes prompts.
        find: Returns where the references of a voice lie, by its name; there need be no such file.
        limits: Of the talker.
        segments: Where to cut.
    """

    def __init__(
        self, builder: PromptBuilder, find: Callable[[str], Path], limits: PromptLimits, segments: SegmentSettings
    ) -> None:
        self._builder = builder
        self._limits = limits
        self._segments = segments
        self._voices = VoiceRows(builder, find)

    def cutter(self) -> ByteCutter | EarlyCutter:
        """Return what cuts the text of one utterance: as the original does, the beginning excepted where allowed."""
        largest, first = self._segments.max_bytes, self._segments.first_bytes
        return EarlyCutter(largest, first) if 0 < first <= largest else ByteCutter(largest)

    def prepare(self, text: str, voice: Voice) -> tuple[PreparedSegment, ...]:
        """Return the rows that speak `text` with a voice, always as one segment.

        Raises:
            TextTooLongError: Voice and text leave no room to speak in.
            ManifestError: The references of the voice cannot be read.
        """
        # Runs of blanks make the model hum; the original passes them on.
        cleaned = segment_text(text if self._builder.upstream_compat else _WHITE_SPACE.sub(" ", text))
        unspoken = tuple(EMOJI.findall(text))
        if not is_speakable(cleaned):
            nothing: Rows = np.zeros((0, 1 + self._builder.codebook_count), np.int32)
            return (PreparedSegment(text, nothing, (), unspoken, 0),)
        voice_rows, turn = self._voices.of(voice.name), self._builder.turn(cleaned)
        rows = np.concatenate([voice_rows, turn])
        limit = self._frame_limit(len(rows), cleaned)

        def join(spoken: Sequence[SpokenSegment]) -> tuple[Rows, int]:
            continued = np.concatenate([voice_rows, *self._history(spoken, turn, len(voice_rows), limit)])
            # Where even the pinned first pair leaves no room, the segment stands alone.
            return (continued if len(continued) + limit <= self._limits.max_positions else rows), limit

        return (PreparedSegment(text, rows, (), unspoken, limit, continuation=Continuation(turn, join)),)

    def _history(
        self, spoken: Sequence[SpokenSegment], turn: Rows, voice_row_count: int, max_frames: int
    ) -> list[Rows]:
        """Return the turns before this one that stay in the context, and this one."""
        turns: list[Rows] = []
        for segment in spoken:
            if segment.prepared.continuation is not None:
                turns += [segment.prepared.continuation.own_rows, self._builder.spoken(segment.frames.astype(np.int32))]
        pinned_rows = sum(map(len, turns[:2]))  # comes on top of what is counted
        room = min(_CONTEXT_ROWS - RESERVED_ROWS, self._limits.max_positions - pinned_rows - max_frames)
        room -= voice_row_count
        return keep_history([*turns, turn], room, upstream_compat=self._builder.upstream_compat)

    def _frame_limit(self, row_count: int, cleaned: str) -> int:
        """Return the most frames the text could need: 0.28 s for each of its bytes, if the context has room."""
        room = self._limits.max_positions - row_count
        if room < 1:
            raise TextTooLongError(
                f"Voice and text take {row_count} rows, but the model has {self._limits.max_positions} for them and "
                "the speech; shorten the text, or use a voice with a shorter reference.",
                "text",
            )
        return min(self._limits.max_frames, _SPARE_FRAMES + _FRAMES_PER_BYTE * byte_count(cleaned), room)


def load_fish_frontend(
    bundle_dir: Path, manifest: Manifest, custom_dir: Path | None = None, segments: SegmentSettings | None = None
) -> FishFrontend:
    """Load the front end of a bundle; voices that callers made lie in `custom_dir`, `segments` says where to cut.

    Raises:
        ManifestError: A file of it cannot be used; names it.
    """
    folder = bundle_dir / "frontend"
    settings_file = folder / "fish_speech.json"
    try:
        settings = dataclass_from_json(_PromptFile, json.loads(settings_file.read_text("utf-8")), settings_file)
        tokenizer = load_tokenizer(folder / "tokenizer.tiktoken", settings.semantic_count)
    except (OSError, ValueError) as error:
        raise ManifestError(f"{folder}: {error} Restore the file, or rebuild the bundle.") from error
    if settings.codebook_count != manifest.frame.width or not 0 < settings.semantic_count <= SEMANTIC_COUNT:
        raise ManifestError(
            f"{settings_file}: {settings.codebook_count} codebooks of {settings.semantic_count} codes do not fit "
            f"frames of {manifest.frame.width} codes. Rebuild the bundle with `antiphon build fish-speech-1.5`."
        )
    builder = PromptBuilder(tokenizer, settings.codebook_count, settings.upstream_compat)
    limits = PromptLimits(manifest.max_positions, manifest.step.max_frames)

    def find(name: str) -> Path:
        built_in = bundle_dir / "voices" / f"{name}.safetensors"
        return built_in if custom_dir is None or built_in.is_file() else custom_dir / name / CUSTOM_FILE

    return FishFrontend(builder, find, limits, segments or SegmentSettings())
