"""Work that lets a server on the same machine go first."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, get_native_id
from typing import Final, TypeVar

T = TypeVar("T")

_NICENESS: Final = 5
"""With 10 and more, work takes many times as long beside a busy server."""


def aside(work: Callable[[Callable[[], None]], T]) -> T:
    """The result of work in a thread of lower priority, on Linux; elsewhere a thread has no priority of its own.

    The work gets a function to call now and then: it raises KeyboardInterrupt once the caller was interrupted.
    """
    interrupted = Event()

    def check() -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(max_workers=1, initializer=_yield_to_others) as thread:
        try:
            return thread.submit(work, check).result()
        except BaseException:
            interrupted.set()
            raise


def _yield_to_others() -> None:
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)
