"""Tells a long text with the torch modules alone, by the original's way: every segment from its whole context anew."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from build_engines.fish_speech import sampler
from build_engines.fish_speech.sampler import HISTORY_FRAMES, SamplingParams
from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_weights import TalkerWeights
from server.fish_speech.prompt import RESERVED_ROWS, PromptBuilder, Reference, Rows, keep_history
from server.speech import segment_seed
from trt_engines.randomness import uniform

_CONTEXT_ROWS = 4096


@dataclass(frozen=True)
class ToldSegment:
    """One segment.

    Attributes:
        prompt: int32 [rows, columns].
        kept_turns: turns of the past in the prompt, users' and assistants'.
        frames: int32 [frames, codebooks].
    """

    prompt: Rows
    kept_turns: int
    frames: Rows


class TorchTeller:
    """Has no engine, no cache and no slots; keeps nothing from one segment to the next but what was said.

    Args:
        talker: The networks.
        builder: Makes prompts.
        params: Temperature, top-p and repetition penalty.
        longest_frames: Frames of a segment at most.
    """

    def __init__(
        self, talker: FishTalker, builder: PromptBuilder, params: tuple[float, float, float], longest_frames: int
    ) -> None:
        self._talker = talker
        self._builder = builder
        self._longest_frames = longest_frames
        self._params = SamplingParams(*(torch.tensor([[value]]) for value in params))
        self._kept = torch.from_numpy(TalkerWeights.of(talker, 1000).kept_ids()).long()

    def tell(self, segments: Sequence[str], reference: Reference, seed: int) -> list[ToldSegment]:
        """Speak segments one after the other, each with the past that its context holds."""
        voice, turns, told = self._builder.voice([reference]), [], []
        for index, text in enumerate(segments):
            turns.append(self._builder.turn(text))
            pinned_rows = sum(map(len, turns[:2])) if index else 0
            longest_rows = self._talker.config.max_positions - pinned_rows - self._longest_frames
            kept = keep_history(turns, min(_CONTEXT_ROWS - RESERVED_ROWS, longest_rows) - len(voice))
            prompt = np.concatenate([voice, *kept])
            frames = self._speak(prompt, segment_seed(seed, index))
            told.append(ToldSegment(prompt, len(kept) - 1, frames))
            turns.append(self._builder.spoken(frames))
        return told

    @torch.no_grad()
    def _speak(self, prompt: Rows, seed: int) -> Rows:
        rows, columns = torch.from_numpy(prompt).long(), prompt.shape[1]
        history = torch.zeros(1, HISTORY_FRAMES, columns, dtype=torch.long)
        for step in range(self._longest_frames):
            random = torch.from_numpy(uniform([seed], [step], columns - 1))
            row = self._row(rows, history if step else history - 1, random)  # -1 penalizes nothing
            if row[0] == self._talker.ids.end:
                break
            history = sampler.remember(history, torch.tensor([step]), row[None])
            rows = torch.cat([rows, row[None]])
        return rows[len(prompt) :, 1:].numpy().astype(np.int32)

    def _row(self, rows: torch.Tensor, history: torch.Tensor, random: torch.Tensor) -> torch.Tensor:
        hidden = self._talker.slow(self._talker.embed(rows[None]))[:, -1]
        token = self._draw(self._talker.slow_logits(hidden)[:, self._kept], self._kept, history[:, :, 0], random[:, 0])
        codes, ids = self._talker.first_code(token)[:, None], torch.arange(1000)
        for book in range(1, self._talker.config.codebook_count):
            scores = self._talker.code_logits(hidden, codes)[:, -1, :1000]
            code = self._draw(scores, ids, history[:, :, book + 1], random[:, book])
            codes = torch.cat([codes, code[:, None]], 1)
        return torch.cat([token, codes[0]])

    def _draw(self, logits: torch.Tensor, ids: torch.Tensor, past: torch.Tensor, random: torch.Tensor) -> torch.Tensor:
        penalized = sampler.penalize(logits, sampler.repeats(past, ids), self._params.repetition_penalty)
        return ids[sampler.draw(sampler.rank(penalized, self._params), random)]
