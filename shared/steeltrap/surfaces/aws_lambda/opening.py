"""What every function does around a call: open the door once an instance, find its tool, write down what was read."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from ... import telemetry
from ...errors import Internal, NotFound, Unavailable
from ...invoke import Door
from ...runtime.local import load, open_door
from ...settings import read_settings
from ...tools import Catalogue, Tool
from ..http.reply import FAULT
from .telemetry import function_telemetry

_MARGIN_SECONDS: Final = 2.0
_SECONDS: Final = 25.0

Open = Callable[[], Door]


@cache
def opened_door() -> Door:
    """The door by the function's environment, opened at the first call of an instance."""
    return open_door(read_settings(), observe=function_telemetry().observe)


def loaded_door() -> Door:
    """The door with all that its first call would wait for."""
    door = opened_door()
    load(door)
    return door


def before_snapshot(load: Callable[[], object]) -> None:
    """Run `load` before a snapshot of the function is taken (SnapStart), so that every start from it has the result.

    What must differ between starts is drawn anew after each: chance, which pauses are made of. Ids come from the
    machine, and connections are made at the first call. In a function without SnapStart nothing is run.
    """
    try:
        from snapshot_restore_py import register_after_restore, register_before_snapshot
    except ImportError:
        return  # Lambda's own runtime brings it
    register_before_snapshot(load)
    register_after_restore(random.seed)


def open_safely(open: Open) -> Door:
    """The door. A setting that doesn't fit is our fault, not the caller's: Raises Internal, or Unavailable."""
    try:
        return open()
    except Unavailable:
        raise
    except Exception as fault:
        telemetry.log_fault("opening the door", fault)
        raise Internal(FAULT) from None


def served(catalogue: Catalogue, tool: Tool, operation: str) -> Tool:
    """The tool, if it is of this operation. Raises NotFound."""
    if tool.operation != operation:
        here = ", ".join(other.full_name for other in catalogue.tools() if other.operation == operation)
        raise NotFound(f"`{tool.full_name}` is not served here; this function serves: {here}.")
    return tool


def write_down(door: Door) -> None:
    """Flush what this call read, before the function sleeps and may never wake. It never fails an answer."""
    try:
        door.store.flush(just_read=True)
    except Exception as fault:
        telemetry.log_fault("writing down what was read", fault)


def time_left(context: Any) -> float:
    """Seconds that a function may go on, with a margin for its answer."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    return _SECONDS if left is None else max(1.0, left() / 1000 - _MARGIN_SECONDS)
