"""The device memory of a talker: one row per slot in every tensor, the same addresses for every batch bucket."""

from dataclasses import dataclass

import numpy as np

from trt_engines.graph_tensors import TensorSpec, step_tensors
from trt_engines.manifest import Manifest
from trt_engines.tensorrt.block_layout import BlockField, BlockLayout, aligned
from trt_engines.tensorrt.device_memory import DeviceMemory
from trt_engines.tensorrt.plan_manifest import PlanManifest
from trt_engines.tensorrt.plan_session import Addresses

_UPLOADED = ("active", "params", "random")
_DOWNLOADED = ("frame", "emit", "done", "finite", "row_ids_out")


@dataclass(frozen=True)
class RowTensor:
    """A tensor with one row per slot.

    Attributes:
        dtype: of its elements.
        shape: of one row.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def talker_tensors(manifest: Manifest, plans: PlanManifest) -> dict[str, RowTensor]:
    """Return every tensor of the chained `step` graph (see `build_engines.tensorrt.tensorrt_graph`)."""
    graph = step_tensors(manifest)
    specs = [*graph.inputs, *(spec for spec in graph.outputs if spec.name != "next_row_ids")]
    tensors = {spec.name: _row_tensor(spec, plans) for spec in specs}
    tensors["active"] = tensors["finite"] = RowTensor("bool", ())
    tensors |= {f"{name}_out": tensors[name] for name in ("row_ids", "position")}
    return tensors


def _row_tensor(spec: TensorSpec, plans: PlanManifest) -> RowTensor:
    is_cache = "T" in spec.shape
    shape = tuple(plans.max_positions if isinstance(size, str) else size for size in spec.shape[1:])
    return RowTensor(plans.precision if is_cache else spec.dtype, shape)


def talker_slot_bytes(manifest: Manifest, plans: PlanManifest) -> int:
    """Return what one more slot takes: its cache once, since it is updated in place."""
    tensors = talker_tensors(manifest, plans)
    return sum(aligned(tensor.row_bytes) for name, tensor in tensors.items() if not is_cache_output(name, manifest))


def is_cache_output(name: str, manifest: Manifest) -> bool:
    """Whether a tensor is the output side of a cache, which has no memory of its own."""
    return name in {f"{half}_{layer}_out" for half in "kv" for layer in range(manifest.kv.layers)}


class TalkerMemory:
    """Allocated and zeroed memory for so many rows.

    Attributes:
        tensors: what each tensor is.
        addresses: where each tensor is; a cache's input and output are one.
        uploaded, downloaded: layouts of the two blocks that are copied once per step.
        uploaded_address, downloaded_address: where these blocks are.
        fed_back: names of the inputs that a step leaves as `<name>_out` and that must be copied back.
    """

    def __init__(
        self, memory: DeviceMemory, manifest: Manifest, plans: PlanManifest, row_count: int, stream: int
    ) -> None:
        self.tensors = talker_tensors(manifest, plans)
        self.row_count = row_count
        self.uploaded, self.uploaded_address = self._block(memory, _UPLOADED, stream)
        self.downloaded, self.downloaded_address = self._block(memory, _DOWNLOADED, stream)
        addresses = self.uploaded.addresses(self.uploaded_address)
        addresses |= self.downloaded.addresses(self.downloaded_address)
        for name, tensor in self.tensors.items():
            if name not in addresses and not is_cache_output(name, manifest):
                addresses[name] = memory.zeros(row_count * tensor.row_bytes, stream)
        self.cache_names = tuple(f"{half}_{layer}" for layer in range(manifest.kv.layers) for half in "kv")
        addresses |= {f"{name}_out": addresses[name] for name in self.cache_names}
        self.addresses: Addresses = addresses
        self.fed_back = ("row_ids", "position", *(state.name for state in manifest.state))

    def _block(self, memory: DeviceMemory, names: tuple[str, ...], stream: int) -> tuple[BlockLayout, int]:
        fields = {
            name: BlockField(self.tensors[name].dtype, (self.row_count, *self.tensors[name].shape))
            for name in names
            if name in self.tensors
        }
        layout = BlockLayout(fields)
        return layout, memory.zeros(layout.byte_count, stream)

    def shapes(self, row_count: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of every tensor in a run of the first `row_count` rows."""
        return {name: (row_count, *tensor.shape) for name, tensor in self.tensors.items()}

    def row_address(self, name: str, row: int) -> int:
        """Return where one row of a tensor starts."""
        return self.addresses[name] + row * self.tensors[name].row_bytes
