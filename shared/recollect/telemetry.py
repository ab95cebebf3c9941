"""Logs of calls: what was called, how it ended, how long it took; never a memory's text."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_log = logging.getLogger("recollect")


@dataclass(slots=True)
class Measure:
    """How a call ended: an error's code and a search's outcome, None where there is none."""

    error: str | None = None
    outcome: str | None = None


@contextmanager
def measured(tool: str) -> Iterator[Measure]:
    """Log one line when the call ends, with its duration in milliseconds."""
    measure = Measure()
    began = time.perf_counter()
    try:
        yield measure
    finally:
        if _log.isEnabledFor(logging.INFO):
            milliseconds = (time.perf_counter() - began) * 1000
            _log.info("%s %s %.1f ms %s", tool, measure.error or "ok", milliseconds, measure.outcome or "")


def log_fault(where: str, fault: BaseException) -> None:
    """Log a fault of ours with its traceback, which no client ever sees."""
    _log.error("%s failed", where, exc_info=fault)
