"""The phoneme symbols of hibari-tts, on whose output the default voice was trained."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PAD_ID = 0
PHONEME_COUNT = 178


def phoneme_vocabulary() -> dict[str, Any]:
    """Return what `frontend/phonemes.json` holds: `vocab`, ids by symbol, and `pad_id`, at both ends of a text."""
    spec = find_spec("hibari")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("The phoneme symbols come from hibari-tts, which is not installed; run the set-up.")
    path = Path(spec.submodule_search_locations[0]) / "assets" / "vocab.json"
    return {"pad_id": PAD_ID, "vocab": json.loads(path.read_text("utf-8"))}
