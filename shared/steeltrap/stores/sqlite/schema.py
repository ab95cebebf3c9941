"""The schema of a user's file, as a list of migrations: a file at version n has had the first n.

`memory.image` is the whole record as JSON and the one source of truth; the columns beside it are what filters and
lists need. A field that became filterable after the last migration needs none, nor do the traits: `migrate` adds their
columns. `change`
numbers the transaction that last wrote a row, so that an index knows what to read again; `purge` remembers the row
numbers, and nothing else, of what was removed.
"""

import re
from collections.abc import Collection
from contextlib import closing
from functools import cache
from typing import Final

import apsw

from ...record import from_image
from ...text.matching import fold_category, fold_tag
from ...text.words import Trait, traits
from .connection import transaction
from .records import COLUMNS, FILTERED, filtered

MIGRATIONS: Final = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE memory (
      n INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL,
      turn INTEGER NOT NULL,
      tier TEXT NOT NULL,
      category TEXT,
      content_type TEXT NOT NULL,
      scope TEXT NOT NULL,
      agent_id TEXT,
      agent_label TEXT,
      conversation_id TEXT,
      speaker TEXT,
      created_at INTEGER NOT NULL,
      occurred_at INTEGER,
      expires_at INTEGER,
      deleted_at INTEGER,
      pinned INTEGER NOT NULL,
      surprise REAL,
      fold BLOB NOT NULL,
      image TEXT NOT NULL
    );
    CREATE INDEX memory_change ON memory (change);
    CREATE INDEX memory_created ON memory (created_at DESC, id);
    CREATE INDEX memory_fold ON memory (fold);
    CREATE INDEX memory_conversation ON memory (conversation_id) WHERE turn;
    CREATE TABLE search (n INTEGER PRIMARY KEY, terms BLOB NOT NULL, vectors BLOB NOT NULL);
    CREATE TABLE tag (tag TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (tag, n)) WITHOUT ROWID;
    CREATE INDEX tag_memory ON tag (n);
    CREATE TABLE link (
      n INTEGER NOT NULL, target BLOB NOT NULL, strength REAL NOT NULL, manual INTEGER NOT NULL,
      PRIMARY KEY (n, target)
    ) WITHOUT ROWID;
    CREATE INDEX link_target ON link (target);
    CREATE TABLE revision (
      n INTEGER NOT NULL, version INTEGER NOT NULL, replaced_at INTEGER NOT NULL, replaced_by TEXT,
      image TEXT NOT NULL, PRIMARY KEY (n, version)
    );
    CREATE TABLE usage (
      n INTEGER PRIMARY KEY, access_count INTEGER NOT NULL, last_accessed_at INTEGER, card TEXT
    );
    CREATE TABLE purge (change INTEGER NOT NULL, n INTEGER NOT NULL);
    """,
    """
    ALTER TABLE memory ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE memory ADD COLUMN importance REAL;
    UPDATE memory SET
      updated_at = unixepoch(image ->> '$.updated_at') * 1000000, importance = image ->> '$.importance.score';
    DROP INDEX memory_conversation;
    CREATE TABLE open_turn (
      conversation_id TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (conversation_id, n)
    ) WITHOUT ROWID;
    CREATE INDEX open_turn_memory ON open_turn (n);
    INSERT INTO open_turn SELECT conversation_id, n FROM memory WHERE turn AND conversation_id IS NOT NULL;
    CREATE TABLE session (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL) WITHOUT ROWID;
    """,
    """
    ALTER TABLE memory ADD COLUMN episode INTEGER NOT NULL DEFAULT 0;
    UPDATE memory SET episode = 1 WHERE NOT turn AND image ->> '$.messages' IS NOT NULL;
    """,
    "CREATE TABLE staged (n INTEGER PRIMARY KEY, terms BLOB NOT NULL, vectors BLOB NOT NULL);",
    """
    ALTER TABLE memory ADD COLUMN superseded_by BLOB;
    ALTER TABLE memory ADD COLUMN superseded_at INTEGER;
    CREATE INDEX memory_superseded ON memory (superseded_by) WHERE superseded_by IS NOT NULL;
    """,
    """
    INSERT OR IGNORE INTO tag SELECT fold_tag(tag), n FROM tag WHERE fold_tag(tag) <> tag;
    DELETE FROM tag WHERE fold_tag(tag) <> tag;
    UPDATE memory SET category = fold_category(category)
    WHERE category IS NOT NULL AND fold_category(category) <> category;
    """,
    "",  # what `_note_days` does once the traits have their column
    "CREATE TABLE imports (id TEXT PRIMARY KEY, image TEXT NOT NULL) WITHOUT ROWID;",
    # And `_order_columns`. A table without a primary key, or with its columns in another order, can't be replicated.
    """
    ALTER TABLE purge RENAME TO purge_8;
    CREATE TABLE purge (change INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (change, n)) WITHOUT ROWID;
    INSERT OR IGNORE INTO purge SELECT change, n FROM purge_8;
    DROP TABLE purge_8;
    """,
)
_NOTES_DAYS: Final = 7
"""The version from which on the traits say what happened on a day without a time."""
_ORDERS_COLUMNS: Final = 9
"""The version from which on all files have the same columns in the same order. Later ones are added at the end."""
_MEMORY: Final = """
    CREATE TABLE memory (
      n INTEGER PRIMARY KEY,
      id BLOB NOT NULL UNIQUE,
      version INTEGER NOT NULL,
      change INTEGER NOT NULL,
      turn INTEGER NOT NULL,
      tier TEXT NOT NULL,
      category TEXT,
      content_type TEXT NOT NULL,
      scope TEXT NOT NULL,
      agent_id TEXT,
      agent_label TEXT,
      conversation_id TEXT,
      speaker TEXT,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      occurred_at INTEGER,
      expires_at INTEGER,
      deleted_at INTEGER,
      pinned INTEGER NOT NULL,
      surprise REAL,
      importance REAL,
      fold BLOB NOT NULL,
      image TEXT NOT NULL,
      episode INTEGER NOT NULL DEFAULT 0,
      superseded_by BLOB,
      superseded_at INTEGER,
      import_id TEXT,
      untrusted INTEGER,
      traits INTEGER NOT NULL DEFAULT 0
    );
