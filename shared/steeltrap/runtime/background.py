"""Work in background threads of a server: closing idle conversations, analysing memories of earlier releases again."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Condition, Event, Thread
from typing import Final

from .. import telemetry
from ..engine.conversations import close_idle_conversations
from ..errors import MovedAway, SteeltrapError
from ..invoke import Door
from ..maintenance import USER_SECONDS, Run
from ..model import Caller, UserRef, later
from ..ports import Clock, Deadline
from ..text.segmentation import PAUSE

_QUIET: Final = timedelta(seconds=10)
"""A conversation is looked at when nothing was added for so long: once for many messages, not once for each."""
_CLOSING_SECONDS: Final = 20.0
"""Time limit of one closing."""
_STOP_SECONDS: Final = 5.0
_log = logging.getLogger("steeltrap")

_Conversation = tuple[UserRef, str]


@contextmanager
def closing_in_background(door: Door) -> Iterator[Door]:
    """The same door, whose appends don't wait for episodes. At the end, the episode that is being made is finished."""
    closer = Closer(door, door.clock)
    try:
        yield replace(door, background=closer)
    finally:
        closer.stop()


class Closer:
    """A thread that looks at a conversation 10 seconds and 15 minutes after the last append to it.

    It starts with the first append. What waits when it stops is made at the next append, retrieval or sweep.
    """

    def __init__(self, door: Door, clock: Clock) -> None:
        self._door = door
        self._clock = clock
        self._changed = Condition()
        self._waiting: dict[_Conversation, None] = {}
        self._quiet_at: dict[_Conversation, datetime] = {}
        self._idle_at: dict[_Conversation, datetime] = {}
        """When each is to be looked at, the earliest first."""
        self._now_closing: UserRef | None = None
        self._thread: Thread | None = None
        self._stopped = False

    def appended(self, user: UserRef, conversation_id: str) -> None:
        conversation = user, conversation_id
        with self._changed:
            if self._stopped:
                return
            for times, pause in ((self._quiet_at, _QUIET), (self._idle_at, PAUSE)):
                times.pop(conversation, None)
                times[conversation] = later(self._clock.now(), pause)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="steeltrap-closing", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait_for_episodes(self, user: UserRef, deadline: Deadline) -> bool:
        with self._changed:
            for conversation in [c for c in self._quiet_at if c[0] == user]:
                del self._quiet_at[conversation]
                self._waiting[conversation] = None
            self._queue()
            self._changed.notify_all()
            return self._changed.wait_for(
                lambda: self._stopped or self._is_settled(user), max(0.0, _seconds_left(deadline))
            )

    def stop(self) -> None:
        """Finish the closing that is under way, and end the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while (conversation := self._next()) is not None:
            try:
                call = self._door.call_for(Caller(conversation[0]), seconds=_CLOSING_SECONDS)
                close_idle_conversations(call, conversation[1])
            except SteeltrapError as error:
                _log.warning("an episode was not made (%s), it will be next time", error.code)
            except Exception as fault:
                telemetry.log_fault("making an episode", fault)

    def _next(self) -> _Conversation | None:
        """Wait for the next conversation to look at; None at the end."""
        with self._changed:
            self._now_closing = None
            self._changed.notify_all()
            while not self._stopped:
                self._queue()
                if self._waiting:
                    conversation = next(iter(self._waiting))
                    del self._waiting[conversation]
                    self._now_closing = conversation[0]
                    return conversation
                self._changed.wait(self._pause())
            return None

    def _queue(self) -> None:
        """Queue the conversations whose time has come."""
        now = self._clock.now()
        for times in (self._quiet_at, self._idle_at):
            for conversation in [c for c, at in times.items() if at <= now]:
                del times[conversation]
                self._waiting[conversation] = None

    def _pause(self) -> float | None:
        """Seconds until the time of a conversation comes."""
        first = [next(iter(times.values())) for times in (self._quiet_at, self._idle_at) if times]
        return (min(first) - self._clock.now()).total_seconds() if first else None

    def _is_settled(self, user: UserRef) -> bool:
        return self._now_closing != user and all(user != waiting for waiting, _ in self._waiting)


def _seconds_left(deadline: Deadline) -> float:
    try:
        return deadline.left() / 2
    except SteeltrapError:
        return 0.0


_RUN_SECONDS: Final = 3600.0
"""Time limit of one run over all users. Whom it leaves, the next start or sweep reaches."""
_PAUSE_SECONDS: Final = 0.02
"""After each block and each user, so that calls don't wait for the interpreter."""
_ROUNDS: Final = 10
"""So often a user is tried whose file asks to be tried again: the words of a large one are made from call to call."""


@contextmanager
def reanalysing_in_background(door: Door, users: Sequence[UserRef] | None = None) -> Iterator[None]:
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

    def report(user: UserRef | None, error: SteeltrapError) -> None:
        if not isinstance(error, MovedAway):
            failures.append((user, error))

    run = Run(store=door.store, call_for=door.call_for, report=report)
    ends = door.clock.monotonic() + _RUN_SECONDS
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
    if run.moved:
        _log.info("%d users were not analysed again: they were moved elsewhere, or are being moved", run.moved)
    if failures and not stopped.is_set():
        _log.warning("for %d users, analysing memories again failed (%s)", len(failures), failures[0][1].code)
