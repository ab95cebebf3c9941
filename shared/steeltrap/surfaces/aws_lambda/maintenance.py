"""AWS Lambda on a schedule: sweeps everyone's memories, as long as it may run."""

import logging
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from ...engine.upkeep.sweep import sweep
from ...errors import SteeltrapError, Unavailable
from ...invoke import Door
from ...model import Caller
from ...ports import UserRef
from ...settings import read_settings
from .opening import Open, before_snapshot, loaded_door, opened_door, time_left
from .telemetry import Telling, teller, told

_log = logging.getLogger("steeltrap")

_LEAST_SECONDS: Final = 5.0
"""With less time than this nobody's sweep is begun."""


def maintenance_handler(
    *,
    open: Open = opened_door,
    shuffle: Callable[[list[Any]], None] = random.shuffle,
    telling: Telling | None = None,
) -> Callable[[Any, Any], dict[str, int]]:
    """The Lambda handler of a schedule, whatever the event says.

    Answers how many `users` were swept, how many `memories` went, and how many users are `left` for the next time.
    Raises Unavailable behind all else when somebody's sweep failed, so that it counts as an error.
    """
    read_settings()
    if open is opened_door:
        before_snapshot(loaded_door)

    tells = teller(telling, is_own=open is opened_door)

    def handler(event: Any, context: Any) -> dict[str, int]:
        ends = time.monotonic() + time_left(context)
        door = open()
        done = {"users": 0, "memories": 0, "left": 0, "failed": 0}
        users = list(_users(door, done))
        shuffle(users)  # where time runs out, it is not always the same users who are left
        for at, user in enumerate(users):
            left = ends - time.monotonic()
            if left < _LEAST_SECONDS:
                done["left"] = len(users) - at
                break
            _sweep(door, user, left, done)
        if tells is not None:
            tells().count(users_swept=done["users"], users_left=done["left"])
        if done["failed"]:
            raise Unavailable(
                f"{done['failed']} of {len(users)} users could not be swept; the log says why.", part="store"
            )
        return done

    return told(handler, tells)


def _users(door: Door, done: dict[str, int]) -> Iterator[UserRef]:
    try:
        yield from door.store.users()
    except SteeltrapError as error:
        _failed("the list of users", error, done)


def _sweep(door: Door, user: UserRef, seconds: float, done: dict[str, int]) -> None:
    try:
        done["memories"] += sweep(door.call_for(Caller(user.user_id, tenant=user.tenant), seconds=seconds))
        done["users"] += 1
    except SteeltrapError as error:
        _failed(user.key, error, done)


def _failed(whose: str, error: SteeltrapError, done: dict[str, int]) -> None:
    done["failed"] += 1
    _log.error("the sweep of %s failed: %s", whose, error.message)
