"""The default voice's talker: phonemes and earlier frames in, a pointer advance and the codes of one frame out.

A dual-autoregressive transformer like Fish Speech 1.5's: a slow one over time, a fast one over the codebooks of a
frame. Where Fish samples a semantic token, this talker samples an *advance*: whether the pointer moves to the next
phoneme in the first (1) or second (2) half of the frame, in both (3), in neither (0), or the speech ends (4). That
gives exact word times and a sure stop rule. A row is [phoneme, advance, pointer, dwell, c0..cK-1]; see `ROW_COLUMNS`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from build_engines.networks.fsq import GroupedFsq
from build_engines.networks.pointer_talker_config import ADVANCE_COUNT as ADVANCE_COUNT
from build_engines.networks.pointer_talker_config import BEGIN_ADVANCE as BEGIN_ADVANCE
from build_engines.networks.pointer_talker_config import END_ADVANCE as END_ADVANCE
from build_engines.networks.pointer_talker_config import MAX_DWELL as MAX_DWELL
from build_engines.networks.pointer_talker_config import ROW_COLUMNS as ROW_COLUMNS
from build_engines.networks.pointer_talker_config import WINDOW as WINDOW
from build_engines.networks.pointer_talker_config import PointerTalkerConfig as PointerTalkerConfig
from build_engines.networks.transformer import RmsNorm, Transformer


class CodeTables(nn.Module):
    """One vector per code and codebook: a free table plus the sum of digit embeddings plus a linear map of the digits.

    The sum lets codes that sound alike share what they learn; `table` folds it for export.
    """

    digits: Tensor
    scalars: Tensor

    def __init__(self, codebook_count: int, levels: tuple[int, ...], width: int) -> None:
        super().__init__()
        fsq = GroupedFsq(1, levels)
        codes = torch.arange(fsq.codebook_size)[:, None]
        self.register_buffer("digits", fsq.digits(codes)[:, 0].T.contiguous(), persistent=False)
        self.register_buffer("scalars", fsq.dequantize(codes), persistent=False)
        self.free = nn.Parameter(torch.randn(codebook_count, fsq.codebook_size, width) * 0.006)
        self.per_digit = nn.ParameterList(nn.Parameter(torch.randn(codebook_count, n, width) * 0.02) for n in levels)
        self.linear = nn.Parameter(torch.randn(codebook_count, len(levels), width) * 0.02)

    def table(self, codebook: int) -> Tensor:
        """Return the vectors float32 [codebook_size, width] of one codebook."""
        summed = self.free[codebook] + self.scalars @ self.linear[codebook]
        for embedding, digit in zip(self.per_digit, self.digits, strict=True):
            summed = summed + embedding[codebook][digit]
        return summed


class PhonemeWindow(nn.Module):
    """Sums position-specific embeddings of the phonemes around a pointer."""

    def __init__(self, phoneme_count: int, width: int) -> None:
        super().__init__()
        self.outside = phoneme_count
        self.tables = nn.ModuleList(nn.Embedding(phoneme_count + 1, width) for _ in WINDOW)

    def forward(self, prompt: Tensor, prompt_count: Tensor, pointer: Tensor) -> Tensor:
        """Return [batch, time, width] for pointers [batch, time] into prompts [batch, longest]."""
        total = torch.zeros((), dtype=torch.float32)
        for table, offset in zip(self.tables, WINDOW, strict=True):
            at = pointer + offset
            inside = (at >= 0) & (at < prompt_count[:, None])
            phonemes = prompt.gather(1, at.clamp(0, prompt.shape[1] - 1))
            total = total + table(torch.where(inside, phonemes, self.outside))
        return total


class PointerTalker(nn.Module):
    """Embeddings, slow and fast transformers and their heads."""

    def __init__(self, config: PointerTalkerConfig) -> None:
        super().__init__()
        self.config = config
        slow, fast, phonemes = config.slow.width, config.fast.width, config.phoneme_count
        self.phoneme = nn.Embedding(phonemes + 1, slow)
        self.advance = nn.Embedding(ADVANCE_COUNT + 1, slow)
        self.dwell = nn.Embedding(MAX_DWELL + 1, slow)
        self.window = PhonemeWindow(phonemes, slow)
        self.code_in = CodeTables(config.codebook_count, config.levels, slow)
        self.slow = Transformer(config.slow)
        self.slow_norm = RmsNorm(slow, config.slow.norm_eps)
        self.advance_head = nn.Linear(slow, ADVANCE_COUNT)
        self.fast_in = nn.Linear(slow, fast, bias=False)
        self.fast_window = PhonemeWindow(phonemes, fast)
        self.fast_advance = nn.Embedding(ADVANCE_COUNT, fast)
        self.fast_code_in = CodeTables(config.codebook_count, config.levels, fast)
        self.fast = Transformer(config.fast)
        self.fast_norm = RmsNorm(fast, config.fast.norm_eps)
        self.code_out = CodeTables(config.codebook_count, config.levels, fast)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Embedding | nn.Linear):
                nn.init.normal_(module.weight, 0.0, 0.02)
        for layer in [*self.slow.layers, *self.fast.layers]:
            scale = (2 * self.config.slow.layers) ** -0.5
            layer.attention.wo.weight.data *= scale
            layer.ffn.w2.weight.data *= scale

    def embed_frames(self, rows: Tensor, prompt: Tensor, prompt_count: Tensor) -> Tensor:
        """Embed frame rows [batch, time, columns] (the begin row included) as [batch, time, width]."""
        _, advance, pointer, dwell = rows[..., :4].unbind(-1)
        hidden = self.advance(advance) + self.dwell(dwell.clamp(0, MAX_DWELL))
        hidden = hidden + self.window(prompt, prompt_count, pointer)
        codes = torch.zeros((), dtype=torch.float32)
        for codebook in range(self.config.codebook_count):
            codes = codes + F.embedding(rows[..., 4 + codebook], self.code_in.table(codebook))
        return hidden + torch.where((advance == BEGIN_ADVANCE)[..., None], 0.0, codes)

    def fast_start(
        self, hidden: Tensor, prompt: Tensor, prompt_count: Tensor, pointer: Tensor, advance: Tensor
    ) -> Tensor:
        """Return the fast transformer's first input: the slow hidden state and the phonemes about to be rendered."""
        started: Tensor = self.fast_in(hidden) + self.fast_window(prompt, prompt_count, pointer)
        return started + self.fast_advance(advance.clamp(0, ADVANCE_COUNT - 1))

    def code_logits(self, start: Tensor, codes: Tensor) -> list[Tensor]:
        """Return teacher-forced logits [frames, codebook_size] of each codebook, for starts [frames, width]."""
        inputs = [start] + [
            F.embedding(codes[:, codebook], self.fast_code_in.table(codebook))
            for codebook in range(self.config.codebook_count - 1)
        ]
        hidden = self.fast_norm(self.fast(torch.stack(inputs, 1)))
        return [hidden[:, k] @ self.code_out.table(k).to(hidden.dtype).T for k in range(self.config.codebook_count)]
