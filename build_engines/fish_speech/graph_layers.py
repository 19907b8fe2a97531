"""The codec's causal layers as nodes of a graph, over signals float32 [N, channels, 1, time]."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from build_engines.fish_speech.graph_past import GraphPast
from build_engines.graph.layers import Weights, gelu, linear
from build_engines.graph.value import Value

Array = npt.NDArray[np.float32]


def spread_kernel(kernel: Array, stride: int) -> Array:
    """Return a transposed convolution's kernel [inputs, outputs, steps * stride] as that of an ordinary one.

    It is [outputs * stride, inputs * steps]: the samples of a step are channels, and the earliest step comes first.
    """
    inputs, outputs, taps = kernel.shape
    parts = kernel.reshape(inputs, outputs, taps // stride, stride)[:, :, ::-1]
    return parts.transpose(1, 3, 0, 2).reshape(outputs * stride, -1)


def joined_kernel(spread: Array, stride: int, inputs: int) -> Array:
    """Undo `spread_kernel`."""
    parts = spread.reshape(-1, stride, inputs, spread.shape[1] // inputs).transpose(2, 0, 3, 1)[:, :, ::-1]
    return np.ascontiguousarray(parts).reshape(inputs, len(spread) // stride, -1)


@dataclass(frozen=True)
class CausalLayers:
    """Makes layers from the weights of a `FishCodec`.

    Attributes:
        weights: float32 arrays by name.
        past: what the layers see before the first frame.
    """

    weights: Weights
    past: GraphPast

    def conv(self, signal: Value, name: str, rate: int, *, stride: int = 1, dilation: int = 1) -> Value:
        """Convolve with `<name>.conv`; depthwise where its kernel has one input. `rate` is in steps a frame."""
        kernel, bias = self.weights[f"{name}.conv.weight"], self.weights[f"{name}.conv.bias"]
        outputs, inputs, taps = kernel.shape
        groups = outputs if inputs == 1 and outputs > 1 else 1
        history = (taps - 1) * dilation + 1 - stride
        joined = self.past.before(signal, history, rate, inputs * groups)
        return signal.graph.op(
            "Conv",
            [joined, *self._stored(signal, name, kernel, bias)],
            kernel_shape=[1, taps],
            dilations=[1, dilation],
            strides=[1, stride],
            pads=[0, 0, 0, stride - 1],
            group=groups,
        )

    def upsample(self, signal: Value, name: str, rate: int, stride: int) -> Value:
        """Upsample with the transposed convolution `<name>.conv`.

        It is computed as an ordinary convolution whose channels are the `stride` samples of each step: unlike a
        transposed one, ONNX Runtime computes it alike wherever a step lies in a call.
        """
        kernel, bias = self.weights[f"{name}.conv.weight"], self.weights[f"{name}.conv.bias"]
        inputs, outputs, taps = kernel.shape
        steps = taps // stride
        spread = spread_kernel(kernel, stride).reshape(outputs * stride, inputs, steps)
        joined = self.past.before(signal, steps - 1, rate, inputs)
        wide = signal.graph.op(
            "Conv",
            [joined, *self._stored(signal, name, spread, np.repeat(bias, stride))],
            kernel_shape=[1, steps],
        )
        return wide.reshape(0, outputs, stride, -1).transpose(0, 1, 3, 2).reshape(0, outputs, 1, -1)

    def block(self, signal: Value, name: str, rate: int) -> Value:
        """Run the ConvNeXt block `name`."""
        gamma = self.weights[f"{name}.gamma"]
        scaled = {
            f"{name}.pwconv2.weight": self.weights[f"{name}.pwconv2.weight"] * gamma[:, None],
            f"{name}.pwconv2.bias": self.weights[f"{name}.pwconv2.bias"] * gamma,
        }
        mixed = self._normed(self.conv(signal, f"{name}.dwconv", rate), f"{name}.norm")
        update = linear(gelu(linear(mixed, self.weights, f"{name}.pwconv1")), scaled, f"{name}.pwconv2")
        return signal + update.transpose(0, 2, 1).unsqueeze(2)

    def norm(self, signal: Value, name: str) -> Value:
        """Normalize over channels with the LayerNorm `name`."""
        return self._normed(signal, name).transpose(0, 2, 1).unsqueeze(2)

    def _normed(self, signal: Value, name: str) -> Value:
        """Return [N, time, channels]."""
        graph, frames = signal.graph, signal.squeeze(2).transpose(0, 2, 1)
        scale, bias = (graph.weight(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return graph.op("LayerNormalization", [frames, scale, bias], axis=-1, epsilon=1e-6)

    def _stored(self, signal: Value, name: str, kernel: Array, bias: Array) -> list[Value]:
        outputs, inputs, taps = kernel.shape
        flat = signal.graph.weight(f"{name}.kernel", kernel.reshape(outputs, -1))  # blocks need long rows
        return [flat.reshape(outputs, inputs, 1, taps), signal.graph.weight(f"{name}.bias", bias)]
