"""Saves and restores training state so that every stage can be stopped and resumed at any time."""

from pathlib import Path
from typing import Any

import torch


def save(path: Path, state: dict[str, Any]) -> None:
    """Write `state` in one atomic move."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    torch.save(state, temporary)
    temporary.replace(path)


def load(path: Path) -> dict[str, Any] | None:
    """Return the saved state, or None if there is none yet. Only tensors and plain values are unpickled."""
    if not path.exists():
        return None
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state
