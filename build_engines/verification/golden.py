"""Golden vectors: what the graphs of a bundle did once, so that any backend can show that it does the same."""

from pathlib import Path

import numpy as np

from build_engines.recipes import TalkerCorner
from build_engines.verification.verify import PointerVerifier

_CORNER = TalkerCorner(batch=1, capacity=128, chunk_rows=64)


def write_golden(verifier: PointerVerifier) -> None:
    """Write `golden/talker.npz` and `golden/vocode.npz` into the bundle.

    `talker`: `prompt` int32 [phonemes], `params` [parameters], `random` [steps, columns], `rows` int32 [steps + 1,
    columns of a row] (row s goes into step s, row s + 1 comes out), `done` bool [steps].
    `vocode`: `frames` int32 [frames, codebooks], `seed` int32, `samples` float32, all of the segment.
    """
    folder = verifier.bundle_dir / "golden"
    folder.mkdir(exist_ok=True)
    run = verifier.talker_driver(_CORNER).speak(verifier.prompts(1), verifier.params(1), verifier.recipe.steps)
    columns = {"prompt": run.prompts[0], "params": run.params[0], "random": run.random[:, 0]}
    _save(folder / "talker.npz", **columns, rows=run.rows[:, 0], done=run.done[:, 0])
    frames = verifier.codes(1)
    samples = verifier.vocoder_driver().stream(frames, [0], len(frames[0]))[0]
    _save(folder / "vocode.npz", frames=frames[0], seed=np.int32(0), samples=samples)


def _save(path: Path, **arrays: np.ndarray[tuple[int, ...], np.dtype[np.generic]] | np.generic) -> None:
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]  # numpy's stub takes its `allow_pickle` for any keyword