"""
_MEMORY_INDEXES: Final = """
    CREATE INDEX memory_change ON memory (change);
    CREATE INDEX memory_created ON memory (created_at DESC, id);
    CREATE INDEX memory_fold ON memory (fold);
    CREATE INDEX memory_superseded ON memory (superseded_by) WHERE superseded_by IS NOT NULL;
"""

TABLES: Final = (
    "memory",
    "search",
    "tag",
    "link",
    "revision",
    "usage",
    "purge",
    "open_turn",
    "session",
    "imports",
    "staged",
    "meta",
)


APPLICATION: Final = 0x7265636F
"""The mark that tells a file of ours from another program's database: "reco" in its header."""


def is_foreign(connection: apsw.Connection) -> bool:
    """Whether a file has tables that another program made."""
    # In one transaction: another process may be making the tables right now.
    connection.execute("BEGIN")
    try:
        return bool(
            connection.pragma("application_id") != APPLICATION
            and connection.execute("SELECT count(*) FROM sqlite_schema").get
        )
    finally:
        if connection.in_transaction:  # a failure may have ended it
            connection.execute("COMMIT")


_CODE: Final = re.compile(r"\b(virtual|generated|check|references|collate)\b", re.IGNORECASE)
"""In a table's SQL: what would run more than the product's own statements."""


def has_own_schema(connection: apsw.Connection, *, beside: Collection[str] = ()) -> bool:
    """Whether a file has nothing but tables and indexes of a steeltrap file and those `beside`: no trigger, view,
    virtual table or expression, which would run the SQL of whoever made the file."""
    if connection.pragma("application_id") != APPLICATION:
        return False
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"):
        if name.startswith("sqlite_"):
            continue
        if kind not in ("table", "index") or table not in (*TABLES, *beside) or not sql or _CODE.search(sql):
            return False
        if kind == "index" and sql.count("(") != 1:  # an expression, or a condition that calls a function
            return False
    columns = "SELECT max(hidden) FROM sqlite_schema AS made, pragma_table_xinfo(made.name) WHERE made.type = 'table'"
    return bool(connection.execute(columns).get == 0)


WORKS_SINCE: Final = 9
"""The oldest version whose tables the statements of this release read and write, where all of its columns are there."""


def is_current(connection: apsw.Connection) -> bool:
    """Whether a file has the tables of this release. Raises ValueError for a file of a newer steeltrap."""
    version = int(connection.pragma("user_version"))
    if version > len(MIGRATIONS):
        raise ValueError(f"the file has schema version {version}, this steeltrap knows {len(MIGRATIONS)}")
    columns = _columns(connection)
    if unknown := columns - _KNOWN:
        raise ValueError(f"the file has a column {min(unknown)} that this steeltrap doesn't know")
    return version == len(MIGRATIONS) and columns == _KNOWN


def works_on(connection: apsw.Connection) -> bool:
    """Whether the statements of this release read and write a file's tables. Raises ValueError as `is_current`."""
    if is_current(connection):
        return True
    return int(connection.pragma("user_version")) >= WORKS_SINCE and _columns(connection) >= _KNOWN


def migrate(connection: apsw.Connection) -> None:
    """Bring a file to the newest version. Raises ValueError for a file of a newer steeltrap."""
    if not is_current(connection):
        with transaction(connection):
            migrate_within(connection)


