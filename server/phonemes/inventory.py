"""The phonemes that a voice knows, as `frontend/phonemes.json` of its bundle lists them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from trt_engines.errors import ManifestError
from trt_engines.manifest import NotNegative
from trt_engines.manifest_bounds import Bounds
from trt_engines.manifest_reading import dataclass_from_json


@dataclass(frozen=True)
class PhonemeInventory:
    """The file, key by key.

    Attributes:
        vocab: Ids by symbol; a symbol is one character.
        pad_id: Silence, at both ends of every segment.
        max_phonemes: Most phonemes of a segment, pads not counted. No character is spoken in more than 48.
        ends_with_pause: Whether the voice also learned phrases that end in a comma; if not, every segment ends as a
            sentence does.
    """

    vocab: Mapping[str, NotNegative]
    pad_id: NotNegative
    max_phonemes: Annotated[int, Bounds(48)]
    ends_with_pause: bool

    def ids(self, phonemes: str) -> list[int]:
        """Return the ids of a string of phonemes; every one must be known."""
        return [self.vocab[symbol] for symbol in phonemes]

    def known(self, phonemes: str) -> str:
        """Return the phonemes without those the voice does not know."""
        return "".join(symbol for symbol in phonemes if symbol in self.vocab)


def read_inventory(file: Path) -> PhonemeInventory:
    """Read the inventory of a bundle.

    Raises:
        ManifestError: The file cannot be read or does not say what it must.
    """
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ManifestError(f"{file} cannot be read: {error}. Restore it, or rebuild the bundle.") from error
    inventory = dataclass_from_json(PhonemeInventory, content, file)
    missing = [sign for sign in " ,.?!" if sign not in inventory.vocab]
    if missing:
        raise ManifestError(f"{file}: `vocab` has no {missing[0]!r}, which every sentence needs; rebuild the bundle.")
    return inventory
