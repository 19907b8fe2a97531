"""The phoneme symbols of hibari-tts, on whose output the default voice was trained."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PAD_ID = 0
PHONEME_COUNT = 178
MAX_PHONEMES = 128
"""Most phonemes of a segment: with the pads, the longest sentence that training takes."""
ENDS_WITH_PAUSE = True
"""The training data has clauses that end in a comma."""


def phoneme_vocabulary() -> dict[str, Any]:
    """Return what `frontend/phonemes.json` holds; `server.phonemes.inventory` says what the keys mean."""
    spec = find_spec("hibari")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("The phoneme symbols come from hibari-tts, which is not installed; run the set-up.")
    path = Path(spec.submodule_search_locations[0]) / "assets" / "vocab.json"
    limits = {"pad_id": PAD_ID, "max_phonemes": MAX_PHONEMES, "ends_with_pause": ENDS_WITH_PAUSE}
    return {**limits, "vocab": json.loads(path.read_text("utf-8"))}
