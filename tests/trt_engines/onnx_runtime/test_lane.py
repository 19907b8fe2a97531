"""Threads that run sessions."""

import threading

import numpy as np
import pytest

from trt_engines.onnx_runtime.lane import Lane, run_side_by_side


def test_work_runs_on_the_lane() -> None:
    """Each lane is one thread of its own."""
    lanes = [Lane("a"), Lane("b")]
    names = [lane.call(lambda: threading.current_thread().name) for lane in (*lanes, *lanes)]
    for lane in lanes:
        lane.close()

    assert ["a_0", "b_0", "a_0", "b_0"] == names


def test_lanes_flush_denormals_and_the_caller_does_not() -> None:
    """Numbers too small to be normal are zero on a lane; the caller's thread is left as it was."""
    tiny, small = np.float32(1e-30), np.float32(1e-10)
    lane = Lane("a")
    on_lane = lane.call(lambda: tiny * small)
    lane.close()

    assert 0 == on_lane
    assert 0 < tiny * small


def test_a_failure_comes_out_when_all_have_finished() -> None:
    """Nothing is left running when the error is raised."""
    lanes, finished = [Lane("a"), Lane("b")], []

    def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_side_by_side(lanes, [fail, lambda: finished.append(1), lambda: finished.append(2)])
    for lane in lanes:
        lane.close()

    assert [1, 2] == sorted(finished)
