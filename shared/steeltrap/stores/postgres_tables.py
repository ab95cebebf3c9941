"""The tables of a PostgreSQL database that hold logs, and all that is kept beside them.

    entries (u, n) -> entry             one row per commit of a user; a number that is taken stays taken
    bases   (u, n, forgot) -> base
    objects (u, name) -> content        the log's id, who has a log, API keys, exported files; u is "" for nobody's
    calls   (u) -> minute, count        calls of a minute, for quotas; lost when the server is killed

Each transaction names one `u`, and row security shows it the rows of no other: a second lock behind every condition.
"""

import atexit
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from math import inf
from typing import Any, Final, TypeVar

from ..errors import TooLarge
from .postgres import Database

T = TypeVar("T")

_PAGE: Final = 1000
_LARGE: Final = 1024 * 1024

_TABLES: Final = (
    'CREATE TABLE {schema}.entries (u text COLLATE "C", n bigint, entry bytea NOT NULL, PRIMARY KEY (u, n))',
    'CREATE TABLE {schema}.bases (u text COLLATE "C", n bigint, forgot bigint, base bytea NOT NULL, '
    "PRIMARY KEY (u, n, forgot))",
    'CREATE TABLE {schema}.objects (u text COLLATE "C", name text COLLATE "C", content bytea NOT NULL, '
    "written timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (u, name))",
    'CREATE UNLOGGED TABLE {schema}.calls (u text COLLATE "C" PRIMARY KEY, minute bigint NOT NULL, '
    "count bigint NOT NULL)",
)
_RIGHTS: Final = {
    "entries": ("SELECT", "INSERT", "UPDATE"),  # and not DELETE: a log never goes back
    "bases": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "objects": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "calls": ("SELECT", "INSERT", "UPDATE"),
}
TABLES: Final = tuple(_RIGHTS)
_COMPRESSED: Final = (("entries", "entry"), ("bases", "base"))


def database_at(url: str) -> Database:
    """The database at a URL. Its tables are made with the first request, if they are missing."""
    return Database(url, _make_missing)


@cache
def shared_database(url: str) -> Database:
    """The database at a URL, one for all that a process keeps there."""
    database = database_at(url)
    atexit.register(database.close)
    return database


def _make_missing(database: Database) -> bool:
    [(name,)] = database.ask_as_it_is("SELECT to_regclass(%s)::text", f'"{database.schema}".calls')
    if name is None:
        _create_tables(database)
    return name is None


def _create_tables(database: Database) -> None:
    [(is_there,)] = database.ask_as_it_is("SELECT to_regnamespace(%s) IS NOT NULL", f'"{database.schema}"')
    schema = [] if is_there else ["CREATE SCHEMA IF NOT EXISTS {schema}"]
    lock = f"SELECT pg_advisory_xact_lock(hashtext('steeltrap {database.schema}'))"  # of two that come first
    tables = "; ".join((*_TABLES, *_settings())).replace("'", "''")
    database.run(
        [
            lock,
            *schema,
            # Another one may have made them while this one waited.
            f"DO $$ BEGIN IF to_regclass('{{schema}}.calls') IS NULL THEN EXECUTE '{tables}'; END IF; END $$",
        ]
    )


def _settings() -> Iterator[str]:
    for table in _RIGHTS:
        yield f"ALTER TABLE {{schema}}.{table} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {{schema}}.{table} FORCE ROW LEVEL SECURITY"  # its owner, too
        yield f"CREATE POLICY own ON {{schema}}.{table} USING (u = current_setting('steeltrap.u', true))"
    for table, column in _COMPRESSED:
        yield f"ALTER TABLE {{schema}}.{table} ALTER COLUMN {column} SET STORAGE EXTERNAL"
    for table in ("entries", "bases", "objects"):
        # What was forgotten is an old version of a row: a vacuum comes within a minute or so.
        yield (
            f"ALTER TABLE {{schema}}.{table} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1, "
            "toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1)"
        )


def grant(database: Database, role: str) -> None:
    """Give a role all rights that serving needs, and no more. Raises Unavailable."""
    identifier = '"' + role.replace('"', '""').replace("{", "{{").replace("}", "}}") + '"'
    database.run(
        [
            f"GRANT USAGE ON SCHEMA {{schema}} TO {identifier}",
            *(f"GRANT {', '.join(rights)} ON {{schema}}.{table} TO {identifier}" for table, rights in _RIGHTS.items()),
        ]
    )


