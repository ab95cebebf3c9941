"""Writing memories inside a transaction: rows, tags, links, vectors, revisions; checks under the lock."""

import dataclasses
from collections.abc import Callable, Sequence

import apsw

from ...errors import Conflict, NotFound
from ...model import Revision, Surroundings, to_micros
from ...ports import Create, Entry, Guard, Replace
from .connection import select
from .filters import NOT_A_TURN, VISIBLE
from .rows import ASSIGNMENTS, COLUMNS, PLACES, fold_tag, from_image, from_key, to_image, to_key, to_row, to_terms

LookAround = Callable[[Entry, float], Surroundings]

_INSERT = f"INSERT INTO memory ({COLUMNS}) VALUES ({PLACES})"
_UPDATE = f"UPDATE memory SET {ASSIGNMENTS} WHERE n = ?"


def create(connection: apsw.Connection, change: Create, number: int, now: int, look_around: LookAround) -> None:
    """Add a memory. Raises Conflict for an id or a guarded duplicate that is there."""
    entry = change.entry
    if change.guard is not None:
        _check_guard(connection, entry, change.guard, now, look_around)
    try:
        connection.execute(_INSERT, to_row(entry, number))
    except apsw.ConstraintError:
        raise Conflict(f"A memory with id {entry.memory.id} exists already.", id=entry.memory.id) from None
    n = connection.last_insert_rowid()
    _write_around(connection, n, entry, fresh=True)
    for revision in change.revisions:
        _keep(connection, n, revision)


def replace(connection: apsw.Connection, change: Replace, number: int) -> None:
    """Put a new image in place. Raises NotFound, or Conflict that carries the stored version."""
    memory = change.entry.memory
    stored = connection.execute("SELECT n, version FROM memory WHERE id = ?", (to_key(memory.id),)).fetchone()
    if stored is None:
        raise NotFound(f"No memory with id {memory.id}; search or list to find the right id.", id=memory.id)
    n, version = stored
    if version != change.expected:
        raise Conflict(
            f"Memory {memory.id} is at version {version}, not {change.expected}: read it again and repeat the change.",
            id=memory.id,
            version=version,
        )
    if change.revision is not None:
        _keep(connection, n, change.revision)
    connection.execute(_UPDATE, (*to_row(change.entry, number), n))
    _write_around(connection, n, change.entry, fresh=False)


def purge(connection: apsw.Connection, keys: Sequence[bytes], number: int) -> list[bytes]:
    """Remove memories and all that hangs on them; the keys that were there."""
    gone = []
    for key in keys:
        row = connection.execute("SELECT n FROM memory WHERE id = ?", (key,)).fetchone()
        if row is None:
            continue
        for table in ("search", "tag", "link", "revision", "usage", "memory"):
            connection.execute(f"DELETE FROM {table} WHERE n = ?", row)
        _unname(connection, key, number)
        connection.execute("INSERT INTO purge (change, n) VALUES (?, ?)", (number, row[0]))
        gone.append(key)
    return gone


def _unname(connection: apsw.Connection, key: bytes, number: int) -> None:
    """Drop the links that name a memory, in the images and the earlier images that have them too."""
    id = from_key(key)
    for n, image in select(connection, "SELECT n, image FROM memory JOIN link USING (n) WHERE target = ?", (key,)):
        connection.execute("UPDATE memory SET image = ?, change = ? WHERE n = ?", (_without_link(image, id), number, n))
    for n, version, image in select(connection, "SELECT n, version, image FROM revision WHERE instr(image, ?)", (id,)):
        connection.execute(
            "UPDATE revision SET image = ? WHERE n = ? AND version = ?", (_without_link(image, id), n, version)
        )
    connection.execute("DELETE FROM link WHERE target = ?", (key,))


def _without_link(image: str, id: str) -> str:
    memory = from_image(image)
    return to_image(dataclasses.replace(memory, links=tuple(link for link in memory.links if link.target_id != id)))


def _write_around(connection: apsw.Connection, n: int, entry: Entry, *, fresh: bool) -> None:
    memory = entry.memory
    if not fresh:
        connection.execute("DELETE FROM tag WHERE n = ?", (n,))
        connection.execute("DELETE FROM link WHERE n = ?", (n,))
    for tag in {fold_tag(tag) for tag in memory.tags}:
        connection.execute("INSERT INTO tag (tag, n) VALUES (?, ?)", (tag, n))
    for link in memory.links:
        connection.execute(
            "INSERT OR REPLACE INTO link (n, target, strength, manual) VALUES (?, ?, ?, ?)",
            (n, to_key(link.target_id), link.strength, link.manual),
        )
    if entry.embeddings is None or entry.tokens is None:
        return
    if not fresh:
        connection.execute("DELETE FROM search WHERE n = ?", (n,))
    if entry.embeddings:
        connection.execute(
            "INSERT INTO search (n, terms, vectors) VALUES (?, ?, ?)",
            (n, to_terms(entry.tokens), b"".join(entry.embeddings)),
        )


def _keep(connection: apsw.Connection, n: int, revision: Revision) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO revision (n, version, replaced_at, replaced_by, image) VALUES (?, ?, ?, ?, ?)",
        (
            n,
            revision.memory.version,
            to_micros(revision.replaced_at),
            revision.replaced_by,
            to_image(revision.memory),
        ),
    )


def _check_guard(connection: apsw.Connection, entry: Entry, guard: Guard, now: int, look_around: LookAround) -> None:
    if guard.same_text:
        row = connection.execute(
            f"SELECT id FROM memory WHERE fold = :fold AND scope = :scope AND {NOT_A_TURN} AND {VISIBLE} "
            "ORDER BY created_at, id LIMIT 1",
            {"fold": entry.fold, "scope": entry.memory.scope, "now": now},
        ).fetchone()
        if row is not None:
            raise Conflict("The same text is stored in this scope already.", id=from_key(row[0]), same_text=True)
    if guard.threshold is not None:
        near = look_around(entry, guard.threshold).near
        if near:
            raise Conflict(
                f"Duplicate content detected (similarity: {near[0].cosine:.2f} >= {guard.threshold:g})",
                id=near[0].id,
                similarity=round(near[0].cosine, 4),
            )
