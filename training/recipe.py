"""The numbers of the recipe that made the shipped voice, in one place."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Recipe:
    """Where a run lives and how long each stage lasts.

    Attributes:
        work: folder of data and checkpoints.
        bundle: folder of the finished bundle.
        hours: teacher speech to make, in hours (the extra clauses and single words come on top).
        codec_steps, codec_shards: length of the codec's training and how many data files it reads (0.4 h each).
        voice_sentences, voice_steps: sentences that each further voice says, and length of the training of the timbres.
        talker_steps, batch_frames, decay_share: length of the talker's training, frames of a step, share of the run
            over which the rate falls.
    """

    work: Path
    bundle: Path
    hours: float = 24.0
    codec_steps: int = 3000
    codec_shards: int = 14
    talker_steps: int = 3600
    batch_frames: int = 1200
    decay_share: float = 0.4
    voice_sentences: int = 20
    voice_steps: int = 1200

    @property
    def data(self) -> Path:
        """Teacher shards."""
        return self.work / "data"

    @property
    def codec(self) -> Path:
        """Codec checkpoint."""
        return self.work / "codec.pt"

    @property
    def tokens(self) -> Path:
        """Token shards."""
        return self.work / "tokens"

    @property
    def voice_data(self) -> Path:
        """What the other voices are learned from."""
        return self.work / "voices"

    @property
    def voices(self) -> Path:
        """Checkpoint of the other voices."""
        return self.work / "voices.pt"

    @property
    def talker(self) -> Path:
        """Talker checkpoint."""
        return self.work / "talker.pt"
