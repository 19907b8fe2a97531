"""Makes the graphs of a bundle anew from the weights that are stored in them.

So a better graph reaches a voice whose training is long gone. The weights stay what they are, bit for bit: a graph
whose builder has not changed comes out as the same file.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from build_engines.errors import CheckpointError
from build_engines.networks.latent_codec import LatentCodec, LatentCodecConfig
from build_engines.networks.latent_codec_config import PITCH_NUMBERS
from build_engines.networks.pointer_talker import PointerTalker, PointerTalkerConfig
from build_engines.pointer.build import PointerBuild, PointerNetworks
from build_engines.pointer.new_voices import NewVoices
from build_engines.pointer.stored_weights import Array, StoredWeights
from build_engines.pointer.talker_weights import UNCHANGED, unfold_talker
from build_engines.recipes import PointerRecipe
from trt_engines.manifest import MANIFEST_NAME, Manifest, ParitySpec
from trt_engines.manifest_loading import load_manifest
from trt_engines.manifest_writing import write_manifest

_NEVER_STORED = "encoder."


@dataclass(frozen=True)
class StoredNetworks:
    """The torch networks that the graphs of a bundle stand for.

    Attributes:
        bundle_dir: the bundle.
        codec, talker: sizes, and the talker's stop rule, which are not read from the graphs.
    """

    bundle_dir: Path
    codec: LatentCodecConfig
    talker: PointerTalkerConfig

    @classmethod
    def of(
        cls, bundle_dir: Path, manifest: Manifest, codec: LatentCodecConfig, talker: PointerTalkerConfig
    ) -> "StoredNetworks":
        """Return those of a bundle; how wide its voice vectors are, its manifest says."""
        width = manifest.vocode.voice_width
        return cls(bundle_dir, replace(codec, timbre_width=width - PITCH_NUMBERS if width else 0), talker)

    def stored(self, graph: str) -> StoredWeights:
        """Return what a graph holds."""
        return StoredWeights.read(self.bundle_dir / graph)

    def networks(self, manifest: Manifest) -> PointerNetworks:
        """Load them; the codec's encoder, which no graph has, is a new one."""
        vocode, step, prefill = (self.stored(spec.graph) for spec in (manifest.vocode, manifest.step, manifest.prefill))
        codec, talker = LatentCodec(self.codec), PointerTalker(self.talker)
        decoder = {name: _codec_array(vocode, name, shape) for name, shape in _shapes(codec)}
        codec.load_state_dict(_tensors(decoder), strict=False)
        joined = replace(step, arrays=prefill.arrays | step.arrays)
        talker.load_state_dict(_tensors(unfold_talker(self._folded(joined, talker), self.talker)))
        return PointerNetworks(codec.eval(), talker.eval())

    def _folded(self, stored: StoredWeights, talker: PointerTalker) -> dict[str, Array]:
        """Return the arrays of `fold_talker`; gate and value, which the graphs keep apart, are joined again."""
        slow, fast, books = self.talker.slow.width, self.talker.fast.width, range(self.talker.codebook_count)
        widths = {"rows": slow, "fast_rows": fast}
        widths |= {f"code_out.{book}": fast for book in books} | {f"fast_code_in.{book}": fast for book in books[:-1]}
        folded = {name: stored.get(name, -1, width) for name, width in widths.items()}
        for name, shape in _shapes(talker):
            if name.endswith(".w13.weight"):
                stem, half = name.removesuffix("13.weight"), (shape[0] // 2, shape[1])
                folded[name] = np.concatenate([stored.get(f"{stem}{part}", *half) for part in "13"])
            elif name.startswith(UNCHANGED):
                folded[name] = stored.get(name, *shape)
        return folded


def rebuild(
    bundle_dir: Path,
    out_dir: Path,
    codec: LatentCodecConfig | None = None,
    talker: PointerTalkerConfig | None = None,
    recipe: PointerRecipe | None = None,
    new_voices: NewVoices | None = None,
) -> Manifest:
    """Make the graphs of a bundle anew, prove them and write the bundle to `out_dir`, which may be the same.

    The proof compares with torch networks that have the stored weights. Graphs that come out as they were keep the
    results in the manifest, which tell how far they are from the weights that were trained.

    Args:
        bundle_dir: a bundle of the family `pointer`.
        out_dir: directory to write.
        codec: sizes of the codec; those of the default voice if left out.
        talker: sizes of the talker and its stop rule; those of the default voice if left out.
        recipe: how it is proven.
        new_voices: voices to add; those that the bundle has besides its first one are replaced.

    Raises:
        CheckpointError: The bundle is of another family or of other sizes.
        ParityError: A graph strays from its torch network; nothing is written.
    """
    build = stored_build(bundle_dir, codec, talker, recipe)
    if new_voices is not None:
        build = new_voices.added_to(build)
    before, after = load_manifest(bundle_dir), build.write(out_dir)
    return write_manifest(out_dir, replace(after, verification=_results(before, after)))


def stored_build(
    bundle_dir: Path,
    codec: LatentCodecConfig | None = None,
    talker: PointerTalkerConfig | None = None,
    recipe: PointerRecipe | None = None,
) -> PointerBuild:
    """Return how to build a bundle once more; arguments and errors are those of `rebuild`."""
    before = load_manifest(bundle_dir)
    if before.family != "pointer":
        raise CheckpointError(
            f"{bundle_dir} is of the family {before.family}; only bundles of the family pointer can be rebuilt. Build "
            "the others from their checkpoint."
        )
    stored = StoredNetworks.of(bundle_dir, before, codec or LatentCodecConfig(), talker or PointerTalkerConfig())
    return PointerBuild(
        stored.networks(before),
        before.id,
        dict(_voices(bundle_dir, before)),
        stored.stored(before.step.graph).storage,
        stored.stored(before.vocode.graph).storage,
        _documents(bundle_dir),
        {
            "licence": before.licence,
            "languages": before.languages,
            "max_positions": before.max_positions,
            "max_frames": before.step.max_frames,
            "min_frames": before.step.min_frames,
        },
        recipe or PointerRecipe(),
    )


def _results(before: Manifest, after: Manifest) -> tuple[ParitySpec, ...]:
    """Take the results of unchanged graphs from the manifest before, the others from the one after."""
    parts = {before.step.graph: (before.step.graph, before.prefill.graph), before.vocode.graph: (before.vocode.graph,)}
    kept = {graph for graph, files in parts.items() if all(before.hashes[f] == after.hashes.get(f) for f in files)}
    new = (result for result in after.verification if result.graph not in kept)
    told = (replace(result, case=f"{result.case}, against the stored weights") for result in new)
    return (*(result for result in before.verification if result.graph in kept), *told)


def _voices(bundle_dir: Path, manifest: Manifest) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in manifest.voice_files:
        description = json.loads((bundle_dir / name).read_text("utf-8"))
        yield description.pop("name"), description


def _documents(bundle_dir: Path) -> dict[str, str]:
    files = (path for path in bundle_dir.iterdir() if path.is_file() and path.name != MANIFEST_NAME)
    return {path.name: path.read_text("utf-8") for path in files}


def _codec_array(stored: StoredWeights, name: str, shape: tuple[int, ...]) -> Array:
    """Return one array of the codec; its statistics are already in the stored outlet."""
    if name in ("mean", "deviation"):
        return np.full(shape, float(name == "deviation"), np.float32)
    if name.endswith(".dw.weight"):
        stem = name.removesuffix("weight")
        return np.stack([stored.get(f"{stem}{tap}", shape[0]) for tap in range(shape[2])], -1)[:, None]
    return stored.get(name, *shape)


def _shapes(network: torch.nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    state = network.state_dict()
    return [(name, tuple(array.shape)) for name, array in state.items() if not name.startswith(_NEVER_STORED)]


def _tensors(arrays: dict[str, Array]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