def missing_rights(database: Database) -> list[str]:
    """The rights that this role lacks, such as `UPDATE on entries`. Raises Unavailable."""
    pairs = [(table, right) for table, rights in _RIGHTS.items() for right in rights]
    rows = database.ask(
        "",
        "SELECT t, r FROM unnest(%s::text[], %s::text[]) AS w (t, r) "
        "WHERE NOT has_table_privilege(format('%%I.%%I', %s::text, t), r)",
        [table for table, _ in pairs],
        [right for _, right in pairs],
        database.schema,
    )
    return [f"{right} on {table}" for table, right in rows]


def is_above_the_lock(database: Database) -> bool:
    """Whether row security doesn't bind this role. Raises Unavailable."""
    [(is_above,)] = database.ask("", "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
    return bool(is_above)


class TableObjects:
    """Objects by their names, as a bucket has them: `files/<user's key>/...` and `u/<key>/...` are that user's rows."""

    def __init__(self, database: Database, url: str) -> None:
        self._database = database
        self.url = url

    def get(self, path: str, *, max_bytes: float = inf) -> bytes | None:
        """An object's content; None where there is none. Raises TooLarge where it has more bytes than `max_bytes`."""
        if max_bytes < inf:
            sizes = self._ask(path, "SELECT length(content) FROM {schema}.objects WHERE u = %s AND name = %s", path)
            if sizes and sizes[0][0] > max_bytes:
                raise TooLarge(f"An object has more than {max_bytes:,} bytes.")
        rows = self._ask(
            path,
            "SELECT content FROM {schema}.objects WHERE u = %s AND name = %s",
            path,
            large=_LARGE < max_bytes < inf,
        )
        return bytes(rows[0][0]) if rows else None

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """The contents of objects of one owner, None for those that aren't there."""
        if not paths:
            return []
        rows = self._ask(
            paths[0], "SELECT name, content FROM {schema}.objects WHERE u = %s AND name = ANY(%s)", list(paths)
        )
        contents = {name: bytes(content) for name, content in rows}
        return [contents.get(path) for path in paths]

    def create(self, path: str, content: bytes) -> bool:
        """Put an object where none is. False where one is, be it by an attempt of this call whose answer was lost."""
        statement = (
            "INSERT INTO {schema}.objects (u, name, content) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING RETURNING true"
        )
        return bool(self._ask(path, statement, path, content))

    def put(self, path: str, content: bytes) -> None:
        """Put an object in the place of what is there."""
        self._ask(
            path,
            "INSERT INTO {schema}.objects (u, name, content) VALUES (%s, %s, %s) "
            "ON CONFLICT (u, name) DO UPDATE SET content = excluded.content, written = excluded.written",
            path,
            content,
        )

    def delete(self, path: str) -> None:
        """Remove an object, if it is there."""
        self._ask(path, "DELETE FROM {schema}.objects WHERE u = %s AND name = %s", path)

    def names(self, folder: str) -> Iterator[list[str]]:
        """The names under `folder/`, without it, in pages."""
        for page in self._pages(folder, "name"):
            yield [name.removeprefix(f"{folder}/") for (name,) in page]

    def write_times(self, folder: str) -> dict[str, datetime]:
        """The names under `folder/`, without it, and when the database wrote each of them."""
        return {
            name.removeprefix(f"{folder}/"): at for page in self._pages(folder, "name, written") for name, at in page
        }

    def contents(self, folder: str) -> Iterator[list[tuple[str, bytes]]]:
        """The names under `folder/`, without it, and their contents, in pages."""
        for page in self._pages(folder, "name, content"):
            yield [(name.removeprefix(f"{folder}/"), bytes(content)) for name, content in page]

    def side_by_side(self, request: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """The answers to many requests."""
        return list(map(request, *arguments))

    def close(self) -> None:
        """Let go of connections and threads."""
        self._database.close()

    def _pages(self, folder: str, columns: str) -> Iterator[list[tuple[Any, ...]]]:
        # All names under a folder come after its own, and before the name with the character after the slash.
        last, end = (f"{folder}/", f"{folder}0") if folder else ("", "\U0010ffff")
        while True:
            page = self._ask(
                last,
                f"SELECT {columns} FROM {{schema}}.objects WHERE u = %s AND name > %s AND name < %s "
                f"ORDER BY name LIMIT {_PAGE}",
                last,
                end,
            )
            if page:
                yield page
                last = page[-1][0]
            if len(page) < _PAGE:
                return

    def _ask(self, path: str, statement: str, *values: Any, large: bool = False) -> list[tuple[Any, ...]]:
        owner = _owner_of(path)
        return self._database.ask(owner, statement, owner, *values, large=large)


def _owner_of(path: str) -> str:
    """The key of the user whose object it is; "" for nobody's."""
    match path.split("/"):
        case ["files" | "u", key, *_]:
            return key
        case _:
            return ""
