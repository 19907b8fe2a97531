"""Exports the trained networks as the bundle that ships, with its model card and notices."""

from importlib.metadata import distribution
from pathlib import Path

from build_engines.pointer.build import PointerBuild, PointerNetworks
from training.recipe import Recipe

BUNDLE_ID = "antiphon-default"
VOICES = {
    "aria": {
        "language_codes": ["en-US"],
        "gender": "female",
        "description": "American English, warm and clear. Distilled from hibari-tts (Kokoro-82M, af_heart).",
    }
}
_DATA = Path(__file__).parent / "data"


def write_bundle(recipe: Recipe) -> None:
    """Build the bundle from the checkpoints, prove it, and write it to `recipe.bundle`."""
    networks = PointerNetworks.load(recipe.codec, recipe.talker)
    documents = {"MODEL_CARD.md": (_DATA / "MODEL_CARD.md").read_text(), "NOTICE": notices()}
    build = PointerBuild(networks, BUNDLE_ID, VOICES, documents=documents)
    build.write(recipe.bundle)


def notices() -> str:
    """Return the notices that the weights must carry: our own, the text sources', and the teacher's in full."""
    teacher = distribution("hibari-tts").read_text("licenses/NOTICE") or ""
    return f"{(_DATA / 'NOTICE').read_text()}\n---- hibari-tts NOTICE ----\n\n{teacher}"
