"""Writing memories inside a transaction: rows, tags, links, vectors, revisions; checks under the lock."""

import dataclasses
import json
from collections.abc import Callable, Collection, Sequence

import apsw

from ...errors import AlreadyExists, Duplicate, MemoryNotFound, VersionConflict
from ...model import Memory, Revision, Surroundings, to_micros
from ...ports import Create, Entry, Guard, Replace
from ...record import from_image, to_image
from ...text.limits import from_key, to_key
from ...text.matching import fold_tag
from ...text.remains import named, without
from . import reading
from .connection import select
from .rows import ASSIGNMENTS, COLUMNS, CURRENT, NOT_A_TURN, PLACES, to_row, to_terms

LookAround = Callable[[Entry, float], Surroundings]
Write = Create | Replace

_INSERT = f"INSERT INTO memory ({COLUMNS}) VALUES ({PLACES})"
_UPDATE = f"UPDATE memory SET {ASSIGNMENTS} WHERE n = ?"

_AMONG = "IN (SELECT value FROM json_each(:names))"
NAMING = (
    """(instr(image, '"links":[') AND EXISTS (SELECT 1 FROM json_each(image, '$.links') AS link """
    f"WHERE lower(replace(link.value ->> 'target_id', '-', '')) {_AMONG}) "
    """OR instr(image, '"supersede') AND (lower(replace(image ->> '$.superseded_by', '-', '')) """
    f"{_AMONG} OR EXISTS (SELECT 1 FROM json_each(image, '$.supersedes') AS old "
    f"WHERE lower(replace(old.value, '-', '')) {_AMONG})))"
)
"""Admits the images that name one of the memories that `to_names` lists, by a link or by superseding."""


def without_dangling(connection: apsw.Connection, changes: Sequence[Write]) -> list[Write]:
    """The changes without what they name that is neither stored, deleted or not, nor made by them.

    Under the lock: what a look-around or an image was read before may have been purged since, and no
    write may bring its id back. An import's links are kept (`Create.links_ahead`).
    """
    made = {to_key(change.entry.memory.id) for change in changes}

    def is_there(target: str) -> bool:
        key = to_key(target)
        return key in made or connection.execute("SELECT 1 FROM memory WHERE id = ?", (key,)).fetchone() is not None

    targets = {target for change in changes for memory in _images(change) for target in named(memory)}
    gone = {target for target in targets if not is_there(target)}
    if not gone:
        return list(changes)
    return [
        change if isinstance(change, Create) and change.links_ahead else _without(change, gone) for change in changes
    ]


def create(connection: apsw.Connection, change: Create, number: int, now: int, look_around: LookAround) -> None:
    """Add a memory. Raises AlreadyExists for an id that is there, Duplicate for what its guard refuses."""
    entry = change.entry
    if change.guard is not None:
        _check_guard(connection, entry, change.guard, now, look_around)
    try:
        connection.execute(_INSERT, to_row(entry, number))
    except apsw.ConstraintError:
        raise AlreadyExists(f"A memory with id {entry.memory.id} already exists.", id=entry.memory.id) from None
    n = connection.last_insert_rowid()
    _write_around(connection, n, entry, fresh=True)
    reading.note_open_turn(connection, n, entry.memory)
    for revision in change.revisions:
        _keep(connection, n, revision)


def replace(connection: apsw.Connection, change: Replace, number: int) -> None:
    """Put a new image in place. Raises MemoryNotFound, or VersionConflict with the stored version."""
    memory = change.entry.memory
    stored = connection.execute("SELECT n, version FROM memory WHERE id = ?", (to_key(memory.id),)).fetchone()
    if stored is None:
        raise MemoryNotFound(f"No memory with id {memory.id}; search or list to find the right id.", id=memory.id)
    n, version = stored
    if version != change.expected:
        raise VersionConflict(
            f"Memory {memory.id} is at version {version}, not {change.expected}: read it again and repeat the change.",
            id=memory.id,
            version=version,
        )
    for revision in _revisions(change):
        _keep(connection, n, revision)
    connection.execute(_UPDATE, (*to_row(change.entry, number), n))
    _write_around(connection, n, change.entry, fresh=False)


