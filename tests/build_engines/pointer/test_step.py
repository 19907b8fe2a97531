"""The talker's graphs on the tiny bundle: alone or in company, once or twice, and always to an end."""

from pathlib import Path

import numpy as np
import pytest

from build_engines.verification.graph_runner import GraphRunner
from build_engines.verification.talker_run import TalkerDriver
from trt_engines.manifest_loading import load_manifest


def driver_of(bundle_dir: Path, capacity: int) -> TalkerDriver:
    """Both graphs at one cache length."""
    manifest = load_manifest(bundle_dir)
    prefill, step = (GraphRunner(bundle_dir / part.graph) for part in (manifest.prefill, manifest.step))
    return TalkerDriver(prefill, step, manifest.frame.width, 64, capacity)


def prompts_of(*lengths: int) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Random phonemes."""
    return [np.random.default_rng(length).integers(0, 178, length).astype(np.int32) for length in lengths]


def params_of(batch: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Warm draws."""
    return np.full((batch, 4), 1.0, np.float32)


def test_every_text_comes_to_an_end(tiny_bundle: Path) -> None:
    """Texts of any length, of one phoneme and of none included, are done within a few frames a phoneme."""
    run = driver_of(tiny_bundle, 256).speak(prompts_of(0, 1, 2, 3, 17, 60), params_of(6), 150)

    assert run.done.any(0).all()


@pytest.mark.parametrize("capacity", [64, 256])
def test_a_row_does_not_depend_on_its_company(tiny_bundle: Path, capacity: int) -> None:
    """An utterance says the same alone and among three others, at any cache length."""
    together = driver_of(tiny_bundle, 128).speak(prompts_of(20, 3, 9, 30), params_of(4), 20)
    alone = driver_of(tiny_bundle, capacity).speak(prompts_of(20), params_of(1), 20)

    np.testing.assert_array_equal(alone.rows[:, 0], together.rows[:, 0])


def test_a_step_run_again_changes_nothing(tiny_bundle: Path) -> None:
    """The same inputs write the same place of the cache again, so that an engine may run idle rows and discard them."""
    driver = driver_of(tiny_bundle, 64)
    run = driver.speak(prompts_of(8), params_of(1), 1)
    feeds = {
        "row_ids": run.rows[0],
        "position": np.asarray([8], np.int32),
        "prompt": run.prompts[0][None],
        "prompt_count": np.asarray([8], np.int32),
        "params": run.params,
        "random": run.random[0],
    }

    again = driver.step.run({**feeds, **run.caches})
    np.testing.assert_array_equal(again["next_row_ids"], run.rows[1])
    for name, cache in run.caches.items():
        np.testing.assert_array_equal(again[f"{name}_out"], cache)


def test_the_pointer_visits_every_phoneme_in_order(tiny_bundle: Path) -> None:
    """From frame to frame the pointer stays or moves on by one or two, and it ends on the last or last but one."""
    run = driver_of(tiny_bundle, 128).speak(prompts_of(25), params_of(1), 60)
    frames = int(np.flatnonzero(run.done[:, 0])[0])
    pointers = run.rows[: frames + 1, 0, 2]

    assert set(np.diff(pointers)) <= {0, 1, 2}
    assert pointers[-1] >= 23


def test_the_frame_is_the_codes_of_the_next_row(tiny_bundle: Path) -> None:
    """What goes to the vocoder is what is fed back, and a frame is emitted unless speech is done."""
    driver = driver_of(tiny_bundle, 64)
    caches = driver.step.empty_caches(1, 64)
    row = np.asarray([[-1, 5, 0, 0, 0, 0, 0, 0]], np.int32)
    feeds = {"row_ids": row, "position": np.zeros(1, np.int32), "prompt": np.zeros((1, 1), np.int32)}
    draws = {"params": params_of(1), "random": np.full((1, 5), 0.5, np.float32)}

    made = driver.step.run({**feeds, "prompt_count": np.zeros(1, np.int32), **draws, **caches})
    np.testing.assert_array_equal(made["frame"], made["next_row_ids"][:, 4:])
    assert made["emit"][0] == (not made["done"][0])
