"""A sample of every voice, for people to choose by: the same sentences, through the real server and client."""

import asyncio
from pathlib import Path

import soundfile

from training.evaluate import voice_names
from training.recipe import Recipe
from training.speaking import SAMPLE_RATE_HZ, say_all

SAMPLES = Path("voices/samples")
TEXT = "Good morning, this is {name}. Your table for four is booked at half past seven. What else can I do?"


def write_samples(recipe: Recipe) -> None:
    """Write `voices/samples/<name>.ogg` (Opus) for every voice of the bundle, and drop the others."""
    SAMPLES.mkdir(parents=True, exist_ok=True)
    names = voice_names(recipe.bundle)
    for path in SAMPLES.glob("*.ogg"):
        if path.stem not in names:
            path.unlink()
    for name in names:
        (said,) = asyncio.run(say_all(recipe.bundle, [TEXT.format(name=name.capitalize())], 1, name))
        soundfile.write(SAMPLES / f"{name}.ogg", said.samples, SAMPLE_RATE_HZ, format="OGG", subtype="OPUS")
