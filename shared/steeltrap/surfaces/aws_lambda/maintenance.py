"""AWS Lambda on a schedule: sweeps everyone's memories, as long as it may run."""

import logging
import random
import time
from collections.abc import Callable
from typing import Any

from ...errors import SteeltrapError, Unavailable
from ...maintenance import Run
from ...model import UserRef
from ...settings import read_settings
from .opening import Open, before_snapshot, loaded_door, opened_door, time_left
from .telemetry import Telemetry, instrumented, reporting

_log = logging.getLogger("steeltrap")


def maintenance_handler(
    *,
    open: Open = opened_door,
    shuffle: Callable[[list[Any]], None] = random.shuffle,
    telemetry: Telemetry | None = None,
) -> Callable[[Any, Any], dict[str, int]]:
    """The Lambda handler of a schedule, whatever the event says.

    Answers how many `users` were swept, how many `memories` went, and how many users are `left` for the next time.
    Raises Unavailable behind all else when somebody's sweep failed, so that it counts as an error.
    """
    read_settings()
    if open is opened_door:
        before_snapshot(loaded_door)

    reports = reporting(telemetry, is_own=open is opened_door)

    def handler(event: Any, context: Any) -> dict[str, int]:
        ends = time.monotonic() + time_left(context)
        door = open()
        run = Run(store=door.store, call_for=door.call_for, report=_log_failure)
        users = run.everyone()
        shuffle(users)  # where time runs out, it is not always the same users who are left
        run.sweep(users, seconds_left=lambda: ends - time.monotonic())
        if reports is not None:
            reports().count(users_swept=run.users, users_left=run.left)
        if run.failed:
            raise Unavailable(f"{run.failed} of {len(users)} users could not be swept; the log says why.", part="store")
        return {"users": run.users, "memories": run.memories, "left": run.left, "failed": run.failed}

    return instrumented(handler, reports)


def _log_failure(whose: UserRef | None, error: SteeltrapError) -> None:
    # The log carries a user's key, which is a digest, and never the id.
    _log.error("the sweep of %s failed: %s", "the list of users" if whose is None else whose.key, error.message)
