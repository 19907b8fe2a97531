"""The training loops learn, save and resume; seconds on tiny data made by the real teacher."""

from pathlib import Path

import numpy as np
import pytest
import torch

from training import checkpoint
from training.dataset import make_shard, read_sentences_of
from training.teacher import Teacher
from training.tokens import encode_shards, load_codec, read_examples
from training.train_codec import CropSampler, losses, new_codec, rate_at
from training.train_talker import batches, train

SENTENCES = [
    "Please call me back tomorrow morning before the meeting starts.",
    "The museum opens at nine in the morning and closes at half past six.",
    "Turn left at the second traffic light, then continue straight for about a mile.",
    "Good books, like good friends, should be few and well chosen.",
]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with one shard of real teacher data, an untrained codec, and its tokens."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("voice")
    (folder / "data").mkdir()
    make_shard(Teacher(), SENTENCES, 0, folder / "data" / "shard_0000.npz")
    codec = new_codec(list(read_sentences_of(folder / "data" / "shard_0000.npz")))
    checkpoint.save(folder / "codec.pt", {"codec": codec.state_dict()})
    encode_shards(load_codec(folder / "codec.pt"), folder / "data", folder / "tokens")
    return folder


def test_a_shard_keeps_durations_and_frames_in_step(work: Path) -> None:
    """Two 80 Hz frames for each 25 ms unit, four of them for each 20 Hz frame, short silence at both ends."""
    for sentence in read_sentences_of(work / "data" / "shard_0000.npz"):
        assert 2 * sentence.durations.sum() == len(sentence.f0_hz) == len(sentence.latent)
        assert len(sentence.f0_hz) % 4 == 0
        assert sentence.durations[0] <= 3


def test_the_codec_learns(work: Path) -> None:
    """A few steps lower the loss on the same crops."""
    sentences = list(read_sentences_of(work / "data" / "shard_0000.npz"))
    codec = new_codec(sentences)
    codec.tail.requires_grad_(False)
    crops = CropSampler(sentences, seed=0).draw()
    optimizer = torch.optim.AdamW([*codec.encoder.parameters(), *codec.decoder.parameters()], 1e-3)
    seen = []
    for _ in range(4):
        parts = losses(codec, *crops)
        total = torch.stack(list(parts.values())).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        seen.append(total.item())

    assert seen[-1] < seen[0]


def test_the_talkers_run_resumes_where_it_stopped(work: Path) -> None:
    """A second call with more steps goes on from the saved step, and the averaged weights are finite."""
    train(work / "tokens", work / "talker.pt", 2, 400, 0.5, held_out_count=1)
    first = checkpoint.load(work / "talker.pt")
    train(work / "tokens", work / "talker.pt", 3, 400, 0.5, held_out_count=1)
    second = checkpoint.load(work / "talker.pt")

    assert first is not None
    assert second is not None
    assert [first["step"], second["step"]] == [2, 3]
    assert all(torch.isfinite(tensor).all() for tensor in second["talker"].values())


def test_batches_hold_every_example_once(work: Path) -> None:
    """An epoch leaves no sentence out and repeats none."""
    examples = list(read_examples(work / "tokens" / "shard_0000.npz"))
    rows = [int(count) for batch in batches(examples, 200, 0, short_only=False) for count in batch["row_count"]]

    assert sorted(rows) == sorted(len(example.rows) for example in examples)


def test_the_rate_warms_up_and_falls() -> None:
    """Zero at the start, a peak after the warm-up, almost zero at the end."""
    rates = [rate_at(step, 1000) for step in (0, 100, 999)]

    assert rates[0] == 0.0
    assert rates[2] < 0.05 * rates[1]
    assert np.isclose(max(rate_at(step, 1000) for step in range(1000)), rates[1], rtol=0.05)
