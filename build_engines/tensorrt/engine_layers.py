"""What TensorRT compiled, read from its log: the kernels with what they read and write, and the engine's own tensors.

The detailed listing that the builder prints is the only view into a plan on a machine without a GPU.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LAYER = re.compile(r"^Name: (?P<name>.+?), LayerType: ")
_TENSOR = re.compile(r"\{ Name: ([^,]+), Dimensions: \[([\d,]*)\]")
_ORIGIN = re.compile(r"\[ONNX Layer: ([^\]]+)\]")
_IO = re.compile(r"^ ?Name: (?P<name>[^,]+), IOMode: (?P<mode>\w+), DataType: (?P<dtype>\w+), (?P<rest>.*)$")
_SHAPES = re.compile(r"MinShape: \[([\d,]*)\], OptShape: \[[\d,]*\], MaxShape: \[([\d,]*)\]")


@dataclass(frozen=True)
class EngineLayer:
    """One kernel.

    Attributes:
        name: TensorRT's own; a fused attention has `mha` in it.
        inputs, outputs: names of tensors.
        origins: names of the ONNX nodes that went into it.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    origins: tuple[str, ...]

    @property
    def is_fused_attention(self) -> bool:
        """Whether the kernel is one of the fused multi-head attentions."""
        return "_mha_" in self.name


@dataclass(frozen=True)
class EngineTensor:
    """One input or output of the engine.

    Attributes:
        name: of the tensor.
        is_input: else an output.
        dtype: TensorRT's word: `Half`, `Float`, `Int32`, `Bool`.
        shapes: smallest and largest shape of each profile; empty for outputs.
    """

    name: str
    is_input: bool
    dtype: str
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


@dataclass(frozen=True)
class EngineLayers:
    """A whole listing."""

    layers: tuple[EngineLayer, ...]
    tensors: tuple[EngineTensor, ...]

    def touching(self, tensor: str) -> tuple[EngineLayer, ...]:
        """Return the kernels that read or write a tensor."""
        return tuple(layer for layer in self.layers if tensor in (*layer.inputs, *layer.outputs))


def engine_layers(messages: Iterable[str]) -> EngineLayers:
    """Read the messages that TensorRT logged during one build."""
    layers, tensors = [], []
    for line in (line for message in messages for line in message.splitlines()):
        if (found := _IO.match(line)) is not None:
            tensors.append(_tensor(found))
        elif (found := _LAYER.match(line)) is not None:
            layers.append(_layer(found))
    return EngineLayers(tuple(layers), tuple(tensors))


def _layer(found: re.Match[str]) -> EngineLayer:
    # The lists hold brackets of their own, so the line is cut at the words between them.
    line = found.string
    before, _, behind = line.partition(", Outputs: [")
    written, _, origins = behind.partition("], TacticName")
    read = before.partition(", Constants: [")[0]
    return EngineLayer(found["name"], _names(read), _names(written), tuple(_ORIGIN.findall(origins)))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name, _ in _TENSOR.findall(text))


def _tensor(found: re.Match[str]) -> EngineTensor:
    shapes = tuple((_sizes(low), _sizes(high)) for low, high in _SHAPES.findall(found["rest"]))
    return EngineTensor(found["name"], found["mode"] == "Input", found["dtype"], shapes)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(",") if size)
