"""A checkpoint of Fish Speech 1.5 -> a proven bundle."""

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from build_engines.fish_speech.bundle import FishBundle
from build_engines.fish_speech.checkpoint import FishCheckpoint, load_checkpoint
from build_engines.fish_speech.quality import codec_outputs, codec_quality, talker_outputs, talker_quality
from build_engines.fish_speech.recipe import FishStorage
from build_engines.fish_speech.rounded import rounded_checkpoint
from build_engines.fish_speech.rounded_inputs import rounded_inputs
from build_engines.fish_speech.verify import FishVerifier
from build_engines.graph.storage import Storage
from trt_engines.manifest import MANIFEST_NAME, Manifest, QualitySpec
from trt_engines.manifest_writing import write_manifest

_CARD = """# {bundle_id}

Fish Speech 1.5 as an Antiphon voice bundle, made from the released checkpoint with `python -m build_engines
fish-speech-1.5`. The weights are Fish Audio's, under {licence}: not for commercial use, changes under the same terms.

Talker weights are stored as {storage}, codec weights as {codec_storage}. {behavior}

`manifest.json` holds the proof that the graphs equal torch networks of the same weights (`verification`) and, where
weights were rounded, what that has cost against networks in float32 (`quality`).
"""
_CORRECTED = (
    "Where the original is wrong, this bundle is right: only tokens that can be spoken are drawn, the first frame is "
    "kept, the frame of the stop token is not spoken, and what users write is never read as a control token."
)
_COMPATIBLE = "It repeats the original's known mistakes (`--upstream-compat`), to be compared with it."


@dataclass(frozen=True)
class FishBuild:
    """How to make a bundle.

    Attributes:
        checkpoint_dir: the released files.
        bundle_id: id in the manifest.
        storage, codec_storage: how the weights are kept.
        upstream_compat: repeat the original's mistakes.
    """

    checkpoint_dir: Path
    bundle_id: str = "fish-speech-1.5"
    storage: Storage = Storage.FLOAT32
    codec_storage: Storage = Storage.FLOAT32
    upstream_compat: bool = False

    def write(self, bundle_dir: Path) -> Manifest:
        """Load the checkpoint, write the bundle and prove it; `bundle_dir` is replaced only by one that has passed.

        Raises:
            CheckpointError: A file of the checkpoint cannot be used; says which and why.
            ParityError: A graph strays from its torch network.
            FileExistsError: `bundle_dir` holds something else than a bundle.
        """
        if bundle_dir.exists() and not (bundle_dir / MANIFEST_NAME).is_file() and any(bundle_dir.iterdir()):
            raise FileExistsError(f"{bundle_dir} holds files but no bundle. Give a new directory, or empty this one.")
        checkpoint = load_checkpoint(self.checkpoint_dir)
        scratch = bundle_dir.with_name(f"{bundle_dir.name}.partial")
        try:
            manifest = self.write_proven(checkpoint, scratch)
            shutil.rmtree(bundle_dir, ignore_errors=True)
            scratch.rename(bundle_dir)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return manifest

    def write_proven(self, checkpoint: FishCheckpoint, bundle_dir: Path) -> Manifest:
        """Write the bundle of a loaded checkpoint, compare its graphs with torch and note the results."""
        bundle = FishBundle(
            self.bundle_id,
            checkpoint,
            storage=self.storage,
            codec_storage=self.codec_storage,
            upstream_compat=self.upstream_compat,
        )
        manifest, weights = bundle.write(bundle_dir), bundle.talker_weights()
        storage = FishStorage(self.storage, self.codec_storage)
        rounded = rounded_checkpoint(checkpoint, weights, storage)
        verifier = FishVerifier(bundle_dir, manifest, rounded, weights, storage)
        results = verifier.verify()
        with rounded_inputs(rounded, weights, storage):
            quality = quality_of(checkpoint, rounded, weights.code_count)
        write_golden(verifier)
        card = _CARD.format(
            bundle_id=self.bundle_id,
            licence=bundle.licence,
            storage=self.storage,
            codec_storage=self.codec_storage,
            behavior=_COMPATIBLE if self.upstream_compat else _CORRECTED,
        )
        (bundle_dir / "MODEL_CARD.md").write_text(card, "utf-8")
        return write_manifest(bundle_dir, dataclasses.replace(manifest, verification=results, quality=quality))


def quality_of(exact: FishCheckpoint, rounded: FishCheckpoint, code_count: int) -> tuple[QualitySpec, ...]:
    """Report what rounding has cost those networks that were rounded; see `quality`."""
    measured: list[QualitySpec] = []
    if rounded.talker is not exact.talker:
        talkers = [talker_outputs(talker, code_count) for talker in (exact.talker, rounded.talker)]
        measured += talker_quality(*talkers)
    if rounded.codec is not exact.codec:
        measured += codec_quality(*(codec_outputs(codec) for codec in (exact.codec, rounded.codec)))
    return tuple(measured)


def write_golden(verifier: FishVerifier) -> None:
    """Write what the graphs did once into `golden/`, so that any backend can show that it does the same.

    `talker.npz`: `prompt` int32 [rows, columns], `params` [parameters], `random` [steps, codebooks], `rows` int32
    [steps, columns] as they were drawn. `vocode.npz`: `frames` int32 [frames, codebooks], `samples` float32.
    """
    folder = verifier.bundle_dir / "golden"
    folder.mkdir(exist_ok=True)
    run = verifier.talker_run
    np.savez_compressed(
        folder / "talker.npz",
        prompt=run.prompts[0],
        params=run.params[0],
        random=run.random[:, 0],
        rows=run.drawn[:, 0],
    )
    frames = verifier.random_frames()
    np.savez_compressed(
        folder / "vocode.npz", frames=frames, samples=verifier.vocoder.stream([frames], [0], len(frames))[0]
    )
