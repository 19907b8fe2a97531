"""The teacher, hibari-tts "heart" (Apache-2.0), opened up: phonemes in; latent, pitch and durations out.

hibari ends in a stack of ConvNeXt blocks at 80 frames a second. We read the hidden state after block `LATENT_BLOCK`
(the "latent"), learn to carry it through an FSQ bottleneck, and keep the blocks behind it and the spectral head as
our vocoder. No audio is rendered while the data is made, so this runs at several hundred times real time.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from hibari import Hibari
from hibari.voices import voice_path
from onnx import numpy_helper

LATENT_BLOCK = 4
BLOCK_COUNT = 8
LATENT_WIDTH = 256
FRAMES_PER_UNIT = 2
_LATENT = f"/dec.{LATENT_BLOCK}/Add_1_output_0"
_DURATION = "/Cast_32_output_0"


@dataclass(frozen=True)
class TeacherOutput:
    """What the teacher says about one sentence.

    Attributes:
        latent: float32 [frames, 256], hidden state at 80 Hz.
        f0_hz: float32 [frames], 0 where unvoiced.
        durations: int64 [phonemes], in units of 25 ms (two 80 Hz frames each).
    """

    latent: npt.NDArray[np.float32]
    f0_hz: npt.NDArray[np.float32]
    durations: npt.NDArray[np.int64]


class Teacher:
    """hibari's acoustic model with its inner tensors exposed as outputs."""

    def __init__(self, threads: int = 1) -> None:
        model = onnx.load(voice_path("heart"))
        model.graph.output.append(onnx.helper.make_tensor_value_info(_LATENT, onnx.TensorProto.FLOAT, None))
        model.graph.output.append(onnx.helper.make_tensor_value_info(_DURATION, onnx.TensorProto.INT64, None))
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = threads
        options.log_severity_level = 3
        self._session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self._frontend = Hibari()

    def phoneme_ids(self, sentence: str) -> list[int] | None:
        """Return the ids of one sentence with the pads at both ends, or None if it is not exactly one sentence."""
        phonemes = self._frontend.phonemize(sentence)
        return self._frontend.ids(phonemes[0]) if len(phonemes) == 1 else None

    def run(self, ids: list[int], speed: float) -> TeacherOutput:
        """Predict latent, pitch and durations for one id sequence at a speaking rate (1.0 is the voice's own)."""
        feeds = {"ids": np.asarray([ids], np.int64), "speed": np.asarray([speed], np.float32)}
        latent, f0_hz, durations = self._session.run([_LATENT, "f0", _DURATION], feeds)
        return TeacherOutput(latent[0].T, f0_hz.reshape(-1), durations.reshape(-1))


def output_stack_weights(path: str | Path | None = None) -> dict[str, npt.NDArray[np.float32]]:
    """Return the float32 weights of the blocks behind the latent and of the head, dequantized.

    Keys are `blocks.<i>.{dw,norm,pw1,pw2}.{weight,bias}`, `blocks.<i>.gamma`, `norm.*`, `head.*` in torch's layout.
    """
    model = onnx.load(path or voice_path("heart"))
    tensors = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}

    def dequantized(stem: str) -> npt.NDArray[np.float32]:
        quantized = tensors[f"{stem}_quantized"].astype(np.float32)
        zero, scale = tensors[f"{stem}_zero_point"].astype(np.float32), tensors[f"{stem}_scale"]
        return np.ascontiguousarray(((quantized - zero) * scale).T, np.float32)

    weights: dict[str, npt.NDArray[np.float32]] = {}
    for index, block in enumerate(range(LATENT_BLOCK + 1, BLOCK_COUNT)):
        source, target = f"m.dec.{block}", f"blocks.{index}"
        weights[f"{target}.gamma"] = tensors[f"{source}.gamma"]
        for part in ("dw.weight", "dw.bias", "norm.weight", "norm.bias", "pw1.bias", "pw2.bias"):
            weights[f"{target}.{part}"] = tensors[f"{source}.{part}"]
        for part in ("pw1", "pw2"):
            weights[f"{target}.{part}.weight"] = dequantized(f"/dec.{block}/{part}/Transpose_output_0")
    for part in ("weight", "bias"):
        weights[f"norm.{part}"] = tensors[f"m.dec_norm.{part}"]
    weights["head.weight"] = dequantized("/head/Transpose_output_0")
    weights["head.bias"] = tensors["m.head.bias"]
    return weights
