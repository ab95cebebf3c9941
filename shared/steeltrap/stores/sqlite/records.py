"""The rows of a user's file: a memory's row and its values, a filter as SQL, and every read of rows.

Read are pages of lists, walks, links, counts, open turns, sessions and imports, and what the index over the file needs.
"""

import json
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

import apsw

from ...model import (
    FILTERABLE,
    FLAGS,
    PROJECTS,
    TEXTS,
    TIMES,
    Embedding,
    Filter,
    Happened,
    Import,
    Memory,
    Page,
    ScopeUse,
    Session,
    from_micros,
    to_micros,
)
from ...model.frozen import frozen
from ...ports import (
    Entry,
    Gone,
    IdStarts,
    LatestWrites,
    Lookup,
    Naming,
    OfImport,
    OpenTurns,
    Pending,
)
from ...record import from_image, import_from_image, import_to_image, to_image
from ...text.limits import bounds_of_start, from_key, to_key
from ...text.matching import compared, fold_category, fold_tag
from ...text.words import Trait, traits
from ..exact.columns import Row
from ..exact.postings import word_digest
from .connection import select

FILTERED: Final = {
    name: "TEXT" if kind in ("text", "scope") else "INTEGER"
    for name, kind in FILTERABLE.items()
    if kind in ("text", "flag", "time", "scope")
}
"""The filterable fields that have a column of their own, and its type. Tags have a table; metadata is in the image."""
COLUMNS = ", ".join(
    (
        "id, version, change, turn, speaker, updated_at, expires_at, deleted_at, pinned, surprise, importance, fold, "
        "image, episode, traits, superseded_by, superseded_at",
        *FILTERED,
    )
)
PLACES = ", ".join("?" * (COLUMNS.count(",") + 1))
AMONG = "id IN (SELECT unhex(value) FROM json_each(?))"
"""Admits the memories of the ids that `to_keys` lists: one statement for any number of them."""

ASSIGNMENTS = ", ".join(f"{column} = ?" for column in COLUMNS.split(", "))


def to_row(entry: Entry, change: int) -> tuple[Any, ...]:
    """The values of COLUMNS."""
    m = entry.memory
    return (
        to_key(m.id),
        m.version,
        change,
        m.source == "conversation",
        entry.speaker,
        to_micros(m.updated_at),
        _micros(m.expires_at),
        _micros(m.deleted_at),
        m.pinned,
        m.surprise,
        None if m.importance is None else m.importance.score,
        entry.fold,
        to_image(m),
        m.is_episode,
        int(traits(m)),
        None if m.superseded_by is None else to_key(m.superseded_by),
        _micros(m.superseded_at),
        *filtered(m),
    )


REFERRING = "image = ?, superseded_by = ?, superseded_at = ?"
"""Sets what of a row follows from its references to other memories."""


def referring(memory: Memory) -> tuple[Any, ...]:
    """The values of REFERRING."""
    by = None if memory.superseded_by is None else to_key(memory.superseded_by)
    return to_image(memory), by, _micros(memory.superseded_at)


def filtered(memory: Memory) -> list[str | int | None]:
    """The values of FILTERED."""
    values = [compared(memory, name) for name in FILTERED]
    return [to_micros(value) if isinstance(value, date) else value for value in values]


def to_keys(ids: Iterable[str]) -> str:
    """Ids as `AMONG` takes them."""
    return json.dumps([to_key(id).hex() for id in ids])


def to_terms(tokens: Sequence[str]) -> bytes:
    """Distinct tokens as 8-byte digests, then how often each occurs, 2 bytes each."""
    counts = Counter(tokens)
    frequencies = array("H", [min(count, 65_535) for count in counts.values()])
    return b"".join(map(word_digest, counts)) + frequencies.tobytes()


def _micros(at: Any) -> int | None:
    return None if at is None else to_micros(at)


_NAMED = "IN (SELECT value FROM json_each(:names))"
NAMING = (
    """(instr(image, '"links":[') AND EXISTS (SELECT 1 FROM json_each(image, '$.links') AS link """
    f"WHERE lower(replace(link.value ->> 'target_id', '-', '')) {_NAMED}) "
    """OR instr(image, '"supersede') AND (lower(replace(image ->> '$.superseded_by', '-', '')) """
    f"{_NAMED} OR EXISTS (SELECT 1 FROM json_each(image, '$.supersedes') AS old "
    f"WHERE lower(replace(old.value, '-', '')) {_NAMED})))"
)
"""Admits the images that name one of the memories that `to_names` lists, by a link or by superseding."""


def to_names(keys: Collection[bytes]) -> str:
    """The values that NAMING is bound to."""
    return json.dumps([key.hex() for key in keys])


VISIBLE = "deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
CURRENT = f"{VISIBLE} AND superseded_at IS NULL"
NOT_A_TURN = "NOT turn"


