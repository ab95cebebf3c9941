"""Work beside a server: its priority, its errors, and an interruption."""

import os
import sys
from collections.abc import Callable
from threading import Event, get_native_id

import pytest

from steeltrap.cli.upkeep import at_low_priority


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_the_work_has_a_lower_priority_and_the_process_keeps_its_own() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    worked_at = at_low_priority(lambda _: os.getpriority(os.PRIO_PROCESS, get_native_id()))
    assert worked_at == min(19, before + 5)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_what_the_work_raises_is_raised() -> None:
    def fail(_: Callable[[], None]) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        at_low_priority(fail)


def test_an_interrupted_caller_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is raised in the main thread, which waits for the result."""
    began, ended = Event(), Event()

    class Interrupted:
        def result(self) -> None:
            began.wait()
            raise KeyboardInterrupt

    def work(check: Callable[[], None]) -> None:
        began.set()
        try:
            while True:
                check()
        except KeyboardInterrupt:
            ended.set()
            raise

    from concurrent.futures import ThreadPoolExecutor

    submit = ThreadPoolExecutor.submit
    monkeypatch.setattr(ThreadPoolExecutor, "submit", lambda *a, **k: (submit(*a, **k), Interrupted())[1])
    with pytest.raises(KeyboardInterrupt):
        at_low_priority(work)
    assert ended.is_set()
