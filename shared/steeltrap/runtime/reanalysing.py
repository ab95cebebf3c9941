"""Analyses memories of earlier releases again with today's analysis, in a background thread of a server."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Event, Thread
from typing import Final

from .. import telemetry
from ..errors import SteeltrapError
from ..invoke import Door
from ..maintenance import USER_SECONDS, Run
from ..model import UserRef

_SECONDS: Final = 3600.0
"""Time limit of one run over all users. Whom it leaves, the next start or sweep reaches."""
_PAUSE_SECONDS: Final = 0.02
"""After each block and each user, so that calls don't wait for the interpreter."""
_ROUNDS: Final = 10
"""So often a user is tried whose file asks to be tried again: the words of a large one are made from call to call."""
_STOP_SECONDS: Final = 5.0
_log = logging.getLogger("steeltrap")


@contextmanager
def reanalysing_behind(door: Door, users: Sequence[UserRef] | None = None) -> Iterator[None]:
    """One run over these users, or over everyone in the store, while the block lasts. At its end, the run ends after
    the block of memories that is under way.

    Until a user's turn has come, searches answer: texts that are read differently now are found by what was kept of
    them before.
    """
    stopped = Event()
    thread = Thread(target=_reanalyse, args=(door, users, stopped), name="steeltrap-reanalysing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(_STOP_SECONDS)


def _passing(door: Door, user: UserRef) -> AbstractContextManager[None]:
    """Nobody's file stays open for having been looked at."""
    from ..stores.sqlite import SqliteStore

    return door.store.in_passing(user) if isinstance(door.store, SqliteStore) else nullcontext()


def _reanalyse(door: Door, users: Sequence[UserRef] | None, stopped: Event) -> None:
    failures: list[tuple[UserRef | None, SteeltrapError]] = []
    run = Run(store=door.store, call_for=door.call_for, report=lambda user, error: failures.append((user, error)))
    ends = door.clock.monotonic() + _SECONDS
    try:
        remaining_users = run.everyone() if users is None else users
        unlisted = len(failures)
        for _ in range(_ROUNDS):
            del failures[unlisted:]
            for user in remaining_users:
                if stopped.is_set():
                    break
                with _passing(door, user):
                    run.reanalyse(
                        [user],
                        seconds_left=lambda: min(USER_SECONDS, ends - door.clock.monotonic()),
                        may_go_on=lambda: not stopped.wait(_PAUSE_SECONDS),
                    )
            remaining_users = [user for user, error in failures if user is not None and error.can_retry]
            if not remaining_users or stopped.is_set():
                break
    except Exception as fault:
        telemetry.log_fault("analysing memories again", fault)
    if run.memories:
        _log.info("%d memories were analysed again after the upgrade", run.memories)
    if failures and not stopped.is_set():
        _log.warning("for %d users, analysing memories again failed (%s)", len(failures), failures[0][1].code)
