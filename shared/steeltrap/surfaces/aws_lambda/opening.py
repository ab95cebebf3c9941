"""The steps of every function around a call: open the door once per instance, find the tool, flush usage."""

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC
from functools import cache
from typing import Any, Final

from ... import telemetry
from ...errors import Internal, NotFound, Unavailable
from ...invoke import Door
from ...model import UserRef
from ...ports import Deadline
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
    """The door for the settings in the function's environment; opened once per instance.

    An instance is frozen after its answer, so the maintenance function closes conversations.
    """
    door = open_door(read_settings(), observe=function_telemetry().observe)
    # A function's machine is nobody's: unless a setting or the caller says otherwise, days are those of UTC.
    rules = replace(door.rules, zone=door.rules.zone or UTC)
    return replace(door, rules=rules, background=_Elsewhere())


class _Elsewhere:
    """Leaves closing to the maintenance function, or to the next retrieval."""

    def appended(self, user: UserRef, conversation_id: str) -> None:
        """Nothing to note."""

    def settle(self, user: UserRef, deadline: Deadline) -> bool:
        return False


def loaded_door() -> Door:
    """The door, with everything loaded that its first call would wait for."""
    door = opened_door()
    load(door)
    return door


def before_snapshot(load: Callable[[], object]) -> None:
    """Run `load` before a snapshot of the function is taken (SnapStart), so that every start from it has the result.

    The random generator is seeded again after each restore, so that instances don't pause in step. Ids come from the
    operating system, and connections are made at the first call. Without SnapStart, this does nothing.
    """
    try:
        from snapshot_restore_py import register_after_restore, register_before_snapshot
    except ImportError:
        return  # Lambda's own runtime brings it
    register_before_snapshot(load)
    register_after_restore(random.seed)


def open_safely(open: Open) -> Door:
    """Open the door. An invalid setting is the operator's fault, not the caller's: raises Internal, or Unavailable."""
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


def flush_usage(door: Door) -> None:
    """Flush usage counts before the instance is frozen and may never resume. A failure doesn't fail the answer."""
    try:
        door.store.flush(just_read=True)
    except Exception as fault:
        telemetry.log_fault("flushing usage", fault)


def time_left(context: Any) -> float:
    """Seconds that the function may still run, less a margin for the answer."""
    left = getattr(context, "get_remaining_time_in_millis", None)
    return _SECONDS if left is None else max(1.0, left() / 1000 - _MARGIN_SECONDS)
