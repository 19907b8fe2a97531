"""The tiny bundle with golden vectors: noise, but the same noise on every engine."""

from pathlib import Path

import numpy as np

from build_engines.tiny import make_tiny_bundle
from trt_engines.manifest_writing import write_manifest


def write_golden_noise(bundle_dir: Path) -> None:
    """Write the bundle, and `golden/talker.npz` and `golden/vocode.npz` into it."""
    manifest = make_tiny_bundle(bundle_dir)
    random = np.random.default_rng(3)
    rows = np.concatenate([np.tile([[-1, 1, 2, 1]], (9, 1)), random.integers(0, 50, (9, 4))], 1).astype(np.int32)
    rows[0] = [-1, 5, 0, 0, 0, 0, 0, 0]
    golden = bundle_dir / "golden"
    golden.mkdir(exist_ok=True)
    params = np.asarray([param.default for param in manifest.step.params], np.float32)
    prompt = random.integers(0, 100, 12).astype(np.int32)
    np.savez(golden / "talker.npz", prompt=prompt, params=params, rows=rows, random=random.random((8, 5), np.float32))
    np.savez(golden / "vocode.npz", frames=rows[1:, 4:], seed=np.int32(1))
    write_manifest(bundle_dir, manifest)
