"""Threads are called by the operating system as Python calls them."""

import sys
import threading
from pathlib import Path

import pytest

from trt_engines.thread_name import name_this_thread


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows it in a file")
def test_the_system_knows_the_name() -> None:
    """What `top -H` shows is the name, as far as Linux keeps it."""
    seen = list[str]()

    def work() -> None:
        name_this_thread()
        seen.append(Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text("utf-8").strip())

    thread = threading.Thread(target=work, name="vocoder of this test")
    thread.start()
    thread.join()

    assert ["vocoder of this"] == seen
