"""Runs tasks in a bounded number of threads, within a deadline, even if a task hangs.

    run ──slots──> threads: take a task, do it, take the next ──> results in the order of the tasks
     └─ waits until its deadline, then leaves the threads behind

A thread left behind keeps its slot until it ends, so a service that hangs occupies a bounded number of threads.
"""

import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Event, Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class OutOfTime(Exception):
    """The deadline passed before every task ended."""


class BoundedThreadPool(Generic[Result]):
    """Up to `slots` threads, shared by all callers of `run`. No thread runs while there is no task."""

    def __init__(self, slots: int) -> None:
        self._slots = BoundedSemaphore(slots)
        self._most = slots

    def run(self, tasks: Sequence[Callable[[], Result]], timeout: float) -> list[Result]:
        """Return one result per task, in order, within `timeout` seconds.

        The first exception of a task is raised; tasks that have not started are dropped.
        Raises OutOfTime.
        """
        ends = time.monotonic() + timeout
        todo: SimpleQueue[tuple[int, Callable[[], Result]]] = SimpleQueue()
        for task in enumerate(tasks):
            todo.put(task)
        done: SimpleQueue[tuple[int, Result] | Exception] = SimpleQueue()
        over = Event()
        self._start(len(tasks), (todo, done, over), timeout)
        results: dict[int, Result] = {}
        try:
            while len(results) < len(tasks):
                outcome = done.get(timeout=max(0.0, ends - time.monotonic()))
                if isinstance(outcome, Exception):
                    raise outcome
                results[outcome[0]] = outcome[1]
        except Empty:
            raise OutOfTime from None
        finally:
            over.set()
        return [results[position] for position in range(len(tasks))]

    def _start(self, tasks: int, work: tuple[object, object, Event], timeout: float) -> None:
        """Start one thread per task, as far as slots are free; wait for the first slot. Raises OutOfTime."""
        for thread in range(min(tasks, self._most)):
            first = thread == 0
            if not self._slots.acquire(timeout=max(0.0, timeout) if first else 0.0):
                if first:
                    raise OutOfTime
                return
            try:
                Thread(target=self._work, args=work, name="steeltrap-embedder", daemon=True).start()
            except RuntimeError:
                self._slots.release()
                if first:
                    raise
                return

    def _work(
        self,
        todo: "SimpleQueue[tuple[int, Callable[[], Result]]]",
        done: "SimpleQueue[tuple[int, Result] | Exception]",
        over: Event,
    ) -> None:
        try:
            while not over.is_set():
                position, task = todo.get_nowait()
                done.put((position, task()))
        except Empty:
            return
        except Exception as error:
            done.put(error)
        finally:
            self._slots.release()
