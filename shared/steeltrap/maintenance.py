"""The one door for operators: what is done to everyone's memories, or to the whole search index.

Surfaces decide when it runs, how long it may take, and how they report it. It is handed what it needs, and knows no
adapter. No tool calls it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final, Protocol

from .engine.call import Call
from .engine.entry import anew
from .engine.upkeep import reindex as reindexing
from .engine.upkeep import sweep as sweeping
from .engine.upkeep import sweep_index as index_sweeping
from .engine.upkeep import verify as verifying
from .engine.upkeep.reindex import Reindexed
from .engine.upkeep.verify import Difference, Kind
from .errors import SteeltrapError
from .model import Caller, Memory, UserRef, to_micros
from .ports import Clock, Entry, FileStore, IndexUpkeep, MemoryStore, Truth

USER_SECONDS: Final = 600.0
"""How long one user's sweep, or one block of memories to embed, may take unless the caller says otherwise."""
EMBED_SECONDS: Final = 86_400.0
"""How long embedding all memories of one user may take."""
LEAST_SECONDS: Final = 5.0
"""With less time than this nobody's sweep is begun."""


class CallFor(Protocol):
    """Makes the call of one user. The door's own does."""

    def __call__(self, caller: Caller, *, seconds: float) -> Call: ...


Report = Callable[[UserRef | None, SteeltrapError], None]
"""Is told of each failure: whose it is, None for the list of users itself, and what went wrong."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One run over everyone. Its counts are right at any time, also after the run was interrupted.

    `report` is told of each failure; one user's failure never holds up the others.
    """

    store: MemoryStore
    call_for: CallFor
    report: Report
    users: int = 0
    """Users who are done."""
    memories: int = 0
    """Memories that were purged or embedded."""
    already: int = 0
    """Users whose vectors were made by this embedder before."""
    left: int = 0
    """Users for whom no time was left."""
    failed: int = 0
    """Failures: one per user, and one when the list of users could not be read to its end."""

    def everyone(self) -> list[UserRef]:
        """Every user whom the store can read."""
        found: list[UserRef] = []
        try:
            found.extend(self.store.users())
        except SteeltrapError as error:
            self._fail(None, error)
        return found

    def sweep(self, users: Sequence[UserRef], *, seconds_left: Callable[[], float] = lambda: USER_SECONDS) -> None:
        """Purge what is gone for good, close idle conversations, and complete what was saved without the index.

        `seconds_left` is asked before each user; the sweep of that user may take as long. Under `LEAST_SECONDS` the
        run ends, and the other users are left for the next one.
        """
        for at, user in enumerate(users):
            seconds = seconds_left()
            if seconds < LEAST_SECONDS:
                self.left = len(users) - at
                return
            try:
                self.memories += sweeping.sweep(self._call(user, seconds))
                self.users += 1
            except SteeltrapError as error:
                self._fail(user, error)

    def reembed(
        self, users: Sequence[UserRef], *, again: bool = False, advance: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        """Embed every memory of these users with the embedder of today; a user's vectors change once all are made.

        Users whose vectors this embedder made already are left alone, unless `again`. `advance` is told how many users
        are finished and how many memories are embedded.
        """
        for at, user in enumerate(users):
            if not again and self._is_embedded(user):
                self.already += 1
            else:
                self._reembed(user, partial(advance, at))
            advance(at + 1, self.memories)

    def _reembed(self, user: UserRef, advance: Callable[[int], None]) -> None:
        made = 0

        def entries(memories: Sequence[Memory]) -> list[Entry]:
            nonlocal made
            found = anew(self._call(user), memories)  # a call per block: each has its own time
            made += len(memories)
            advance(self.memories + made)
            return found

        try:
            self.memories += self._call(user, EMBED_SECONDS).space.reembed(entries)
            self.users += 1
        except SteeltrapError as error:
            self._fail(user, error)

    def _is_embedded(self, user: UserRef) -> bool:
        """Whether this embedder made all of a user's vectors, as far as can be told."""
        try:
            return self._call(user).space.is_embedded()
        except SteeltrapError:
            return False  # it comes back when they are embedded

    def _call(self, user: UserRef, seconds: float = USER_SECONDS) -> Call:
        return self.call_for(Caller(user), seconds=seconds)

    def _fail(self, whose: UserRef | None, error: SteeltrapError) -> None:
        self.failed += 1
        self.report(whose, error)


def forget_user(user: UserRef, store: MemoryStore, files: FileStore | None) -> bool:
    """Erase everything of a user, exported files too. False when there was nothing. Raises Unavailable."""
    there = store.forget_user(user)
    if files is not None:
        there = files.forget_user(user) or there
    return there


def sweep_index(truth: Truth, index: IndexUpkeep, clock: Clock) -> int:
    """Remove tombstones that are older than any replay; how many were removed. Raises Unavailable, Throttled."""
    return index_sweeping.sweep_index(truth, index, clock.now())


def rebuild_index(
    truth: Truth,
    index: IndexUpkeep,
    *,
    accept_refused: bool = False,
    advance: Callable[[int], None] = lambda written: None,
    seconds_left: Callable[[], float] = lambda: inf,
    pause: Callable[[float], None] = time.sleep,
) -> Reindexed:
    """Build a new search index beside the one in use, then switch. Call it again to go on where it stopped.

    `seconds_left` is asked after each block of documents; below zero the rebuild stops, and its answer is `cut_short`.
    When the new index refuses documents for good, the old one stays unless `accept_refused`. Raises Unavailable,
    Throttled.
    """
    return reindexing.reindex(
        truth,
        index,
        accept_refused=accept_refused,
        advance=advance,
        may_go_on=lambda: seconds_left() >= 0,
        pause=pause,
    )


def mend_index(truth: Truth, index: IndexUpkeep, user: UserRef) -> Reindexed:
    """Write one user's memories to the index in use, and remove what the store doesn't have.

    Raises Unavailable, Throttled.
    """
    return reindexing.mend(truth, index, user.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How the search index differs from the store, and how many of its documents belong to nobody."""

    differences: list[Difference]
    strays: int

    @property
    def counts(self) -> dict[Kind, int]:
        """How many differences there are of each kind."""
        return dict(verifying.counted(self.differences))


def verify_index(
    truth: Truth,
    index: IndexUpkeep,
    clock: Clock,
    *,
    user: UserRef | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Verified:
    """Compare the search index with the store, for everyone or for one user. Strays are counted for everyone only.

    Raises Unavailable, Throttled.
    """
    before = to_micros(clock.now())
    users = truth.users() if user is None else iter([user])
    differences = list(verifying.verify(truth, index, users, pause=pause))
    strays = verifying.count_strays(truth, index, before=before) if user is None else 0
    return Verified(differences=differences, strays=strays)
