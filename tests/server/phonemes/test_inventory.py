"""The list of phonemes of a bundle."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.phonemes.inventory import PhonemeInventory, read_inventory
from trt_engines.errors import ManifestError

_VOCAB = {symbol: number for number, symbol in enumerate(" ,.?!ab", 1)}


def write(folder: Path, **replaced: Any) -> Path:
    """Write an inventory; what is given replaces what it says."""
    content = {"vocab": _VOCAB, "pad_id": 0, "max_phonemes": 128, "ends_with_pause": True, **replaced}
    file = folder / "phonemes.json"
    file.write_text(json.dumps(content))
    return file


def test_ids(tmp_path: Path) -> None:
    """Known symbols have ids, others can be taken out."""
    inventory = read_inventory(write(tmp_path))

    assert inventory == PhonemeInventory(_VOCAB, 0, 128, ends_with_pause=True)
    assert inventory.known("axb!") == "ab!"
    assert inventory.ids("ab!") == [6, 7, 5]


@pytest.mark.parametrize(
    ("replaced", "sentence"),
    [
        ({"max_phonemes": 47}, "`max_phonemes` is 47 but must be at least 48"),
        ({"ends_with_pause": "yes"}, "`ends_with_pause` is 'yes' but must be true or false"),
        ({"vocab": {"a": 1}}, "`vocab` has no ' ', which every sentence needs"),
        ({"vocab": {"a": -1}}, "is -1 but must be at least 0"),
        ({"speed": 1}, "`speed` is not a known key"),
    ],
)
def test_wrong_inventory(tmp_path: Path, replaced: dict[str, object], sentence: str) -> None:
    """A file that does not say what it must is refused, with file, field and value."""
    with pytest.raises(ManifestError) as error:
        read_inventory(write(tmp_path, **replaced))

    assert "phonemes.json" in str(error.value)
    assert sentence in str(error.value)


def test_missing_file(tmp_path: Path) -> None:
    """A file that cannot be read is refused by name."""
    with pytest.raises(ManifestError, match=r"phonemes\.json cannot be read"):
        read_inventory(tmp_path / "phonemes.json")
