"""AWS Lambda that looks after the store: sweep and migration of everyone's memories, and the search index itself.

The sweep runs on a schedule, as long as it may. The migration is the last step of a deployment. The index is made,
rebuilt, and rid of old tombstones; beside the indexer no other function writes to it.
"""

import json
import logging
import random
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from ... import maintenance
from ...errors import InvalidInput, MovedAway, SteeltrapError, Unavailable
from ...invoke import Door
from ...maintenance import Run
from ...model import JsonObject, UserRef
from ...runtime import SystemClock
from ...runtime.local import open_upkeep
from ...settings import read_settings
from ...telemetry import log_fault
from .telemetry import Telemetry, instrumented, reporting
from .tools import Open, before_snapshot, loaded_door, opened_door, time_left

if TYPE_CHECKING:
    from ...runtime.aws import Upkeep


_log = logging.getLogger("steeltrap")


def maintenance_handler(
    *,
    open: Open = opened_door,
    shuffle: Callable[[list[Any]], None] = random.shuffle,
    telemetry: Telemetry | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Callable[[Any, Any], JsonObject]:
    """The Lambda handler of a schedule, whatever the event says, and of CloudFormation's request to migrate.

    A sweep answers how many `users` were swept, how many `memories` went, how many users are `left` for the next time,
    and how many were `moved`: passed over, because their memories were moved elsewhere or their move was cut short.
    Raises Unavailable after all else when somebody's sweep failed, so that it counts as an error.
    """
    read_settings()
    if open is opened_door:
        before_snapshot(loaded_door)

    reports = reporting(telemetry, is_own=open is opened_door)

    def handler(event: Any, context: Any) -> JsonObject:
        ends = time.monotonic() + time_left(context)
        if isinstance(event, dict) and "RequestType" in event:
            return _answer_stack(event, _TABLES, lambda: _migrate(event, open(), ends, pause))
        door = open()
        run = Run(store=door.store, call_for=door.call_for, report=_log_failure)
        # Where time runs out, it is not always the same users who are left.
        run.sweep_due(seconds_left=lambda: ends - time.monotonic(), shuffle=shuffle)
        if reports is not None:
            reports().count(users_swept=run.users, users_left=run.left)
        if run.failed:
            tried = run.users + run.failed
            raise Unavailable(f"{run.failed} of {tried} users could not be swept; the log says why.", part="store")
        return {
            "users": run.users,
            "memories": run.memories,
            "left": run.left,
            "moved": run.moved,
            "failed": run.failed,
        }

    return instrumented(handler, reports)


def _migrate(event: JsonObject, door: Door, ends: float, pause: Callable[[float], None]) -> JsonObject:
    """Bring everyone's memories to the tables of this release, once no function of the last one answers a call.

    Who fails or is not reached in time is logged and fails no deployment: it would go back to a release that can't
    read what is migrated, and this one reads both.
    """
    run = Run(store=door.store, call_for=door.call_for, report=_log_failure)
    users = [] if event["RequestType"] == "Delete" else run.everyone()
    if users:
        pause(float(event["ResourceProperties"]["LongestCall"]))
        run.migrate(users, seconds_left=lambda: ends - time.monotonic())
    if run.left or run.failed:
        _log.error("%s users are left with earlier tables: run `steeltrap admin migrate`", run.left + run.failed)
    return {"Migrated": str(run.users), "Left": str(run.left + run.failed)}


def _log_failure(user: UserRef | None, error: SteeltrapError) -> None:
    # The log carries a user's key, which is a digest, and never the id.
    if user is not None and isinstance(error, MovedAway):
        _log.warning("the upkeep of %s was passed over: %s", user.key, error.message)
        return
    _log.error("the upkeep of %s failed: %s", "the list of users" if user is None else user.key, error.message)


_ANSWER_SECONDS: Final = 10
_PAUSE_SECONDS: Final = 15.0
_INDEX: Final = "steeltrap-search-index"
_TABLES: Final = "steeltrap-tables"
"""Names of what CloudFormation asks for. Under another name, it would delete the one before."""


def opened_upkeep() -> "Upkeep":
    """Table and index by the function's environment."""
    return open_upkeep(read_settings())


def index_handler(
    *,
    open: Callable[[], "Upkeep"] = opened_upkeep,
    telemetry: Telemetry | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Callable[[Any, Any], JsonObject]:
    """The Lambda handler of the index.

    CloudFormation's custom resource makes the index where there is none. `{"rebuild": true}` rebuilds it from the
    table, and answers `switched: false` while there is more to do: call again. A schedule takes old tombstones out.
    """
    read_settings()

    def handler(event: Any, context: Any) -> JsonObject:
        if isinstance(event, dict) and "RequestType" in event:
            ends = time.monotonic() + time_left(context)
            return _answer_stack(event, _INDEX, lambda: _make(event, open, ends, pause))
        if isinstance(event, dict) and event.get("rebuild") is True:
            return _rebuild(open, time.monotonic() + time_left(context), bool(event.get("accept_refused")))
        if isinstance(event, dict) and event.get("source") == "aws.events":
            return _sweep(open)
        raise InvalidInput('This function takes a schedule, CloudFormation\'s requests, and {"rebuild": true}.')

    return instrumented(handler, reporting(telemetry, is_own=open is opened_upkeep))


def _rebuild(open: Callable[[], "Upkeep"], ends: float, accept_refused: bool) -> JsonObject:
    with closing(open()) as upkeep:
        reindexed = maintenance.rebuild_index(
            upkeep.truth, upkeep.index, accept_refused=accept_refused, seconds_left=lambda: ends - time.monotonic()
        )
    if reindexed.cut_short:
        return {"written": reindexed.written, "switched": False}
    return {
        "written": reindexed.written,
        "refused": reindexed.refused,
        "why": reindexed.why,
        "switched": reindexed.switched,
    }


def _sweep(open: Callable[[], "Upkeep"]) -> JsonObject:
    with closing(open()) as upkeep:
        return {"tombstones": maintenance.sweep_index(upkeep.truth, upkeep.index, SystemClock())}


def _answer_stack(event: JsonObject, name: str, work: Callable[[], JsonObject]) -> JsonObject:
    """Tell CloudFormation how it went; one that hears nothing waits for an hour."""
    try:
        response: JsonObject = {"Status": "SUCCESS", "Data": work()}
    except Exception as fault:
        log_fault(f"a step of a deployment ({name})", fault)
        reason = fault.message if isinstance(fault, SteeltrapError) else "The function's log says why."
        response = {"Status": "FAILED", "Reason": reason}
    response |= {
        "PhysicalResourceId": name,
        **{name: event.get(name) for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    if not str(event["ResponseURL"]).startswith(("https://", "http://")):
        raise InvalidInput("`ResponseURL` must be an HTTP or HTTPS URL.")
    # The address is signed for a body without a type.
    request = urllib.request.Request(
        event["ResponseURL"], json.dumps(response).encode(), {"Content-Type": ""}, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):
        return response


def _make(event: JsonObject, open: Callable[[], "Upkeep"], ends: float, pause: Callable[[float], None]) -> JsonObject:
    """Make the index where there is none, tried again as long as that may help.

    A new domain or collection refuses for a while roles that are as new.
    """
    while event["RequestType"] != "Delete":
        try:
            with closing(open()) as upkeep:
                return {"Made": str(upkeep.index.create()).lower()}
        except SteeltrapError as error:
            if not error.can_retry or time.monotonic() + _PAUSE_SECONDS > ends:
                raise
            _log.info("the search index is not ready: %s", error.message)
        pause(_PAUSE_SECONDS)
    return {"Made": "false"}
