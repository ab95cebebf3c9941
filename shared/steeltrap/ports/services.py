"""The services beside the memories: time, counters for quotas, users' files, what servers share, work in the
background, loading ahead, embedders."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from ..errors import Unavailable
from ..model import Embedding, UserRef
from ..model.frozen import frozen


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The current time, UTC, timezone-aware."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that is never adjusted; only differences are meaningful."""
        ...


@frozen(kw_only=False)
class Deadline:
    """The moment by which a call must end. `seconds` is the whole time that it was given."""

    seconds: float
    ends: float
    clock: Clock

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> "Deadline":
        """The deadline this many seconds from now."""
        return cls(seconds, clock.monotonic() + seconds, clock)

    def within(self, seconds: float) -> "Deadline":
        """The earlier of this deadline and the one this many seconds from now."""
        sooner = Deadline.after(seconds, self.clock)
        return sooner if sooner.ends < self.ends else self

    def before(self, rest: float = 0.0) -> float:
        """Seconds left, minus `rest`; at least 0."""
        return max(0.0, self.ends - self.clock.monotonic() - rest)

    def left(self) -> float:
        """Seconds left, more than 0. Raises Unavailable if there are none."""
        seconds = self.ends - self.clock.monotonic()
        if seconds <= 0:
            raise Unavailable(
                f"The call took longer than {self.seconds:g} s and was stopped; try again.", part="deadline"
            )
        return seconds


@frozen
class Amount:
    """A user's number of memories and bytes of records: measured at `measured_at`, updated since."""

    memories: int
    bytes: int
    measured_at: datetime


class Counters(Protocol):
    """Counts of calls and amounts per user, outside of transactions: best effort.

    Every method raises Unavailable or Throttled if the counters don't answer.
    """

    def count_call(self, user: UserRef, minute: int) -> int:
        """Count a call in a minute (minutes since 1970); return the number of calls including it."""
        ...

    def amount(self, user: UserRef) -> Amount | None:
        """The last amount set, plus what was added since; None if unknown or expired."""
        ...

    def set_amount(self, user: UserRef, amount: Amount) -> None:
        """Store a measured amount."""
        ...

    def add_amount(self, user: UserRef, *, memories: int, bytes: int) -> None:
        """Add what a write added or removed. Does nothing if no amount is known."""
        ...


class ExportFiles(Protocol):
    """One user's files by name. A name is a relative path that `text.limits.check_file_name` accepts."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file in one step, replacing an existing one. Raises InvalidInput, Unavailable."""
        ...

    def read(self, name: str, *, max_bytes: int) -> bytes:
        """A file's bytes. Raises NotFound, TooLarge for more than `max_bytes` bytes, InvalidInput, Unavailable."""
        ...

    def names(self) -> list[str]:
        """The names of all files, sorted."""
        ...


class FileStore(Protocol):
    """Hands out users' files. Only `runtime` and maintenance hold one."""

    def files(self, user: UserRef) -> ExportFiles:
        """The files of one user; no other user's files can be reached through them."""
        ...

    def forget_user(self, user: UserRef) -> bool:
        """Remove every file of a user. False when there was none."""
        ...


class SharedFolder(Protocol):
    """A flat folder of small files that all processes and machines over the same memories share. Safe for threads.

    Servers keep there what isn't any user's. Every method raises Unavailable: a folder that can't be asked isn't empty.
    """

    @property
    def place(self) -> str:
        """Where it is, as whoever runs the server would look for it."""
        ...

    def read(self, *names: str) -> list[bytes | None]:
        """The contents of files, None for those that aren't there."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Create a file, durably and as a whole, where none is. False where one is already, be it by this very call."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def write_times(self) -> Mapping[str, datetime]:
        """The names of all files, and when each was written by the clock of the place, which no machine's is."""
        ...


class Background(Protocol):
    """Makes the episodes that are due, so that no append waits for it. Safe for threads; never fails."""

    def appended(self, user: UserRef, conversation_id: str) -> None:
        """Note that a conversation has new turns. Returns at once."""
        ...

    def wait_for_episodes(self, user: UserRef, deadline: Deadline) -> bool:
        """Wait until what is due in the user's noted conversations has been made. False if that is not certain: the
        caller then makes it."""
        ...


@runtime_checkable
class Loads(Protocol):
    """An adapter whose first call would otherwise wait for a model or a client."""

    def load(self) -> None:
        """Load now, without network requests. Raises Unavailable if something is missing on this machine."""
        ...


@runtime_checkable
class Migrates(Protocol):
    """A store whose memories keep the tables of an earlier release until they are migrated by command."""

    def migrate(self, user: UserRef, deadline: Deadline) -> bool:
        """Bring a user's memories to the tables of this release; False where they are. Raises Unavailable."""
        ...


@runtime_checkable
class SweepsDue(Protocol):
    """A store that knows which users have work due, so that a sweep opens nobody else's memories."""

    def due(self) -> Iterator[list[UserRef]]:
        """The users to sweep now, in pages: those with due work, the earliest first, and in turn with them a small
        share of all, another one each day. A page may be empty. Raises Unavailable."""
        ...

    def note_sweep(self, user: UserRef, deadline: Deadline) -> None:
        """Note that a user was swept. Raises Unavailable."""
        ...


@runtime_checkable
class Caches(Protocol):
    """A store that keeps the memories of users in this process, to search them."""

    def cached(self) -> tuple[int, int]:
        """The number of users whose files are open, and the bytes held for them."""
        ...


class Scale(Protocol):
    """The meaning of an embedder's cosines, by three of them, 0 to 1, and one difference.

    `unrelated` is the cosine between unrelated texts. `unrelated_japanese` is the same for Japanese texts, which many
    models place close together. `novel`, no lower than `unrelated`, is the cosine between a turn that says something
    new in a long conversation, after its speaker's name, and the nearest turn before it. The best of n unrelated chunks
    lies nearer than one does by about `slope` times ln n, because it is the best of n.
    """

    @property
    def unrelated(self) -> float: ...
    @property
    def unrelated_japanese(self) -> float: ...
    @property
    def novel(self) -> float: ...
    @property
    def slope(self) -> float: ...


class Embedder(Scale, Protocol):
    """Turns texts into unit vectors. `name` identifies model and version: vectors of two names never meet."""

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        """One embedding a text, in order, within `timeout` seconds.

        Raises Unavailable when the model does not answer in time or refuses.
        """
        ...


@runtime_checkable
class Revised(Protocol):
    """An embedder that knows more languages than it did, under the same name: vectors of other texts are the same."""

    def has_changed(self, text: str, since: int) -> bool:
        """Whether a text's vectors are others than those of this version of the analysis. Raises Unavailable."""
        ...


@runtime_checkable
class KnowsWords(Protocol):
    """An embedder with lists of its languages' words."""

    def knows(self, word: str) -> bool:
        """Whether one of its languages has a word, or a form of it. Raises Unavailable."""
        ...


@frozen(kw_only=False)
class Levels:
    """The measurements of a model: the size of its vectors and its `Scale`."""

    dimension: int
    unrelated: float
    unrelated_japanese: float
    novel: float
    slope: float


class SharedLevels(Protocol):
    """Where processes that use the same model share its levels, by a key that stands for all they depend on.

    Both methods raise Unavailable and Throttled.
    """

    def read(self, key: str) -> Levels | None: ...
    def write(self, key: str, levels: Levels) -> None: ...


@runtime_checkable
class Calibrating(Protocol):
    """An embedder that learns its levels from its model, unless another process has shared them."""

    def share_levels(self, shared: SharedLevels) -> None: ...
