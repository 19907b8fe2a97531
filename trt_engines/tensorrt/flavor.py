"""The two packages that speak TensorRT's language: `tensorrt` for servers, `tensorrt_rtx` for RTX cards."""

import importlib
from dataclasses import dataclass
from typing import Any, Literal

from trt_engines.errors import BackendError

FlavorName = Literal["tensorrt", "tensorrt-rtx"]

_MODULES = {"tensorrt": "tensorrt", "tensorrt-rtx": "tensorrt_rtx"}
_OLDEST = {
    "tensorrt": (10, 15),  # the first one that parses TensorScatter, RotaryEmbedding and RMSNormalization
    "tensorrt-rtx": (1, 7),  # the first one that these graphs were built with
}
_REMEDIES = {
    "tensorrt": "pip install 'antiphon[tensorrt]'",
    "tensorrt-rtx": "pip install 'antiphon[tensorrt-rtx]'",
}


@dataclass(frozen=True)
class Flavor:
    """A loaded package.

    Attributes:
        name: which of the two.
        api: its module.
        version: as the module spells it, `11.4.0.106`.
    """

    name: FlavorName
    api: Any
    version: str


def load_flavor(name: FlavorName) -> Flavor:
    """Import a package. Creates no TensorRT object: on a machine without a driver that could end the process.

    Raises:
        BackendError: the package is missing, incomplete or too old.
    """
    try:
        api = importlib.import_module(_MODULES[name])
    except ImportError as error:
        raise BackendError(f"{name} cannot be imported: {error}. Install it: {_REMEDIES[name]}.") from error
    version = str(api.__version__)
    oldest = _OLDEST[name]
    if tuple(int(part) for part in version.split(".")[:2]) < oldest:
        raise BackendError(
            f"{name} is {version} but must be at least {oldest[0]}.{oldest[1]}. Update it: {_REMEDIES[name]}."
        )
    return Flavor(name, api, version)
