"""How an engine is to be run; the bundle says what it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Backend = Literal["onnxruntime", "tensorrt", "tensorrt-rtx"]


@dataclass(frozen=True)
class EngineOptions:
    """Settings of a loaded bundle.

    Attributes:
        slot_count: Slots of the talker and of the vocoder, at least 1.
        threads: CPU threads that a step's rows are shared out over, at least 1. The first
            is the caller's own; the vocoder has but that of its caller.
        backend: What runs the networks: ONNX Runtime on the CPU, or plans on an NVIDIA GPU.
        plans_dir: Where plans are, for TensorRT; None for `plans` in the bundle.
        prefix_cache_bytes: Memory for the beginnings of prompts, so that a cloned voice is prefilled once; used by
            bundles that clone, on ONNX Runtime. 0 keeps none.
    """

    slot_count: int
    threads: int = 2
    backend: Backend = "onnxruntime"
    plans_dir: Path | None = None
    prefix_cache_bytes: int = 256 << 20

    def __post_init__(self) -> None:
        for name in ("slot_count", "threads"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name} is {value} but must be at least 1.")
