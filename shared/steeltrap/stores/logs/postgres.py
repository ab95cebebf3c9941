"""Logs whose entries and bases are rows of a PostgreSQL database.

The primary key of the entries gives a number to one of two writers. Whoever reads asks the primary server, so a number
that isn't there isn't taken.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from secrets import token_bytes
from typing import Any, Final

from ...errors import Unavailable
from ...model import UserRef
from ...ports import BaseName, Marker
from ..postgres import Database
from ..postgres_tables import TableObjects, is_above_the_lock, missing_rights
from .names import (
    LOG_ID,
    USERS,
    UserObjects,
    due_pages,
    log_id,
    probes_of,
    user_of_listing,
)
from .probing import Fault, Place, ProbedFolder

_FEW: Final = 2
"""The number of entries of the first request: mostly none is new, else mostly one."""
_PAGE: Final = 128
_STUBS_AT_ONCE: Final = 1000


class PostgresLogs:
    """The logs in a database, whose tables are made with the first request."""

    def __init__(self, database: Database, url: str) -> None:
        self._database = database
        self.objects = TableObjects(database, url)
        self._id: bytes | None = None

    def of(self, user: UserRef) -> "PostgresLog":
        return PostgresLog(self._database, self.objects, user)

    def id(self) -> bytes:
        if self._id is None:
            self._id = log_id(self.objects, "The row `log` in the database of the memories")
        return self._id

    def is_begun(self) -> bool:
        return self.objects.get(LOG_ID) is not None

    def users(self, first: str = "", end: str = "g") -> Iterator[UserRef]:
        for page in self.objects.contents(USERS):
            for key, content in page:
                if first <= key < end and (user := user_of_listing(content, key)) is not None:
                    yield user

    def due(self, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
        return due_pages(self.objects, hour)

    def check(self) -> None:
        # Whoever may not write is refused although the row is there.
        self.objects.create(LOG_ID, token_bytes(16))

    def count_call(self, user: UserRef, minute: int) -> int:
        """Count a call of a user in a minute, or a later one; the number of calls including it. Raises Unavailable."""
        [(calls,)] = self._database.ask(
            user.key,
            "INSERT INTO {schema}.calls AS c VALUES (%s, %s, 1) ON CONFLICT (u) DO UPDATE SET "
            "count = CASE WHEN c.minute < excluded.minute THEN 1 ELSE c.count + 1 END, "
            "minute = greatest(c.minute, excluded.minute) RETURNING count",
            user.key,
            minute,
        )
        return int(calls)

    def places(self, user: UserRef) -> list[Place]:
        """The places that `probing.probe` tries."""
        return [_TablesPlace(self._database, self.objects, probes_of(user))]

    def close(self) -> None:
        self._database.close()


class PostgresLog(UserObjects):
    """One user's log. Safe for threads and processes."""

    def __init__(self, database: Database, objects: TableObjects, user: UserRef) -> None:
        self._database = database
        super().__init__(objects, user)

    def create(self, n: int, entry: bytes) -> bool:
        statement = "INSERT INTO {schema}.entries VALUES (%s, %s, %s) ON CONFLICT DO NOTHING RETURNING true"
        return bool(self._ask(statement, n, entry))

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        rows = self._ask(
            "SELECT n, entry FROM {schema}.entries WHERE u = %s AND n = ANY(%s)",
            list(numbers),
            large=len(numbers) > _FEW,
        )
        entries = {n: bytes(entry) for n, entry in rows}
        return [entries.get(n) for n in numbers]

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        entries: list[bytes] = []
        for size in chain(() if are_many else (_FEW,), repeat(_PAGE)):
            first = n + len(entries)
            rows = self._ask(
                "SELECT n, entry FROM {schema}.entries WHERE u = %s AND n >= %s AND n < %s ORDER BY n",
                first,
                first + size,
                large=size > _FEW,
            )
            for number, entry in rows:
                if number != n + len(entries):
                    return entries
                entries.append(bytes(entry))
            if len(rows) < size:
                return entries
        raise AssertionError("pages never end")

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        numbers = sorted(stubs)
        for at in range(0, len(numbers), _STUBS_AT_ONCE):
            block = numbers[at : at + _STUBS_AT_ONCE]
            self._ask(
                "INSERT INTO {schema}.entries SELECT %s, * FROM unnest(%s::bigint[], %s::bytea[]) "
                "ON CONFLICT (u, n) DO UPDATE SET entry = excluded.entry",
                block,
                [stubs[n] for n in block],
            )

    def bases(self) -> list[BaseName]:
        return [
            BaseName(*row) for row in self._ask("SELECT n, forgot FROM {schema}.bases WHERE u = %s ORDER BY n, forgot")
        ]

    def put_base(self, name: BaseName, base: bytes) -> None:
        self._ask(
            "INSERT INTO {schema}.bases VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (u, n, forgot) DO UPDATE SET base = excluded.base",
            *name,
            base,
        )

    def read_base(self, name: BaseName) -> bytes | None:
        statement = "SELECT base FROM {schema}.bases WHERE u = %s AND n = %s AND forgot = %s"
        rows = self._ask(statement, *name, large=True)
        return bytes(rows[0][0]) if rows else None

    def delete_base(self, name: BaseName) -> None:
        self._ask("DELETE FROM {schema}.bases WHERE u = %s AND n = %s AND forgot = %s", *name)

    def may_delete(self) -> bool:
        return True

    def _ask(self, statement: str, *values: Any, large: bool = False) -> list[tuple[Any, ...]]:
        return self._database.ask(self._user.key, statement, self._user.key, *values, large=large)


class _TablesPlace(ProbedFolder):
    """A database as something to be tried, by its objects; of the other tables the rights are read."""

    unseen = (
        "What is forgotten stays in the server's write-ahead log, in copies made by its own tools, and on its disk "
        "until the space is used again."
    )

    def __init__(self, database: Database, objects: TableObjects, folder: str) -> None:
        super().__init__(objects, folder)
        self._database = database

    def warnings(self) -> list[Fault]:
        if not is_above_the_lock(self._database):
            return []
        return [
            Fault(
                problem="Row security doesn't bind the role that it is opened with: one lock less is before each user.",
                mend="Use a role that is no superuser and has no BYPASSRLS; `steeltrap admin setup --grant ROLE` gives "
                "it its rights.",
                broken=False,
            )
        ]

    def create(self, name: str, content: bytes) -> bool:
        if missing := missing_rights(self._database):
            raise Unavailable(
                f"The role of the database lacks rights: {', '.join(missing)}. Let `steeltrap admin setup --grant "
                "ROLE` give them, as the tables' owner.",
                retryable=False,
                part="store",
            )
        return super().create(name, content)
