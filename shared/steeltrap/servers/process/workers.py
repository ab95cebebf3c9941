"""The processes of `steeltrap serve --workers N`: all accept from one listening socket, and a dead one is replaced.

They are spawned, not forked: a fork would share locks and SQLite connections, which neither survives.
"""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from ...errors import Unavailable
from ...processes import STOPPING, end_when_stopped

_log = logging.getLogger("steeltrap")

_STOP_SECONDS: Final = 6.0
"""A little longer than a worker takes for the calls that it is answering."""
_PAUSE_SECONDS: Final = 1.0

_spawn: Final = multiprocessing.get_context("spawn")

Work = Callable[..., None]
"""Serves until SIGTERM. Its last argument is to be called once it serves."""


def supervise(
    work: Work,
    arguments: Sequence[Any],
    *,
    count: int,
    all_serve: Callable[[], None],
    died: Callable[[int], None] = lambda process: None,
) -> None:
    """Run the work in `count` processes until Ctrl-C, SIGTERM or SIGHUP, then stop them.

    `all_serve` is called when all of them serve, `died` with the id of one that is replaced. Raises Unavailable if one
    of the first never serves.
    """
    workers: list[_Worker] = []
    with _stop_signals() as stop:
        try:
            workers += [_Worker(work, arguments) for _ in range(count)]
            for worker in workers:
                if stop in wait([stop, worker.ready]):
                    return
                if not worker.serves():
                    if wait([stop], _PAUSE_SECONDS):
                        return  # who stops the group of processes stops the workers, too
                    raise Unavailable("A worker could not start; the log says why.", retryable=False, part="server")
            all_serve()
            while stop not in wait([stop, *(worker.process.sentinel for worker in workers)]):
                for at, worker in enumerate(workers):
                    if worker.process.is_alive():
                        continue
                    _log.warning("A worker died (%s); another one takes its place.", worker.end)
                    died(worker.process.pid or 0)
                    # One that can't even start would otherwise be replaced again and again without a pause.
                    if not worker.serves() and wait([stop], _PAUSE_SECONDS):
                        return
                    workers[at] = _Worker(work, arguments)
        finally:
            _stop(workers)


class _Worker:
    """A process that does the work. `ready` is readable once it serves, or has died."""

    def __init__(self, work: Work, arguments: Sequence[Any]) -> None:
        self.ready, telling = _spawn.Pipe(duplex=False)
        self.process = _spawn.Process(target=_run, args=(work, arguments, telling))
        with _without_ctrl_c():
            self.process.start()
        telling.close()  # or `ready` would never learn of a death
        self._served = False

    def serves(self) -> bool:
        """Whether the worker has started to serve."""
        with suppress(EOFError):
            self._served = self._served or (self.ready.poll() and self.ready.recv())
        return self._served

    @property
    def end(self) -> str:
        """How the process ended."""
        code = self.process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal, workers that are still being imported too: only the first one gets
    it, and stops the others. What is blocked stays blocked in a process that is started meanwhile."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # it would let Ctrl-C in again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run(work: Work, arguments: Sequence[Any], telling: Connection) -> None:
    """The main function of a worker's process."""
    threading.Thread(target=_end_with_parent, name="steeltrap-parent", daemon=True).start()
    end_when_stopped()
    work(*arguments, lambda: telling.send(True))


def _end_with_parent() -> None:
    """A worker that outlives its parent would hold the port, and nobody could stop it by the server's process id."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    latest = time.monotonic() + _STOP_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, latest - time.monotonic()))
        worker.process.kill()
        worker.process.join()


@contextmanager
def _stop_signals() -> Iterator[socket.socket]:
    """A socket that is readable once Ctrl-C, SIGTERM or SIGHUP has come."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    stop_signals = [each for each in (signal.SIGINT, *STOPPING) if signal.getsignal(each) is not signal.SIG_IGN]
    before = [signal.signal(each, lambda *_: None) for each in stop_signals]
    woken = signal.set_wakeup_fd(writer.fileno())
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(woken)
        for each, handler in zip(stop_signals, before, strict=True):
            signal.signal(each, handler)
        reader.close()
        writer.close()
