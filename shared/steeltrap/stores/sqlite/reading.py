"""Reads row by row: pages of lists, walks, links, counts, open turns, sessions, imports, and the rows of the index."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import apsw

from ...model import Filter, Happened, Import, Memory, Page, ScopeUse, Session, from_micros, to_micros
from ...model.frozen import frozen
from ...ports import Gone, IdStarts, LatestWrites, LinkedTo, Lookup, OfImport, OpenTurns, Pending, SupersededBy
from ...record import from_image, import_from_image, import_to_image
from ...text.limits import bounds_of_start, from_key, to_key
from ...text.words import Trait
from ..exact.columns import Row
from .connection import select
from .rows import CURRENT, NOT_A_TURN, VISIBLE, conditions, to_keys

_BLOCK: Final = 256


_HAPPENED: Final = "coalesce(occurred_at, created_at)"


def page(
    connection: apsw.Connection, filter: Filter, now: int, *, limit: int, offset: int, happened: Happened | None
) -> Page:
    """A page of what the filter admits, newest first, or the latest event first, then id; and the exact total."""
    where, values = conditions(replace(filter, include_turns=False, as_of=None), now)
    order = "created_at"
    if happened is not None:
        order = _HAPPENED
        bounds, more = _happened(happened)
        where, values = " AND ".join((where, *bounds)), values | more
    [(total,)] = select(connection, f"SELECT count(*) FROM memory WHERE {where}", values)
    # The rows are sorted without their images.
    rows = select(
        connection,
        f"SELECT image FROM memory JOIN (SELECT n FROM memory WHERE {where} ORDER BY {order} DESC, id "
        f"LIMIT :limit OFFSET :offset) USING (n) ORDER BY {order} DESC, id",
        values | {"limit": limit, "offset": offset},
    )
    return Page(memories=tuple(from_image(image) for (image,) in rows), total=total)


def _happened(happened: Happened) -> tuple[list[str], dict[str, object]]:
    """The conditions for what happened within these bounds, and their values."""
    where: list[str] = []
    values: dict[str, object] = {}
    bounds = ((">=", "after", "first_day"), ("<", "before", "end_day"))
    for comparison, moment, day in bounds:
        if (at := getattr(happened, moment)) is not None:
            where.append(f"{_HAPPENED} {comparison} CASE WHEN traits & {int(Trait.DAY)} THEN :{day} ELSE :{moment} END")
            values |= {moment: to_micros(at), day: to_micros(getattr(happened, day) or at)}
    return where, values


def block(connection: apsw.Connection, last: int, now: int, *, turns: bool) -> list[tuple[int, Memory]]:
    """The next visible memories after a row, each with its row's number."""
    rows = select(
        connection,
        f"SELECT n, image FROM memory WHERE n > :last AND {VISIBLE} AND (:turns OR {NOT_A_TURN}) "
        f"ORDER BY n LIMIT {_BLOCK}",
        {"last": last, "now": now, "turns": turns},
    )
    return [(n, from_image(image)) for n, image in rows]


def images(connection: apsw.Connection, last: int) -> list[tuple[int, Memory]]:
    """The next images after a row, of turns, deleted and expired ones too, each with its row's number."""
    rows = select(connection, f"SELECT n, image FROM memory WHERE n > ? ORDER BY n LIMIT {_BLOCK}", (last,))
    return [(n, from_image(image)) for n, image in rows]


def earlier_images(connection: apsw.Connection, last: tuple[int, int]) -> list[tuple[tuple[int, int], Memory]]:
    """The next images that updates replaced, after a row's number and a version, each with its own."""
    rows = select(
        connection,
        f"SELECT n, version, image FROM revision WHERE (n, version) > (?, ?) ORDER BY n, version LIMIT {_BLOCK}",
        last,
    )
    return [((n, version), from_image(image)) for n, version, image in rows]


def row_number(connection: apsw.Connection, id: str) -> int | None:
    """The number of a memory's row, deleted or not; None without one."""
    row = connection.execute("SELECT n FROM memory WHERE id = ?", (to_key(id),)).fetchone()
    return None if row is None else int(row[0])


