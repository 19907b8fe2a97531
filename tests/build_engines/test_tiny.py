"""The bundle that every test of the server runs on."""

import subprocess
import sys
from pathlib import Path

from build_engines.tiny import make_tiny_bundle
from trt_engines.manifest_loading import file_hash, load_manifest

ROOT = Path(__file__).parents[2]


def test_the_same_seed_makes_the_same_bytes(tiny_bundle: Path, tmp_path: Path) -> None:
    """Two bundles of one seed have the same hashes, one of another seed has others."""
    again, other = make_tiny_bundle(tmp_path / "again"), make_tiny_bundle(tmp_path / "other", seed=1)

    assert load_manifest(tiny_bundle).hashes == again.hashes
    assert load_manifest(tiny_bundle).hashes["graphs/step.onnx"] != other.hashes["graphs/step.onnx"]


def test_it_is_small(tiny_bundle: Path) -> None:
    """The whole bundle takes less than two megabytes."""
    assert sum(path.stat().st_size for path in tiny_bundle.rglob("*") if path.is_file()) < 2_000_000


def test_it_is_made_without_torch(tmp_path: Path) -> None:
    """The command that makes it does not load torch, so that tests of the server need none."""
    program = (
        "import sys; from build_engines.__main__ import main\n"
        f"main(['tiny', {str(tmp_path / 'bundle')!r}]); print('torch' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)

    assert made.stdout.splitlines()[-1] == "False"
    assert file_hash(tmp_path / "bundle" / "graphs" / "vocode.onnx").startswith("sha256:")
