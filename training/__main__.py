"""Retrains the default voice with one command: `python -m training --work DIR`.

Stages, each resumable and skipped when finished: data (teacher), codec, tokens, talker, bundle, voices, samples,
evaluation, word times, robustness. Stop it at any time and start it again. On two CPU cores it takes some three hours.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import torch

from training.recipe import Recipe

STAGES = ("data", "codec", "tokens", "talker", "bundle", "voices", "samples", "evaluate", "word-times", "robustness")


def make_data(recipe: Recipe) -> None:
    """Synthesize the training set."""
    from training.dataset import FIRST_EXTRA_SHARD, make_shards
    from training.texts import extra_utterances, read_sentences

    sentences = read_sentences()
    make_shards(extra_utterances(sentences), recipe.data, recipe.hours, FIRST_EXTRA_SHARD)
    make_shards(sentences, recipe.data, recipe.hours)


def train_codec(recipe: Recipe) -> None:
    """Train encoder, quantizer and decoder."""
    from training.train_codec import train

    train(recipe.data, recipe.codec, recipe.codec_steps, recipe.codec_shards)


def make_tokens(recipe: Recipe) -> None:
    """Encode the training set."""
    from training.tokens import encode_shards, load_codec

    encode_shards(load_codec(recipe.codec), recipe.data, recipe.tokens)


def train_talker(recipe: Recipe) -> None:
    """Train the talker."""
    from training.train_talker import train

    train(recipe.tokens, recipe.talker, recipe.talker_steps, recipe.batch_frames, recipe.decay_share)


def make_bundle(recipe: Recipe) -> None:
    """Export and verify the voice bundle."""
    from training.bundle import write_bundle

    write_bundle(recipe)


def add_voices(recipe: Recipe) -> None:
    """Train the other voices on top of the bundle, and rebuild it with them."""
    from training.bundle import add_voices as add
    from training.train_voices import train

    train(recipe)
    add(recipe)


def make_samples(recipe: Recipe) -> None:
    """Let every voice say the same, for people to choose by."""
    from training.samples import write_samples

    write_samples(recipe)


def evaluate(recipe: Recipe) -> None:
    """Listen by numbers and write the figures beside the bundle."""
    from training.evaluate import evaluate_bundle

    evaluate_bundle(recipe)


def check_times(recipe: Recipe) -> None:
    """Compare word times with the teacher's durations."""
    from training.word_times import check_word_times

    check_word_times(recipe)


def check_robustness(recipe: Recipe) -> None:
    """Say 500 awkward texts and count what goes wrong."""
    from training.robustness import check_robustness as check

    check(recipe)


_RUN: dict[str, Callable[[Recipe], None]] = {
    "data": make_data,
    "codec": train_codec,
    "tokens": make_tokens,
    "talker": train_talker,
    "bundle": make_bundle,
    "voices": add_voices,
    "samples": make_samples,
    "evaluate": evaluate,
    "word-times": check_times,
    "robustness": check_robustness,
}


def main() -> None:
    """Run all stages, or those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", choices=[*STAGES, []], default=[], help="default: all, in order")
    parser.add_argument("--work", type=Path, default=Path("build/voice"), help="where data and checkpoints are kept")
    parser.add_argument("--out", type=Path, default=Path("voices/default"), help="the bundle to write")
    parser.add_argument("--threads", type=int, default=2, help="torch threads")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1234)
    recipe = Recipe(work=args.work, bundle=args.out)
    for stage in args.stages or STAGES:
        print(f"stage {stage}", flush=True)
        _RUN[stage](recipe)


if __name__ == "__main__":
    main()
