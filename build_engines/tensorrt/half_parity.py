"""What half precision changes: the same graph in float32 and in float16, fed the same golden utterance."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import helper

from build_engines.errors import ParityError
from build_engines.golden_utterance import GoldenUtterance
from build_engines.tensorrt.half_precision import half_precision
from build_engines.tensorrt.log_mel import mel_distance_db
from build_engines.tensorrt.plain_weights import plain_weights
from trt_engines.manifest import Manifest, ParitySpec
from trt_engines.manifest_loading import load_manifest

BACKEND = f"onnxruntime {ort.__version__} cpu, float16"

_TOLERANCES = {
    "1 - cosine of the logits": 1e-3,
    "logit error": 0.5,
    "draws that differ": 0.05,
    "mel distance in dB": 0.2,
}

Arrays = dict[str, npt.NDArray[Any]]


def half_parity(bundle_dir: Path) -> tuple[ParitySpec, ...]:
    """Compare a bundle's graphs with their half-precision forms on ONNX Runtime.

    `golden/talker.npz` is spoken again step by step, each step on the golden row, so that errors do not add up into
    another utterance; `golden/vocode.npz` is rendered.

    Raises:
        ManifestError: the bundle is not what its manifest says.
        FileNotFoundError: it has no golden vectors.
        ParityError: half precision changes more than is allowed.
    """
    manifest, golden = load_manifest(bundle_dir), GoldenUtterance.load(bundle_dir)
    results = (*_compare_talker(bundle_dir, manifest, golden), _compare_vocoder(bundle_dir, manifest, golden))
    failed = [result for result in results if not result.worst_error <= result.tolerance]
    if failed:
        lines = "; ".join(
            f"{item.graph}, {item.case}: {item.worst_error:.3g}, allowed {item.tolerance}" for item in failed
        )
        raise ParityError(f"Half precision changes too much: {lines}. Build float32 plans, or mend the graph.")
    return results


class _Side:
    """One precision of one graph, its heads among the outputs."""

    def __init__(self, model: onnx.ModelProto, heads: tuple[str, ...]) -> None:
        for name in heads:
            model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._outputs = [item.name for item in self._session.get_outputs()]
        self._kept: Arrays = {}
        self._heads = heads

    def start(self, capacity: int) -> None:
        """Make the caches and further states zero."""
        self._kept = {}
        for item in self._session.get_inputs():
            if f"{item.name}_out" in self._outputs:
                shape = [capacity if size == "T" else size if isinstance(size, int) else 1 for size in item.shape]
                dtype = {"tensor(float16)": "float16", "tensor(int32)": "int32"}.get(item.type, "float32")
                self._kept[item.name] = np.zeros(shape, dtype)

    def take(self, other: "_Side") -> None:
        """Continue from the caches of another graph of the same precision."""
        self._kept |= {name: array for name, array in other._kept.items() if name in self._kept}

    def run(self, feeds: Mapping[str, npt.NDArray[Any]]) -> Arrays:
        """Run one call, of which the graph takes what it knows, and carry over what it updates."""
        taken = {name: array for name, array in feeds.items() if name in self._inputs}
        made = dict(zip(self._outputs, self._session.run(None, {**taken, **self._kept}), strict=True))
        self._kept = {name: made[f"{name}_out"] for name in self._kept}
        return made


def _sides(path: Path) -> tuple[_Side, _Side, tuple[str, ...]]:
    """Return a graph in float32 and in half precision."""
    model = onnx.load(path)
    half = half_precision(model)
    return _Side(plain_weights(model), half.heads), _Side(half.model, half.heads), half.heads


def _compare_talker(bundle_dir: Path, manifest: Manifest, golden: GoldenUtterance) -> list[ParitySpec]:
    prefills = _sides(bundle_dir / manifest.prefill.graph)[:2]
    *steps, heads = _sides(bundle_dir / manifest.step.graph)
    count = np.full(1, len(golden.prompt), np.int32)
    for prefill, step in zip(prefills, steps, strict=True):
        prefill.start(len(golden.prompt) + len(golden.inputs))
        step.start(len(golden.prompt) + len(golden.inputs))
        prefill.run({"row_ids": golden.prompt[None], "row_count": count, "position": np.zeros(1, np.int32)})
        step.take(prefill)
    tally = _Tally()
    for index, row_ids in enumerate(golden.inputs):
        feeds = {
            "row_ids": row_ids[None],
            "position": count + np.int32(index),
            "active": np.ones(1, np.bool_),
            "prompt": golden.prompt[None, :, 0],
            "prompt_count": count,
            "params": golden.params[None],
            "random": golden.random[index : index + 1],
        }
        full, half = (step.run(feeds) for step in steps)
        tally.add(full, half, heads)
    return tally.results(manifest.step.graph)


@dataclass
class _Tally:
    """The worst of all steps.

    A draw that differs changes what the later codes of its frame are drawn from. So such a step counts as one draw
    that differs, and of its logits only the first are compared, which no draw came before.
    """

    cosine_error: float = 0.0
    logit_error: float = 0.0
    draw_count: int = 0
    differing_count: int = 0

    def add(self, full: Arrays, half: Arrays, heads: tuple[str, ...]) -> None:
        """Compare one step."""
        is_equal = bool((full["next_row_ids"] == half["next_row_ids"]).all())
        for name in heads if is_equal else heads[:1]:
            ours, theirs = half[name].astype(np.float64).ravel(), full[name].astype(np.float64).ravel()
            cosine = float(ours @ theirs / (np.linalg.norm(ours) * np.linalg.norm(theirs)))
            self.cosine_error = max(self.cosine_error, 1 - cosine)
            self.logit_error = max(self.logit_error, float(np.abs(ours - theirs).max()))
        self.draw_count += len(heads)
        self.differing_count += not is_equal

    def results(self, graph: str) -> list[ParitySpec]:
        """Return the rows of the table."""
        values = (self.cosine_error, self.logit_error, self.differing_count / self.draw_count)
        cases = list(_TOLERANCES)[:3]
        return [
            ParitySpec(graph, BACKEND, case, value, _TOLERANCES[case])
            for case, value in zip(cases, values, strict=True)
        ]


def _compare_vocoder(bundle_dir: Path, manifest: Manifest, golden: GoldenUtterance) -> ParitySpec:
    """Render the golden frames in one call; the float32 side is not the golden samples, whose cuts may differ."""
    frames, lookahead = golden.frames, manifest.vocode.lookahead_frames
    padded = np.concatenate([frames, np.zeros((lookahead, frames.shape[1]), frames.dtype)])[None]
    feeds: Arrays = {
        "frames": padded,
        "count": np.full(1, len(frames), np.int32),
        "is_last": np.ones(1, np.bool_),
        "seed": np.asarray([golden.seed], np.int32),
    }
    if width := manifest.vocode.voice_width:
        feeds["voice"] = np.zeros((1, width), np.float32)
    made = []
    for side in _sides(bundle_dir / manifest.vocode.graph)[:2]:
        side.start(0)
        made.append(side.run(feeds)["samples"][0])
    case = "mel distance in dB"
    distance = mel_distance_db(made[1], made[0], manifest.audio.sample_rate_hz)
    return ParitySpec(manifest.vocode.graph, BACKEND, case, distance, _TOLERANCES[case])