def find(connection: apsw.Connection, lookup: Lookup, now: int) -> list[str]:
    """The ids that a lookup names."""
    match lookup:
        case IdStarts(starts, limit):
            bounds = [(*bounds_of_start(start), limit) for start in starts]
            return [
                id for values in bounds for id in _ids(connection, "id BETWEEN ? AND ? ORDER BY id LIMIT ?", values)
            ]
        case SupersededBy(ids):
            return _ids(connection, "superseded_by IN (SELECT unhex(value) FROM json_each(?))", (to_keys(ids),))
        case LinkedTo(ids):
            linked = "SELECT n FROM link WHERE target IN (SELECT unhex(value) FROM json_each(?))"
            return _ids(connection, f"n IN ({linked})", (to_keys(ids),))
        case OfImport(id):
            return _ids(connection, "import_id = ?", (id,))
        case LatestWrites(limit):
            return _ids(connection, "TRUE ORDER BY change DESC, n DESC LIMIT ?", (limit,))
        case Gone(deleted_before):
            return _ids(connection, "deleted_at < ? OR expires_at <= ?", (to_micros(deleted_before), now))
        case Pending():
            # An index of the same file always answers; only what was imported from elsewhere may be pending.
            where = f"{VISIBLE} AND {NOT_A_TURN} AND instr(image, '\"lookaround_pending\":true')"
            return _ids(connection, f"{where} AND image ->> '$.lookaround_pending'", {"now": now})
        case OpenTurns(conversation_id):
            turns = "SELECT id FROM open_turn JOIN memory USING (n) WHERE open_turn.conversation_id = ? ORDER BY n"
            return [from_key(key) for (key,) in connection.execute(turns, (conversation_id,))]


def _ids(connection: apsw.Connection, where: str, values: tuple[Any, ...] | dict[str, Any]) -> list[str]:
    return [from_key(key) for (key,) in select(connection, f"SELECT id FROM memory WHERE {where}", values)]


def successions(connection: apsw.Connection, ids: Sequence[str], now: int) -> dict[str, str]:
    """The successors of these memories, and theirs in turn, of those that are visible: a row a memory."""
    rows = select(
        connection,
        "WITH RECURSIVE chain (id, newer) AS ("
        f"  SELECT id, superseded_by FROM memory WHERE id IN (SELECT unhex(value) FROM json_each(:ids)) AND {VISIBLE}"
        f"  UNION SELECT memory.id, superseded_by FROM chain JOIN memory ON memory.id = chain.newer WHERE {VISIBLE}"
        ") SELECT id, newer FROM chain WHERE newer IS NOT NULL",
        {"ids": to_keys(ids), "now": now},
    )
    return {from_key(id): from_key(newer) for id, newer in rows}


def scopes(connection: apsw.Connection, now: int) -> dict[str, ScopeUse]:
    """The memories in each scope, without the scopes below it."""
    rows = select(
        connection,
        f"SELECT scope, count(*), max(updated_at) FROM memory WHERE {CURRENT} AND {NOT_A_TURN} GROUP BY scope",
        {"now": now},
    )
    return {scope: ScopeUse(memories=count, last_written_at=from_micros(at)) for scope, count, at in rows}


def statistics(connection: apsw.Connection | None, now: int, vector_bytes: int) -> dict[str, int]:
    """The numbers of `Space.statistics`; without a file all are 0."""
    if connection is None:
        return dict.fromkeys(("memories", "superseded", "turns", "deleted", "chunks", "bytes", "record_bytes"), 0)
    [(memories, superseded, turns, deleted, record_bytes)] = connection.execute(
        f"SELECT total({CURRENT} AND {NOT_A_TURN}), total({VISIBLE} AND superseded_at IS NOT NULL AND {NOT_A_TURN}), "
        f"total({VISIBLE} AND turn), total(NOT ({VISIBLE})), total(octet_length(image)) FROM memory",
        {"now": now},
    )
    [(vectors,)] = connection.execute("SELECT total(length(vectors)) FROM search")
    return {
        "memories": int(memories),
        "superseded": int(superseded),
        "turns": int(turns),
        "deleted": int(deleted),
        "chunks": int(vectors) // vector_bytes,
        "bytes": int(connection.pragma("page_count") * connection.pragma("page_size")),
        "record_bytes": int(record_bytes),
    }


