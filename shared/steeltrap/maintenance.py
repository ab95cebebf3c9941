"""The entry point for operators: work on all users' memories, or on the whole search index.

Surfaces decide when it runs, how long it may take, and how to report it. It is given the store and the index, and
knows no adapter. No tool calls it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from .engine import upkeep
from .engine.call import Call
from .engine.saving import reembedded_entries
from .engine.upkeep import Difference, Kind, Reindexed
from .errors import MovedAway, SteeltrapError
from .model import Caller, Memory, UserRef, to_micros
from .model.frozen import frozen
from .ports import Clock, Entry, FileStore, IndexUpkeep, MemoryStore, Migrates, SweepsDue, Truth

USER_SECONDS: Final = 600.0
"""Default time limit for the sweep of one user, or for embedding one block of memories."""
EMBED_SECONDS: Final = 86_400.0
"""Time limit for embedding all memories of one user."""
LEAST_SECONDS: Final = 5.0
"""No user's sweep is started with less time than this."""


class CallFor(Protocol):
    """Makes the call of one user, as `Door.call_for` does."""

    def __call__(self, caller: Caller, *, seconds: float) -> Call: ...


Report = Callable[[UserRef | None, SteeltrapError], None]
"""Called for each failure, with the user and the error; None means that listing the users failed. A run that
passes over users who are moved calls it with MovedAway for each of them."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One run over all users. Its counts are correct at any time, also after an interruption.

    `report` is called for each failure, and for each user who is passed over. A failure of one user never stops the
    others.
    """

    store: MemoryStore
    call_for: CallFor
    report: Report
    users: int = 0
    """Users that are finished."""
    memories: int = 0
    """Memories that were purged, embedded, or analysed again."""
    already: int = 0
    """Users whose vectors were made by this embedder, or who had the tables of this release, before."""
    left: int = 0
    """Users that were not reached in time."""
    moved: int = 0
    """Users who were passed over: they were moved elsewhere meanwhile, or their move is going on or was cut short."""
    failed: int = 0
    """Failures: one per user, and one when the list of users could not be read to its end."""

    def everyone(self) -> list[UserRef]:
        """Every user whom the store can read."""
        users: list[UserRef] = []
        try:
            users.extend(self.store.users())
        except SteeltrapError as error:
            self._fail(None, error)
        return users

    def sweep(self, users: Sequence[UserRef], *, seconds_left: Callable[[], float] = lambda: USER_SECONDS) -> None:
        """Purge expired and old deleted memories, close idle conversations, complete memories saved without the index.

        `seconds_left` is called before each user and limits the sweep of that user. Below `LEAST_SECONDS` the run
        ends, and the remaining users are left for the next run.
        """

        def sweep(user: UserRef, call: Call) -> bool:
            self.memories += upkeep.sweep(call)
            if isinstance(self.store, SweepsDue):
                self.store.note_sweep(user, call.deadline)
            return True

        self._each(users, sweep, seconds_left)

    def sweep_due(
        self,
        *,
        seconds_left: Callable[[], float] = lambda: USER_SECONDS,
        shuffle: Callable[[list[UserRef]], None] = lambda users: None,
    ) -> None:
        """Sweep everyone, in the order that `shuffle` gives; where the store knows who has work due, only those.

        Such a store's users are read page by page, and each page is shuffled, so that one user who takes all the time
        does not always keep the same others from being swept. `left` counts those of one page: at least as many were
        not reached.
        """
        if not isinstance(self.store, SweepsDue):
            users = self.everyone()
            shuffle(users)
            self.sweep(users, seconds_left=seconds_left)
            return
        try:
            for page in self.store.due():
                shuffle(page)
                self.sweep(page, seconds_left=seconds_left)
                if self.left:
                    return
        except SteeltrapError as error:
            self._fail(None, error)

    def reanalyse(
        self,
        users: Sequence[UserRef],
        *,
        seconds_left: Callable[[], float] = lambda: USER_SECONDS,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Bring what these users' memories are found by to today's analysis, as `sweep` does, and nothing else.

        `seconds_left` is as for `sweep`. `may_go_on` is called after each block of memories and each user; the run ends
        when it says no.
        """

        def reanalyse(_: UserRef, call: Call) -> bool:
            count = upkeep.reanalyse(call, may_go_on)
            self.memories += count
            return count > 0

        self._each(users, reanalyse, seconds_left, may_go_on)

    def migrate(self, users: Sequence[UserRef], *, seconds_left: Callable[[], float] = lambda: USER_SECONDS) -> None:
        """Bring these users' memories to the tables of this release, where a store doesn't do so by itself.

        `seconds_left` is as for `sweep`.
        """
        store = self.store
        if isinstance(store, Migrates):
            self._each(users, lambda user, call: store.migrate(user, call.deadline), seconds_left)
        else:
            self.already += len(users)

    def _each(
        self,
        users: Sequence[UserRef],
        work: Callable[[UserRef, Call], bool],
        seconds_left: Callable[[], float],
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Do the work for each user while there is time; it says False where it was done before. Users who were moved
        elsewhere, or are just being moved, are counted and passed over: whoever has the memories works on them."""
        for at, user in enumerate(users):
            if (seconds := seconds_left()) < LEAST_SECONDS or not may_go_on():
                self.left = len(users) - at
                return
            try:
                is_new = work(user, self._call(user, seconds))
            except MovedAway as error:
                self._pass_over(user, error)
            except SteeltrapError as error:
                self._fail(user, error)
            else:
                self.users += is_new
                self.already += not is_new

    def reembed(
        self, users: Sequence[UserRef], *, again: bool = False, advance: Callable[[float, int], None] = lambda *_: None
    ) -> None:
        """Embed every memory of these users with the current embedder. Each user's vectors change once all are made.

        Users who already have this embedder's vectors get new ones only of texts for which a release has changed them,
        unless `again`. `advance` is called with the number of finished users, to which the finished part of the current
        one counts, and of embedded memories.
        """
        for at, user in enumerate(users):
            if not again and self._is_embedded(user):
                self.reanalyse([user], seconds_left=lambda: EMBED_SECONDS)
            else:
                self._reembed(user, partial(_ahead, advance, at))
            advance(at + 1, self.memories)

    def _reembed(self, user: UserRef, advance: Callable[[float, int], None]) -> None:
        embedded = before = everything = 0

        def start(count: int, of: int) -> None:
            nonlocal before, everything
            before, everything = count, of

        def entries(memories: Sequence[Memory]) -> list[Entry]:
            nonlocal embedded
            entries = reembedded_entries(self._call(user), memories)  # a call per block: each has its own time
            embedded += len(memories)
            part = min(1.0, (before + embedded) / everything) if everything else 0.0
            advance(part, self.memories + embedded)
            return entries

        try:
            self.memories += self._call(user, EMBED_SECONDS).space.reembed(entries, start)
            self.users += 1
        except MovedAway as error:
            self._pass_over(user, error)
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

    def _pass_over(self, user: UserRef, error: MovedAway) -> None:
        self.moved += 1
        self.report(user, error)

    def _fail(self, user: UserRef | None, error: SteeltrapError) -> None:
        self.failed += 1
        self.report(user, error)


def _ahead(advance: Callable[[float, int], None], users: int, part: float, memories: int) -> None:
    advance(users + part, memories)


def forget_user(user: UserRef, store: MemoryStore, files: FileStore | None) -> bool:
    """Erase all data of a user, including exported files. False if there was none. Raises Unavailable."""
    existed = store.forget_user(user)
    if files is not None:
        existed = files.forget_user(user) or existed
    return existed


def sweep_index(truth: Truth, index: IndexUpkeep, clock: Clock) -> int:
    """Remove tombstones that are older than any replay; return their number. Raises Unavailable, Throttled."""
    return upkeep.sweep_index(truth, index, clock.now())


rebuild_index = upkeep.reindex


def mend_index(truth: Truth, index: IndexUpkeep, user: UserRef) -> Reindexed:
    """Write one user's memories to the index in use, and remove documents that the store doesn't have.

    Raises Unavailable, Throttled.
    """
    return upkeep.mend(truth, index, user.key)


@frozen
class Verified:
    """The differences between search index and store, and the number of documents that belong to no user."""

    differences: list[Difference]
    strays: int

    @property
    def counts(self) -> dict[Kind, int]:
        """The number of differences of each kind."""
        return dict(upkeep.counted(self.differences))


def verify_index(
    truth: Truth,
    index: IndexUpkeep,
    clock: Clock,
    *,
    user: UserRef | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Verified:
    """Compare the search index with the store, for all users or one. Strays are only counted for all users.

    Raises Unavailable, Throttled.
    """
    before = to_micros(clock.now())
    users = truth.users() if user is None else iter([user])
    differences = list(upkeep.verify(truth, index, users, pause=pause))
    strays = upkeep.count_strays(truth, index, before=before) if user is None else 0
    return Verified(differences=differences, strays=strays)
