"""Fish Speech's talker: rows in, the logits of a semantic token and of the codes of one frame out.

A dual-autoregressive transformer. The slow one runs over rows (a token and the codes of a frame); the fast one runs
over the codebooks of a frame, starting from the slow hidden state *before* its final norm. Attribute names follow the
parts of the original so that the map of a checkpoint stays short.
"""

import torch
from torch import Tensor, nn

from build_engines.fish_speech.talker_config import FishTalkerConfig, TokenIds
from build_engines.networks.transformer import RmsNorm, Transformer


class FishTalker(nn.Module):
    """Embeddings, slow and fast transformers and their heads."""

    def __init__(self, config: FishTalkerConfig, ids: TokenIds) -> None:
        super().__init__()
        self.config = config
        self.ids = ids
        slow, fast = config.slow, config.fast
        self.embeddings = nn.Embedding(config.vocabulary, slow.width)
        self.codebook_embeddings = nn.Embedding(config.codebook_count * config.codebook_size, slow.width)
        self.slow = Transformer(slow)
        self.norm = RmsNorm(slow.width, slow.norm_eps)
        self.output = nn.Linear(slow.width, config.vocabulary, bias=False)
        self.fast_project_in = nn.Identity() if fast.width == slow.width else nn.Linear(slow.width, fast.width)
        self.fast_embeddings = nn.Embedding(config.codebook_size, fast.width)
        self.fast = Transformer(fast)
        self.fast_norm = RmsNorm(fast.width, fast.norm_eps)
        self.fast_output = nn.Linear(fast.width, config.codebook_size, bias=False)
        self.tie()

    def tie(self) -> None:
        """Make the token head the token table where the checkpoint says so; again whenever parameters were replaced."""
        if self.config.is_tied:
            self.output.weight = self.embeddings.weight

    def embed(self, rows: Tensor) -> Tensor:
        """Embed rows [..., 1 + codebooks] as [..., width]; codes count only beside a semantic token."""
        tokens, codes = rows[..., 0], rows[..., 1:]
        offsets = torch.arange(self.config.codebook_count) * self.config.codebook_size
        spoken = self.codebook_embeddings(codes + offsets).sum(-2)
        last = self.ids.semantic_begin + self.config.codebook_size - 1
        is_semantic = (tokens >= self.ids.semantic_begin) & (tokens <= last)
        embedded: Tensor = self.embeddings(tokens) + torch.where(is_semantic[..., None], spoken, 0.0)
        return embedded

    def slow_logits(self, hidden: Tensor) -> Tensor:
        """Return the logits [..., vocabulary] of the next token after slow hidden states [..., width]."""
        logits: Tensor = self.output(self.norm(hidden))
        return logits

    def first_code(self, tokens: Tensor) -> Tensor:
        """Return the code of the first codebook that tokens stand for; 0 for a token that is not semantic."""
        return (tokens - self.ids.semantic_begin).clamp(min=0)

    def code_logits(self, hidden: Tensor, codes: Tensor) -> Tensor:
        """Return the logits [frames, known + 1, codebook_size] after a start and `codes` [frames, known].

        Entry k predicts code k from the slow hidden states [frames, width] and the codes before it; entry 0 is never
        used, since the first code comes with the semantic token.
        """
        start = self.fast_project_in(hidden)[:, None]
        inputs = torch.cat([start, self.fast_embeddings(codes)], 1)
        logits: Tensor = self.fast_output(self.fast_norm(self.fast(inputs)))
        return logits

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the slow hidden states before the final norm, and the token logits, of rows [batch, time, columns]."""
        hidden = self.slow(self.embed(rows))
        return hidden, self.slow_logits(hidden)
