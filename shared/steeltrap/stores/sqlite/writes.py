"""Writing memories inside a transaction: rows, tags, links, vectors, revisions; checks under the lock."""

from collections.abc import Collection, Sequence

import apsw

from ...changes.batch import batch_of, settle
from ...changes.images import without_references
from ...errors import IndexUnavailable
from ...model import Neighbour, Revision, to_micros
from ...model.frozen import frozen
from ...ports import Change, Clock, Create, Deadline, Entry, Probe, Replace
from ...record import from_image, to_image
from ...text.limits import from_key, to_key
from ...text.matching import fold_tag
from ..exact.index import Index
from . import records
from .connection import select
from .file import UserFile
from .header import move_staged
from .records import (
    ASSIGNMENTS,
    COLUMNS,
    CURRENT,
    NAMING,
    NOT_A_TURN,
    PLACES,
    REFERRING,
    referring,
    to_names,
    to_row,
    to_terms,
)

_INSERT = f"INSERT INTO memory (n, {COLUMNS}) VALUES (?, {PLACES})"
_UPDATE = f"UPDATE memory SET {ASSIGNMENTS} WHERE n = ?"


def stored(connection: apsw.Connection, ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """The row number and the version of each of these memories, deleted or not."""
    # A statement for each: quicker than one for all, as long as a batch names a few dozen.
    rows = {
        id: connection.execute("SELECT n, version FROM memory WHERE id = ?", (to_key(id),)).fetchone() for id in ids
    }
    return {id: row for id, row in rows.items() if row is not None}


@frozen(kw_only=False)
class StoredDuplicates:
    """Looks for duplicates under the write lock, before anything of the batch is written."""

    file: UserFile
    connection: apsw.Connection
    now: int

    def same_text(self, entry: Entry) -> list[str]:
        rows = self.connection.execute(
            f"SELECT id FROM memory WHERE fold = :fold AND scope = :scope AND {NOT_A_TURN} AND {CURRENT} "
            "ORDER BY created_at, id",
            {"fold": entry.fold, "scope": entry.memory.scope, "now": self.now},
        )
        return [from_key(key) for (key,) in rows]

    def near(self, entry: Entry, floor: float, top_k: int) -> tuple[Neighbour, ...]:
        probe = Probe(embeddings=entry.embeddings or (), scope=entry.memory.scope, leave_out=entry.memory.id)
        with self.file.index_under_lock(self.connection) as index:
            return with_vectors(index).look_around([probe], self.now, floor, top_k, exact=True)[0].near


def with_vectors(index: Index) -> Index:
    """The index, where it has vectors to compare. Raises IndexUnavailable."""
    if index.degraded is not None:
        raise IndexUnavailable(f"Nothing can be compared: {index.degraded}", part="index")
    return index


def commit(file: UserFile, changes: Sequence[Change], clock: Clock, deadline: Deadline) -> None:
    """Write all of the changes, or none of them, checked under the lock. Raises as `Space.commit` does."""
    batch = batch_of(changes)

    def redo(connection: apsw.Connection, number: int) -> None:
        now = clock.now()
        rows = stored(connection, {*batch.ids, *batch.looked_up})
        versions = {id: version for id, (_, version) in rows.items()}
        for write in settle(batch, versions, StoredDuplicates(file, connection, to_micros(now)), now):
            if isinstance(write, Create):
                create(connection, write, number)
            else:
                replace(connection, rows[write.entry.memory.id][0], write, number)
        if file.header.is_next(connection):
            move_staged(connection, [write.entry.memory.id for write in batch.writes if write.entry.embeddings])
        if batch.closed:
            records.close_turns(connection, batch.closed)

    file.transaction("change", redo, deadline)


def create(connection: apsw.Connection, write: Create, number: int, *, n: int | None = None) -> None:
    """Add a memory, as the last row or one of a number."""
    connection.execute(_INSERT, (n, *to_row(write.entry, number)))
    n = connection.last_insert_rowid()
    _write_around(connection, n, write.entry, fresh=True)
    records.note_open_turn(connection, n, write.entry.memory)
    for revision in write.history:
        _keep(connection, n, revision)


def replace(connection: apsw.Connection, n: int, write: Replace, number: int) -> None:
    """Put a new image in place of a row's."""
    for revision in write.history:
        _keep(connection, n, revision)
    connection.execute(_UPDATE, (*to_row(write.entry, number), n))
    _write_around(connection, n, write.entry, fresh=False)


def purge(connection: apsw.Connection, keys: Sequence[bytes], number: int) -> list[bytes]:
    """Remove memories and all that hangs on them; the keys that were there.

    Links are dropped whether or not what they name is there: so what an earlier purge missed is mended.
    """
    removed_keys = []
    for key in keys:
        row = connection.execute("SELECT n FROM memory WHERE id = ?", (key,)).fetchone()
        if row is None:
            continue
        for table in ("search", "staged", "tag", "link", "revision", "usage", "open_turn", "memory"):
            connection.execute(f"DELETE FROM {table} WHERE n = ?", row)
        connection.execute("INSERT INTO purge (change, n) VALUES (?, ?)", (number, row[0]))
        removed_keys.append(key)
    _remove_names(connection, {key for key in keys if key}, number)
    return removed_keys


def _remove_names(connection: apsw.Connection, keys: Collection[bytes], number: int) -> None:
    """Take the references to memories out of all images, earlier ones too."""
    if not keys:
        return
    names, ids = {"names": to_names(keys)}, {from_key(key) for key in keys}
    for n, image in select(connection, f"SELECT n, image FROM memory WHERE {NAMING}", names):
        freed = without_references(from_image(image), ids)
        connection.execute(f"UPDATE memory SET {REFERRING}, change = ? WHERE n = ?", (*referring(freed), number, n))
    for n, version, image in select(connection, f"SELECT n, version, image FROM revision WHERE {NAMING}", names):
        cut = to_image(without_references(from_image(image), ids))
        connection.execute("UPDATE revision SET image = ? WHERE n = ? AND version = ?", (cut, n, version))
    connection.executemany("DELETE FROM link WHERE target = ?", [(key,) for key in keys])


def _write_around(connection: apsw.Connection, n: int, entry: Entry, *, fresh: bool) -> None:
    memory = entry.memory
    if not fresh:
        connection.execute("DELETE FROM tag WHERE n = ?", (n,))
        connection.execute("DELETE FROM link WHERE n = ?", (n,))
    tags = {fold_tag(tag) for tag in memory.tags}
    connection.executemany("INSERT INTO tag (tag, n) VALUES (?, ?)", [(tag, n) for tag in tags])
    connection.executemany(
        "INSERT OR REPLACE INTO link (n, target, strength, manual) VALUES (?, ?, ?, ?)",
        [(n, to_key(link.target_id), link.strength, link.manual) for link in memory.links],
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