def conditions(filter: Filter, now: int) -> tuple[str, dict[str, object]]:
    """The WHERE clause for what is visible at `now` (microseconds) and passes the filter, with bindings."""
    where = [VISIBLE]
    values: dict[str, object] = {"now": now}
    where += _turns(filter, values) + _superseding(filter, values)
    for column in TEXTS:
        if (value := compared(filter, column)) is not None:
            where.append(f"{column} = :{column}")
            values[column] = value
    for column in FLAGS:
        if (flag := getattr(filter, column)) is not None:
            # A row of before the column has no value there.
            where.append(column if flag else f"{column} IS NOT 1")
    for column in TIMES:
        bounds = zip((">=", "<"), filter.between(column), filter.between(column, days=True), strict=True)
        for name, (comparison, time, day) in zip(("after", "before"), bounds, strict=True):
            if time is None or day is None:
                continue
            bound = f":{column}_{name}"
            values[bound[1:]] = to_micros(time)
            if day != time:
                bound = f"CASE WHEN traits & {int(Trait.DAY)} THEN {bound}_day ELSE {bound} END"
                values[f"{column}_{name}_day"] = to_micros(day)
            where.append(f"{column} {comparison} {bound}")
    where += _scope(filter, values)
    if filter.categories:
        names = {f"category{i}": fold_category(category) for i, category in enumerate(filter.categories)}
        where.append(f"category IN ({', '.join(f':{name}' for name in names)})")
        values |= names
    for i, tag in enumerate(filter.tags):
        where.append(f"EXISTS (SELECT 1 FROM tag WHERE tag.n = memory.n AND tag.tag = :tag{i})")
        values[f"tag{i}"] = fold_tag(tag)
    for i, (key, value) in enumerate(filter.metadata.items()):
        where.append(
            "EXISTS (SELECT 1 FROM json_each(memory.image, '$.metadata') AS pair "
            f"WHERE pair.key = :key{i} AND pair.value IS :value{i} AND (pair.type IN ('true', 'false')) = :bool{i} "
            "AND pair.type NOT IN ('array', 'object'))"
        )
        values |= {f"key{i}": key, f"value{i}": value, f"bool{i}": isinstance(value, bool)}
    return " AND ".join(where), values


def _turns(filter: Filter, values: dict[str, object]) -> list[str]:
    kinds = ["turn"] if filter.episodes else ["turn", "episode"]
    if not filter.include_turns:
        return [f"NOT {kind}" for kind in kinds]
    if filter.turns_of is None:
        return []
    values["turns_of"] = filter.turns_of
    return [f"(NOT {kind} OR conversation_id = :turns_of)" for kind in kinds]


def _superseding(filter: Filter, values: dict[str, object]) -> list[str]:
    if filter.include_superseded:
        return []
    if filter.as_of is None:
        return ["superseded_at IS NULL"]
    values["as_of"] = to_micros(filter.as_of)
    return ["(superseded_at IS NULL OR superseded_at > :as_of)"]


def _scope(filter: Filter, values: dict[str, object]) -> list[str]:
    where = []
    if filter.scope is not None:
        values["scope"] = filter.scope
        where.append(_within("scope", filter.scope, values) if filter.include_child_scopes else "scope = :scope")
    if filter.project is not None:
        others, own = _within("projects", PROJECTS, values), _within("project", filter.project, values)
        where.append(f"(NOT {others} OR {own})")
    return where


def _within(name: str, scope: str, values: dict[str, object]) -> str:
    # "0" is the character after "/", so this is the range of all that begins with the scope and a slash.
    values |= {name: scope, f"{name}_below": f"{scope}/", f"{name}_end": f"{scope}0"}
    return f"(scope = :{name} OR (scope >= :{name}_below AND scope < :{name}_end))"


def read_vectors(
    connection: apsw.Connection, ids: Sequence[str], size: int, table: str
) -> dict[str, tuple[Embedding, ...]]:
    """The embeddings of each memory that can be searched, in a table; `size` is one vector's bytes."""
    rows = select(
        connection,
        f"SELECT id, vectors FROM memory JOIN {table} USING (n) WHERE deleted_at IS NULL AND {AMONG}",
        (to_keys(ids),),
    )
    return {from_key(key): tuple(blob[at : at + size] for at in range(0, len(blob), size)) for key, blob in rows}


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


def changes(connection: apsw.Connection, since: int, most: int) -> list[str] | None:
    """The ids of the memories that were written after a change; None where they are more than `most`, or one was
    removed meanwhile, which leaves no id."""
    if select(connection, "SELECT 1 FROM purge WHERE change > ? LIMIT 1", (since,)):
        return None
    rows = select(
        connection, "SELECT id FROM memory INDEXED BY memory_change WHERE change > ? LIMIT ?", (since, most + 1)
    )
    return [from_key(key) for (key,) in rows] if len(rows) <= most else None


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
        case Naming(field, ids):
            newer = "superseded_by IN (SELECT unhex(value) FROM json_each(?))"
            linked = "n IN (SELECT n FROM link WHERE target IN (SELECT unhex(value) FROM json_each(?)))"
            return _ids(connection, linked if field == "links" else newer, (to_keys(ids),))
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
