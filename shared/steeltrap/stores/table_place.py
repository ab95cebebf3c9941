"""DynamoDB's tables as a place that a user's memories are moved to and from.

They go by way of a user's file in SQLite, which all other places have.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from ..model import UserRef
from ..ports import Clock, Deadline, Embedder
from ..ports.space import Beside, Stored
from ..record import to_image
from .dynamodb import DynamoStore, moving
from .dynamodb.client import Cancelled
from .replica.moving import MOVE, came_between, differs, reading, reading_rows, require_room, require_unmoved, sign
from .sqlite import SqliteStore
from .sqlite import moving as rows
from .sqlite.header import MOVED_TO


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The tables, and the name that people know them by. `pause` waits until nobody writes to memories that were marked
    before."""

    name: str
    store: DynamoStore
    embedder: Embedder
    clock: Clock
    pause: Callable[[float], None] = time.sleep

    def meta(self, user: UserRef, deadline: Deadline) -> Mapping[str, Any]:
        item = moving.own_item(self.store.partition(user, deadline))
        if item is None or "forgetting" in item:
            return {}
        return item if "reserved" in item else item | {"generation": 1}

    def reserve(self, user: UserRef, source: str, move: str, deadline: Deadline) -> None:
        require_room(self.meta(user, deadline), source)
        with _alone():
            moving.reserve(self.store.partition(user, deadline), source, move)

    def release(self, user: UserRef, source: str, deadline: Deadline) -> None:
        with _alone():
            moving.release(self.store.partition(user, deadline), source)

    def withdraw(self, user: UserRef, move: str, deadline: Deadline) -> bool:
        return moving.withdraw(self.store.partition(user, deadline), move)

    def clean(self, user: UserRef, deadline: Deadline) -> None:
        with _alone():
            moving.clean(self.store.partition(user, deadline))

    def mark(self, user: UserRef, target: str, move: str, deadline: Deadline) -> bool:
        require_unmoved(self.meta(user, deadline), target)
        with _alone():
            is_marked = moving.mark(self.store.partition(user, deadline), target, move)
        if is_marked:
            self.pause(moving.PAUSE_SECONDS)
        return is_marked

    def unmark(self, user: UserRef, move: str, deadline: Deadline) -> None:
        moving.unmark(self.store.partition(user, deadline), move)

    @contextmanager
    def rows(self, user: UserRef, deadline: Deadline) -> Iterator[Path]:
        partition = self.store.partition(user, deadline)
        with TemporaryDirectory(prefix="steeltrap-move-") as folder:
            files = SqliteStore(Path(folder), self.embedder, self.clock)
            file = files.open_file(user, deadline)
            tally, beside = Tally(), moving.beside(partition)

            def fill(connection: apsw.Connection, _: int) -> None:
                rows.put(connection, tally.over(moving.stored(partition)), beside)
                signs = {key: value for key, value in self.meta(user, deadline).items() if key in (MOVED_TO, MOVE)}
                connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", signs.items())

            try:
                file.transaction("change", lambda *_: None, deadline)
                file.transaction("move", fill, deadline)
                with reading(file.path) as connection:
                    tally.require_equal(
                        rows.stored(connection, self.embedder.dimension), beside, rows.beside(connection)
                    )
                yield file.path
            finally:
                files.close()

    def take(self, user: UserRef, path: Path, source: str, move: str, deadline: Deadline) -> int:
        partition, tally = self.store.partition(user, deadline), Tally()
        with _alone(), reading(path) as connection, reading_rows(path):
            connection.execute("BEGIN")
            if sign(connection) != (self.name, move):
                raise came_between()
            name, dimension = rows.embedder_of(connection)
            partition.admit({"embedder": name, "dimension": dimension})
            beside = rows.beside(connection)
            count = int(connection.execute("SELECT count(*) FROM memory").get)
            moving.put(partition, tally.over(rows.stored(connection, dimension)), count, beside, move)
            copied = replace(moving.beside(partition), analysis=beside.analysis)  # it is written at the end
            tally.require_equal(moving.stored(partition), beside, copied)
            moving.open(partition, beside, move)
        return tally.count


@contextmanager
def _alone() -> Iterator[None]:
    """Raises Conflict where another move came between."""
    try:
        yield
    except Cancelled:
        raise came_between() from None


class Tally:
    """The count and the digest of memories, whatever their order."""

    def __init__(self) -> None:
        self.count = 0
        self._digest = 0

    def over(self, memories: Iterable[Stored]) -> Iterator[Stored]:
        """The memories, each counted as it passes."""
        for each in memories:
            self.count += 1
            history = [(to_image(one.memory), one.replaced_at, one.replaced_by) for one in each.history]
            values = (each.n, each.written, to_image(each.memory), each.embeddings, history, each.usage, each.is_open)
            self._digest ^= int.from_bytes(sha256(repr(values).encode()).digest())
            yield each

    def require_equal(self, memories: Iterable[Stored], beside: Beside, copied: Beside) -> None:
        """Raises Unavailable where a copy differs from what passed here."""
        other = Tally()
        for _ in other.over(memories):
            pass
        if (other.count, other._digest, copied) != (self.count, self._digest, beside):
            raise differs()
