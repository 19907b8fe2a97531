"""Threads that run sessions side by side."""

import threading

import pytest

from trt_engines.onnx_runtime.lanes import Lanes


@pytest.mark.parametrize("count", [1, 2, 3])
def test_work_is_dealt_out(count: int) -> None:
    """Every piece is done once; the caller's thread is the first lane."""
    lanes, done = Lanes(count, "test"), list[tuple[int, bool]]()
    main = threading.current_thread()
    lanes.run([lambda i=i: done.append((i, threading.current_thread() is main)) for i in range(7)])
    lanes.close()

    assert [(i, i % count == 0) for i in range(7)] == sorted(done)


def test_no_work_is_no_trouble() -> None:
    """An empty list is run at once."""
    Lanes(2, "test").run([])


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_comes_out_when_all_have_finished(failing: int) -> None:
    """Nothing is left running when the error is raised, on whatever lane it was."""
    lanes, finished = Lanes(2, "test"), []

    def fail() -> None:
        raise ValueError("broken")

    work = [lambda: finished.append(1)]
    work.insert(failing, fail)
    with pytest.raises(ValueError, match="broken"):
        lanes.run(work)
    lanes.close()

    assert [1] == finished


def test_who_computes_beside_them_takes_the_place_of_a_lane() -> None:
    """Work is dealt to the lanes that are left, and to the caller's own in any case; afterwards all are back."""
    lanes, threads = Lanes(2, "test"), list[str]()

    def note() -> None:
        threads.append(threading.current_thread().name)

    with lanes.one_taken(), lanes.one_taken():
        lanes.run([note, note])
    left, back = set(threads), lanes.free_count
    lanes.close()

    assert ({threading.current_thread().name}, 2) == (left, back)
