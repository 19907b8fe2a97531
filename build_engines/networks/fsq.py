"""Grouped finite scalar quantization (FSQ): each group of bounded scalars is one code of one codebook.

Source of the method: Mentzer et al., "Finite Scalar Quantization: VQ-VAE Made Simple", 2023.
"""

import math

import torch
from torch import Tensor, nn


class GroupedFsq(nn.Module):
    """Quantizes `groups * len(levels)` scalars to `groups` codes of `prod(levels)` values each.

    Attributes:
        bound_count: how often values are bounded before they are rounded; Fish Speech's encoder does it twice.
        codebook_size: the number of values of one code.
        width: the number of scalars quantized together.
    """

    levels: Tensor
    half_width: Tensor
    basis: Tensor

    def __init__(self, groups: int, levels: tuple[int, ...], bound_count: int = 1) -> None:
        super().__init__()
        self.groups = groups
        self.bound_count = bound_count
        self.codebook_size = math.prod(levels)
        self.width = groups * len(levels)
        per_group = torch.tensor(levels)
        self.register_buffer("levels", per_group, persistent=False)
        self.register_buffer("half_width", torch.div(per_group, 2, rounding_mode="floor"), persistent=False)
        basis = torch.cumprod(torch.tensor([1, *levels[:-1]]), 0)
        self.register_buffer("basis", basis, persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """Bound and round `values` [..., width]; the gradient passes straight through the rounding."""
        levels = self.levels.repeat(self.groups).to(torch.float32)
        half = (levels - 1) * 1.001 / 2
        offset = torch.where(levels % 2 == 0, 0.5, 0.0)
        shift = torch.atanh(offset / half)
        bounded = values.float()
        for _ in range(self.bound_count):
            bounded = torch.tanh(bounded + shift) * half - offset
        rounded = bounded + (bounded.round() - bounded).detach()
        return rounded / self.half_width.repeat(self.groups)

    def codes(self, quantized: Tensor) -> Tensor:
        """Return the codes int64 [..., groups] of quantized scalars [..., width]."""
        grouped = quantized.unflatten(-1, (self.groups, len(self.levels)))
        digits = (grouped * self.half_width + self.half_width).round().long()
        return (digits * self.basis).sum(-1)

    def digits(self, codes: Tensor) -> Tensor:
        """Return the digits int64 [..., groups, len(levels)] of codes [..., groups]."""
        return torch.div(codes[..., None], self.basis, rounding_mode="floor") % self.levels

    def dequantize(self, codes: Tensor) -> Tensor:
        """Return the scalars float32 [..., width] that codes int [..., groups] stand for."""
        scalars = (self.digits(codes) - self.half_width).float() / self.half_width
        return scalars.flatten(-2)
