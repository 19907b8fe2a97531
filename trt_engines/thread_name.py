"""Names of threads as the operating system sees them, so that `top -H` tells who works."""

import threading
from contextlib import suppress
from pathlib import Path

_LONGEST = 15  # Linux keeps no more


def name_this_thread() -> None:
    """Give the calling thread its Python name in the eyes of Linux; elsewhere nothing happens.

    Python does so by itself from 3.14 on.
    """
    with suppress(OSError):
        comm = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
        comm.write_text(threading.current_thread().name[:_LONGEST], "utf-8")
