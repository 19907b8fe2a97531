"""The references of a voice on disk: codes and transcripts of the recordings that show how it sounds.

One safetensors file: tensors `codes.0`, `codes.1`, ... int32 [frames, codebooks], transcripts `text.0`, ... in its
metadata.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from server.fish_speech.prompt import Reference
from trt_engines.errors import ManifestError

CUSTOM_FILE = "references.safetensors"
"""Name of the file in the directory of a voice that a caller made."""


def read_references(path: Path, codebook_count: int) -> tuple[Reference, ...]:
    """Return the references of a voice in order; none if it has no such file.

    Raises:
        ManifestError: The file is not what it should be; names it.
    """
    if not path.is_file():
        return ()
    try:
        with safe_open(path, "numpy") as stored:
            texts = stored.metadata() or {}
            names = [f"{index}" for index in range(len(stored.keys()))]
            references = [Reference(texts[f"text.{name}"], stored.get_tensor(f"codes.{name}")) for name in names]
    except (OSError, SafetensorError, KeyError) as error:
        raise ManifestError(
            f"{path} does not hold the references of a voice: {error}. Restore or remove it."
        ) from error
    for reference in references:
        codes = reference.codes
        if codes.ndim != 2 or codes.dtype != np.int32 or codes.shape[1] < codebook_count or not len(codes):
            raise ManifestError(
                f"{path} holds codes {codes.dtype}{list(codes.shape)}, but int32[frames, {codebook_count}] belong "
                "there. Make the voice again with this bundle."
            )
    return tuple(references)


def write_references(path: Path, references: Sequence[Reference]) -> None:
    """Write the references of a voice.

    Raises:
        OSError: The file cannot be written.
    """
    codes = {f"codes.{index}": np.ascontiguousarray(each.codes, np.int32) for index, each in enumerate(references)}
    # Written here and not by safetensors, whose errors do not tell a full disk from a bug.
    path.write_bytes(save(codes, {f"text.{index}": each.text for index, each in enumerate(references)}))