def migrate_within(connection: apsw.Connection) -> None:
    """Bring a file to the newest version, in the transaction that is under way. Raises ValueError as `migrate`."""
    # Another process may have migrated while this one waited for the lock.
    before = int(connection.pragma("user_version"))
    columns = _run_migrations(connection, before, len(MIGRATIONS))
    if unknown := columns - _KNOWN:
        raise ValueError(f"the file has a column {min(unknown)} that this steeltrap doesn't know")
    _add_derived(connection, columns)
    if 0 < before < _NOTES_DAYS:
        _note_days(connection)


def migrate_to(connection: apsw.Connection, version: int) -> None:
    """Bring a file to a version before the newest, in the transaction that is under way: without the columns that a
    release of that version derived from images, if it did."""
    _run_migrations(connection, int(connection.pragma("user_version")), version)


def make_version(connection: apsw.Connection, version: int) -> None:
    """Make the tables of an earlier version in a file without rows, in the transaction that is under way."""
    for table in TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    _run_migrations(connection, 0, version)


def versions_of_replicas() -> range:
    """The versions whose tables can be replicated, up to that of this release."""
    return range(_ORDERS_COLUMNS, len(MIGRATIONS) + 1)


def _run_migrations(connection: apsw.Connection, before: int, to: int) -> set[str]:
    """Bring the tables from one version to another; the columns that have what the images say."""
    if before == 0:
        connection.execute(_new_tables(MIGRATIONS[:to]))
        columns = _columns(connection)
    else:
        columns = _change_tables(connection, before, MIGRATIONS[before:to])
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", max(before, to))
    return columns


@cache
def _new_tables(migrations: tuple[str, ...]) -> str:
    """The script that makes the tables of a new file at once: one after the other, the migrations take five times as
    long, which the first write of each user would wait for."""
    with closing(apsw.Connection(":memory:")) as trial:
        _change_tables(trial, 0, migrations)
        made = trial.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
        return ";\n".join(sql for (sql,) in made)


def _change_tables(connection: apsw.Connection, before: int, migrations: tuple[str, ...]) -> set[str]:
    """Run the migrations that follow a version; the columns of the memories that have what the images say."""
    connection.create_scalar_function("fold_tag", lambda *of: fold_tag(str(of[0])), 1)
    connection.create_scalar_function("fold_category", lambda *of: fold_category(str(of[0])), 1)
    for migration in migrations:
        connection.execute(migration)
    columns = _columns(connection)
    if before < _ORDERS_COLUMNS and not columns - _KNOWN:
        _order_columns(connection, columns)
    return columns


def _order_columns(connection: apsw.Connection, columns: set[str]) -> None:
    """Put the memories into a table whose columns have the order of `_MEMORY`."""
    names = ", ".join(sorted(columns))
    connection.execute("ALTER TABLE memory RENAME TO memory_8")
    connection.execute(_MEMORY)
    connection.execute(f"INSERT INTO memory ({names}) SELECT {names} FROM memory_8 ORDER BY n")
    connection.execute("DROP TABLE memory_8")
    connection.execute(_MEMORY_INDEXES)


def _note_days(connection: apsw.Connection) -> None:
    """Add to the traits that a memory happened on a day without a time, which was written as midnight before."""
    is_day = "image ->> '$.occurred_at' LIKE '%T00:00:00+00:00'"
    connection.execute(f"UPDATE memory SET traits = traits | {int(Trait.DAY)} WHERE {is_day}")


_KNOWN: Final = frozenset(("n", *COLUMNS.split(", ")))


def _columns(connection: apsw.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info('memory')")}


def _add_derived(connection: apsw.Connection, columns: set[str]) -> None:
    """Add a column for each field that became filterable since the file was written with these columns, and for the
    traits, with what the images say."""
    filterable = [(at, name) for at, name in enumerate(FILTERED) if name not in columns]
    if not filterable and "traits" in columns:
        return
    new = {name: FILTERED[name] for _, name in filterable}
    if "traits" not in columns:
        new["traits"] = "INTEGER NOT NULL DEFAULT 0"
    present_columns = _columns(connection)
    for name, kind in new.items():
        if name not in present_columns:
            connection.execute(f"ALTER TABLE memory ADD COLUMN {name} {kind}")
    rows = []
    for n, image in connection.execute("SELECT n, image FROM memory"):
        memory = from_image(image)
        values = filtered(memory)
        row = [values[at] for at, _ in filterable] + [int(traits(memory))] * ("traits" in new)
        if any(row):
            rows.append((*row, n))
    places = ", ".join(f"{name} = ?" for name in new)
    connection.executemany(f"UPDATE memory SET {places} WHERE n = ?", rows)
