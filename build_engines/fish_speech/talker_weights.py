"""A talker's weights as the arrays that its graphs are made of, and which tokens its head keeps."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.fish_speech.talker import FishTalker
from build_engines.fish_speech.talker_config import FishTalkerConfig, TokenIds
from build_engines.graph.layers import Weights
from build_engines.graph.value import Value


@dataclass(frozen=True)
class TalkerWeights:
    """What the graphs need.

    Attributes:
        config, ids: of the talker.
        arrays: of a `FishTalker`, float32, without copies.
        code_count: codes of a codebook that the codec knows; the talker's tables may have more rows.
        upstream_compat: draw, emit and stop as the original does, mistakes included: any token may be drawn, the
            first frame is dropped, the frame of the stop token is spoken, and a first stop token is overlooked.
    """

    config: FishTalkerConfig
    ids: TokenIds
    arrays: Weights
    code_count: int
    upstream_compat: bool = False

    @classmethod
    def of(cls, talker: FishTalker, code_count: int, *, upstream_compat: bool = False) -> "TalkerWeights":
        """Take the weights of a talker."""
        arrays = {name: tensor.numpy() for name, tensor in talker.state_dict().items()}
        return cls(talker.config, talker.ids, arrays, min(code_count, talker.config.codebook_size), upstream_compat)

    @property
    def columns(self) -> int:
        """Columns of a row: the token and the codes."""
        return 1 + self.config.codebook_count

    @property
    def drawn_codes(self) -> int:
        """How many codes of each codebook can be drawn."""
        return self.config.codebook_size if self.upstream_compat else self.code_count

    def kept_ids(self) -> npt.NDArray[np.int32]:
        """Return the tokens that can be drawn: the semantic ones whose code exists, and the stop token."""
        if self.upstream_compat:
            return np.arange(self.config.vocabulary, dtype=np.int32)
        semantic = self.ids.semantic_begin + np.arange(self.code_count)
        return np.append(semantic, self.ids.end).astype(np.int32)

    def embed(self, rows: Value) -> Value:
        """Embed rows int64 [batch, time, columns] as [batch, time, width]; codes count only beside a semantic token."""
        graph, books, size = rows.graph, self.config.codebook_count, self.config.codebook_size
        tokens, codes = graph.split(rows, [1, books], -1)
        tokens = tokens.squeeze(-1)
        begin = self.ids.semantic_begin
        is_semantic = ((tokens >= begin) & (tokens < begin + size)).unsqueeze(-1)
        table, offsets = self.arrays["codebook_embeddings.weight"], np.arange(books) * size
        spoken = graph.lookup("codebook_embeddings", table, codes + offsets).sum(2)
        embedded = graph.lookup("embeddings", self.arrays["embeddings.weight"], tokens)
        return embedded + graph.where(is_semantic, spoken, np.zeros(1, np.float32))
