"""Reading tensors from a .pth file without running code from it, and handing them out so that none is forgotten."""

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from build_engines.errors import CheckpointError

_FLOATS = (torch.float32, torch.bfloat16, torch.float16)
_NAMES_SHOWN = 5


def tensors_from_pth(path: Path) -> dict[str, Tensor]:
    """Return the named floating-point tensors of `path`, memory-mapped where the file allows it.

    A top-level "state_dict" is unwrapped. Only tensors are unpickled: a file that wants to run code is refused.

    Raises:
        CheckpointError: the file is truncated, not a checkpoint, or holds something else than such tensors.
    """
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, IndexError) as error:
        raise CheckpointError(
            f"{path.name} ({path.stat().st_size:,} bytes) is not a readable torch checkpoint: it is truncated, another "
            f"kind of file, or holds more than tensors. Download it again. (torch says: {_first_line(error)})"
        ) from error
    if isinstance(loaded, Mapping) and isinstance(loaded.get("state_dict"), Mapping):
        loaded = loaded["state_dict"]
    if not isinstance(loaded, Mapping) or not loaded:
        raise CheckpointError(f"{path.name} holds no table of named tensors. It is not a checkpoint of this model.")
    for name, tensor in loaded.items():
        _check_tensor(path.name, name, tensor)
    return dict(loaded)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _check_tensor(source: str, name: object, tensor: object) -> None:
    if not isinstance(name, str) or not isinstance(tensor, Tensor):
        raise CheckpointError(f"{source}: the entry {name!r} is a {type(tensor).__name__}, not a named tensor.")
    if tensor.dtype not in _FLOATS:
        raise CheckpointError(
            f"{source}: the tensor {name} is {str(tensor.dtype).removeprefix('torch.')}; float32, bfloat16 or float16 "
            "belongs there. Quantized checkpoints are not supported: start from the original one."
        )
    if not bool(torch.isfinite(tensor).all()):
        raise CheckpointError(f"{source}: the tensor {name} holds values that are not finite. Download it again.")


class TensorShelf:
    """Tensors of one file on their way into a module: each is taken once, and what is wrong is told all at once."""

    def __init__(self, tensors: Mapping[str, Tensor], source: str) -> None:
        self._tensors = dict(tensors)
        self._source = source
        self._missing: list[str] = []
        self._wrong: list[str] = []

    def has(self, name: str) -> bool:
        """Whether the tensor `name` is there and has not been taken."""
        return name in self._tensors

    def take(self, name: str) -> Tensor | None:
        """Take the tensor `name` in float32, or note that it is missing."""
        tensor = self._tensors.pop(name, None)
        if tensor is None:
            self._missing.append(name)
            return None
        return tensor.float()

    def fill(self, name: str, parameter: Tensor, value: Tensor | None) -> None:
        """Copy `value`, made of what was taken for `name`, into `parameter`, or note why not."""
        if value is None:
            return
        if value.shape != parameter.shape:
            self._wrong.append(f"{name} is {list(value.shape)}, not {list(parameter.shape)}")
        else:
            parameter.data.copy_(value)

    def close(self, module: nn.Module) -> None:
        """Check that all went well and put `module` into evaluation mode.

        Raises:
            CheckpointError: tensors were missing, misshapen or left over; names them.
        """
        module.eval()
        faults = [
            f"{len(names)} {what}: {', '.join(names[:_NAMES_SHOWN])}{', ...' if len(names) > _NAMES_SHOWN else ''}"
            for what, names in (
                ("missing", self._missing),
                ("unexpected", sorted(self._tensors)),
                ("wrong", self._wrong),
            )
            if names
        ]
        if faults:
            raise CheckpointError(
                f"{self._source} does not fit this model ({'; '.join(faults)}). It is a file of another model or "
                "release, or config.json is; take both from the same checkpoint."
            )
