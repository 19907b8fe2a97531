"""Checkpoints -> a proven bundle of the `pointer` family."""

import dataclasses
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from build_engines.errors import CheckpointError
from build_engines.graph.storage import Storage
from build_engines.networks.latent_codec import LatentCodec, LatentCodecConfig
from build_engines.networks.offline_vocoder import OfflineVocoder
from build_engines.networks.pointer_talker import PointerTalker, PointerTalkerConfig
from build_engines.pointer.bundle import PointerBundle
from build_engines.recipes import TOLERANCES, PointerRecipe
from build_engines.verification.golden import write_golden
from build_engines.verification.verify import PointerVerifier
from trt_engines.manifest import Manifest
from trt_engines.manifest_loading import load_manifest
from trt_engines.manifest_writing import write_manifest


@dataclass(frozen=True)
class PointerNetworks:
    """The torch networks of a voice.

    Attributes:
        codec, talker: with their trained weights.
    """

    codec: LatentCodec
    talker: PointerTalker

    @classmethod
    def load(
        cls,
        codec_checkpoint: Path,
        talker_checkpoint: Path,
        codec_config: LatentCodecConfig | None = None,
        talker_config: PointerTalkerConfig | None = None,
    ) -> "PointerNetworks":
        """Load training checkpoints: the keys `codec` and `talker` hold the weights. Only tensors are unpickled.

        Raises:
            CheckpointError: A file does not hold the weights of its network.
        """
        codec = LatentCodec(codec_config or LatentCodecConfig())
        talker = PointerTalker(talker_config or PointerTalkerConfig())
        _load_weights(codec, codec_checkpoint, "codec")
        _load_weights(talker, talker_checkpoint, "talker")
        return cls(codec.eval(), talker.eval())

    def verifier(
        self, bundle_dir: Path, recipe: PointerRecipe, talker_storage: Storage, vocoder_storage: Storage
    ) -> PointerVerifier:
        """Return what compares a bundle with these networks."""
        tolerances = TOLERANCES[talker_storage], TOLERANCES[vocoder_storage]
        vocoder = OfflineVocoder(self.codec)
        return PointerVerifier(bundle_dir, load_manifest(bundle_dir), self.talker, vocoder, recipe, *tolerances)


@dataclass(frozen=True)
class PointerBuild:
    """How to make a bundle.

    Attributes:
        networks: the trained networks.
        bundle_id: id in the manifest.
        voices: what `voices/<name>.json` says, by name: `language_codes`, `gender`, `description`.
        talker_storage, vocoder_storage: how the weights are kept.
        documents: further files for the top of the bundle, by name (`MODEL_CARD.md`, `NOTICE`).
        options: further fields of `PointerBundle`, as `max_frames`.
        recipe: how it is proven.
    """

    networks: PointerNetworks
    bundle_id: str
    voices: Mapping[str, Mapping[str, Any]]
    talker_storage: Storage = Storage.PACKED
    vocoder_storage: Storage = Storage.PACKED
    documents: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    recipe: PointerRecipe = field(default_factory=PointerRecipe)

    def write(self, bundle_dir: Path) -> Manifest:
        """Build, prove and write a bundle; `bundle_dir` is replaced only by a bundle that has passed.

        The graphs are proven twice: with float32 weights they must equal torch, then with the weights as they ship
        they must stay within the tolerance of their storage.

        Raises:
            ParityError: A graph strays from its torch network.
        """
        with tempfile.TemporaryDirectory() as scratch:
            self._proven(Path(scratch) / "exact", Storage.FLOAT32, Storage.FLOAT32)
            shipped = Path(scratch) / "shipped"
            manifest = self._proven(shipped, self.talker_storage, self.vocoder_storage)
            for name, text in self.documents.items():
                (shipped / name).write_text(text, "utf-8")
            shutil.rmtree(bundle_dir, ignore_errors=True)
            shutil.copytree(shipped, bundle_dir)
        return manifest

    def bundle(self, talker_storage: Storage, vocoder_storage: Storage) -> PointerBundle:
        """Return what is to be written, not proven yet."""
        codec, talker = self.networks.codec, self.networks.talker
        return PointerBundle(
            bundle_id=self.bundle_id,
            codec=codec.config,
            codec_weights=arrays_of(codec),
            talker=talker.config,
            talker_weights=arrays_of(talker),
            voices=self.voices,
            talker_storage=talker_storage,
            vocoder_storage=vocoder_storage,
            **self.options,
        )

    def _proven(self, bundle_dir: Path, talker_storage: Storage, vocoder_storage: Storage) -> Manifest:
        self.bundle(talker_storage, vocoder_storage).write(bundle_dir)
        verifier = self.networks.verifier(bundle_dir, self.recipe, talker_storage, vocoder_storage)
        results = verifier.verify()
        write_golden(verifier)
        return write_manifest(bundle_dir, dataclasses.replace(verifier.manifest, verification=results))


def _load_weights(network: torch.nn.Module, path: Path, key: str) -> None:
    state = torch.load(path, map_location="cpu", weights_only=True)
    if key not in state:
        raise CheckpointError(
            f"{path} has the keys {', '.join(sorted(state))} but not {key!r}; give a {key} checkpoint of "
            "`python -m training`."
        )
    try:
        network.load_state_dict(state[key])
    except RuntimeError as error:
        raise CheckpointError(
            f"{path} holds a {key} of other sizes: {error}. Give the configuration that it was trained with."
        ) from error


def arrays_of(network: torch.nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """Return the weights of a network as numpy arrays."""
    return {name: tensor.detach().float().numpy() for name, tensor in network.state_dict().items()}