def purge(connection: apsw.Connection, keys: Sequence[bytes], number: int) -> list[bytes]:
    """Remove memories and all that hangs on them; the keys that were there.

    Links are dropped whether or not what they name is there: so what an earlier purge missed is mended.
    """
    gone = []
    for key in keys:
        row = connection.execute("SELECT n FROM memory WHERE id = ?", (key,)).fetchone()
        if row is None:
            continue
        for table in ("search", "staged", "tag", "link", "revision", "usage", "open_turn", "memory"):
            connection.execute(f"DELETE FROM {table} WHERE n = ?", row)
        connection.execute("INSERT INTO purge (change, n) VALUES (?, ?)", (number, row[0]))
        gone.append(key)
    _remove_names(connection, {key for key in keys if key}, number)
    return gone


def to_names(keys: Collection[bytes]) -> str:
    """The values that NAMING is bound to."""
    return json.dumps([key.hex() for key in keys])


def _remove_names(connection: apsw.Connection, keys: Collection[bytes], number: int) -> None:
    """Take out what names a memory, in the images and the earlier images too. What it superseded comes back."""
    if not keys:
        return
    names, gone = {"names": to_names(keys)}, {from_key(key) for key in keys}
    for n, image in select(connection, f"SELECT n, image FROM memory WHERE {NAMING}", names):
        cut = to_image(without(from_image(image), gone))
        connection.execute("UPDATE memory SET image = ?, change = ? WHERE n = ?", (cut, number, n))
    back = "UPDATE memory SET superseded_by = NULL, superseded_at = NULL WHERE superseded_by = ?"
    connection.executemany(back, [(key,) for key in keys])
    for n, version, image in select(connection, f"SELECT n, version, image FROM revision WHERE {NAMING}", names):
        cut = to_image(without(from_image(image), gone))
        connection.execute("UPDATE revision SET image = ? WHERE n = ? AND version = ?", (cut, n, version))
    connection.executemany("DELETE FROM link WHERE target = ?", [(key,) for key in keys])


def _images(change: Write) -> list[Memory]:
    return [change.entry.memory, *(revision.memory for revision in _revisions(change))]


def _revisions(change: Write) -> Sequence[Revision]:
    if isinstance(change, Create):
        return change.revisions
    return change.earlier if change.revision is None else (*change.earlier, change.revision)


def _without(change: Write, gone: Collection[str]) -> Write:
    entry = dataclasses.replace(change.entry, memory=without(change.entry.memory, gone))
    revisions = tuple(dataclasses.replace(r, memory=without(r.memory, gone)) for r in _revisions(change))
    if isinstance(change, Create):
        return dataclasses.replace(change, entry=entry, revisions=revisions)
    if change.revision is None:
        return dataclasses.replace(change, entry=entry, earlier=revisions)
    return dataclasses.replace(change, entry=entry, earlier=revisions[:-1], revision=revisions[-1])


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
        connection.execute("DELETE FROM staged WHERE n = ?", (n,))
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
            f"SELECT id FROM memory WHERE fold = :fold AND scope = :scope AND {NOT_A_TURN} AND {CURRENT} "
            "ORDER BY created_at, id LIMIT 1",
            {"fold": entry.fold, "scope": entry.memory.scope, "now": now},
        ).fetchone()
        if row is not None:
            raise Duplicate("The same text is already stored in this scope.", id=from_key(row[0]), same_text=True)
    if guard.threshold is not None:
        near = look_around(entry, guard.threshold).near
        if near:
            raise Duplicate(
                f"Duplicate content detected (similarity: {near[0].cosine:.2f} >= {guard.threshold:g})",
                id=near[0].id,
                similarity=round(near[0].cosine, 4),
            )