def note_open_turn(connection: apsw.Connection, n: int, memory: Memory) -> None:
    """A new turn is open."""
    if memory.source == "conversation" and memory.conversation_id is not None:
        connection.execute("INSERT INTO open_turn (conversation_id, n) VALUES (?, ?)", (memory.conversation_id, n))


def close_turns(connection: apsw.Connection, turn_ids: Sequence[str]) -> None:
    """Take turns out of the open ones."""
    connection.executemany(
        "DELETE FROM open_turn WHERE n = (SELECT n FROM memory WHERE id = ?)", [(to_key(id),) for id in turn_ids]
    )


def idle_conversations(connection: apsw.Connection, since: int, now: int, limit: int) -> list[str]:
    """The conversations whose last open turn was written at or before `since` (microseconds)."""
    rows = select(
        connection,
        "SELECT open_turn.conversation_id FROM open_turn JOIN memory USING (n) "
        f"WHERE {VISIBLE} GROUP BY 1 HAVING max(created_at) <= :since ORDER BY max(created_at), 1 LIMIT :limit",
        {"since": since, "now": now, "limit": limit},
    )
    return [conversation for (conversation,) in rows]


def read_sessions(connection: apsw.Connection) -> list[Session]:
    """All sessions, oldest first, then by id."""
    rows = select(connection, "SELECT id, created_at FROM session ORDER BY created_at, id")
    return [Session(id=id, created_at=from_micros(at)) for id, at in rows]


def add_session(connection: apsw.Connection, session: Session) -> bool:
    """Add a session, unless its id is there."""
    connection.execute(
        "INSERT OR IGNORE INTO session (id, created_at) VALUES (?, ?)", (session.id, to_micros(session.created_at))
    )
    return connection.changes() > 0


def remove_session(connection: apsw.Connection, id: str) -> bool:
    """Remove a session."""
    connection.execute("DELETE FROM session WHERE id = ?", (id,))
    return connection.changes() > 0


def read_imports(connection: apsw.Connection) -> list[Import]:
    """All imports, the latest begun first, then by id."""
    imports = [import_from_image(image) for (image,) in select(connection, "SELECT image FROM imports", ())]
    return sorted(imports, key=lambda run: (-to_micros(run.started_at), run.id))


def put_import(connection: apsw.Connection, run: Import) -> None:
    """Write an import, in place of the one of its id."""
    connection.execute("INSERT OR REPLACE INTO imports (id, image) VALUES (?, ?)", (run.id, import_to_image(run)))


_INDEX_COLUMNS: Final = (
    "memory.n, id, turn, episode, scope, conversation_id, speaker, created_at, occurred_at, traits, expires_at, "
    "superseded_at, pinned, surprise, importance, terms, vectors "
)
_ALL: Final = (
    f"SELECT {_INDEX_COLUMNS} FROM memory LEFT JOIN search USING (n) WHERE deleted_at IS NULL ORDER BY memory.n"
)
# Without the hint SQLite walks the whole table for the few rows that are new.
_NEW: Final = (
    f"SELECT deleted_at IS NOT NULL, {_INDEX_COLUMNS} FROM memory INDEXED BY memory_change LEFT JOIN search USING (n) "
    "WHERE change > ?"
)


@frozen(kw_only=False)
class IndexSource:
    """A user's file as the index over it is read from, and its header."""

    connection: apsw.Connection
    meta: Mapping[str, Any]

    def state(self) -> tuple[str | None, int]:
        return self.meta.get("generation"), self.meta.get("change", 0)

    def size(self) -> tuple[int, int]:
        [(rows, size)] = self.connection.execute(
            "SELECT count(*), total(length(vectors)) FROM memory JOIN search USING (n) WHERE deleted_at IS NULL"
        )
        return rows, int(size)

    def rows(self) -> Iterator[Row]:
        return (Row(*row) for row in self.connection.execute(_ALL))

    def changes(self, since: int) -> Iterator[tuple[int, Row | None]]:
        for (n,) in self.connection.execute("SELECT n FROM purge WHERE change > ?", (since,)):
            yield n, None
        for deleted, *row in self.connection.execute(_NEW, (since,)):
            yield row[0], None if deleted else Row(*row)
