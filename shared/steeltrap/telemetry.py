"""Measurements of a call: the tool, the result, the time of each stage; never a memory's text."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

_log = logging.getLogger("steeltrap")

REQUEST: ContextVar[str | None] = ContextVar("REQUEST", default=None)
"""The id of the request that is being answered, for the log."""

Stage = Literal["embed", "legs", "rank", "hydrate", "look_around", "write"]
"""In this order: embedding texts, both legs of a search, ranking, reading the results, the look-around of a save,
writing."""


@dataclass(slots=True, kw_only=True)
class Measure:
    """One call: an error's code, a search's outcome and number of `hits` (None where there is none), times in
    milliseconds, the answer, and how many secrets of each kind were replaced."""

    tool: str = ""
    milliseconds: float = 0.0
    error: str | None = None
    outcome: str | None = None
    hits: int | None = None
    answer: object = None
    redacted: dict[str, int] = field(default_factory=dict)
    stages: dict[Stage, float] = field(default_factory=dict)

    @property
    def answer_bytes(self) -> int | None:
        """How many bytes of JSON or text the answer has, which a model reads; None for a call without one. Counted when
        somebody asks."""
        return None if self.answer is None else bytes_of(self.answer)

    def stage(self, name: Stage) -> "_Timed":
        """Count the time of the block, failed or not, to a stage."""
        return _Timed(self.stages, name)


class _Timed:
    """Adds the milliseconds of its block to a stage."""

    __slots__ = ("_began", "_name", "_stages")

    def __init__(self, stages: dict[Stage, float], name: Stage) -> None:
        self._stages = stages
        self._name = name

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *failure: object) -> None:
        self._stages[self._name] = self._stages.get(self._name, 0.0) + _milliseconds(self._began)


def bytes_of(body: object) -> int:
    """How many bytes a tool's answer has: text, or JSON without spaces."""
    if isinstance(body, str):
        return len(body.encode("utf-8", "surrogatepass"))
    from pydantic_core import to_json  # a program that calls no tool, such as a hook, needs nothing of pydantic

    return len(to_json(body))


Observe = Callable[[Measure], None]


def log_call(measure: Measure) -> None:
    """One line in the log, with what a line of JSON says of the call."""
    if not _log.isEnabledFor(logging.INFO):
        return
    ended, outcome = measure.error or "ok", measure.outcome or ""
    fields: dict[str, object] = {"tool": measure.tool, "code": ended, "ms": round(measure.milliseconds, 1)}
    if outcome:
        fields["outcome"] = outcome
    if measure.redacted:
        fields["redacted"] = measure.redacted
    replaced = "".join(f" {kind}={count}" for kind, count in sorted(measure.redacted.items()))
    values = (measure.tool, ended, measure.milliseconds, outcome, replaced)
    _log.info("%s %s %.1f ms %s%s", *values, extra={"fields": fields})


@contextmanager
def measured(tool: str, observe: Observe) -> Iterator[Measure]:
    """Call an observer when the call ends. If the observer fails, the answer is still sent."""
    measure = Measure(tool=tool)
    began = time.perf_counter()
    try:
        yield measure
    finally:
        measure.milliseconds = _milliseconds(began)
        try:
            observe(measure)
        except Exception as fault:
            log_fault("observing a call", fault)


def log_fault(where: str, fault: BaseException) -> None:
    """Log an unexpected error with its traceback, which clients never see."""
    _log.error("%s failed", where, exc_info=fault)


def _milliseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1000
