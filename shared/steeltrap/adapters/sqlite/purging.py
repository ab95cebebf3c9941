"""Forgetting, to the bytes: rows overwritten, the log cut, and the proof of it."""

from collections.abc import Sequence
from typing import Final

from ...ports import Deadline
from ...text.limits import from_key, to_key
from . import writes
from .connection import select
from .file import UserFile

_UNFINISHED: Final = "unscrubbed"
"""Set with the rows' removal, taken away when their bytes are gone: a crash in between is known."""
_NAMED: Final = (
    ("memory", "SELECT 1 FROM memory WHERE id = :key"),
    ("links", "SELECT 1 FROM link WHERE target = :key"),
    ("links of images", f"SELECT 1 FROM memory WHERE {writes.NAMING}"),
    ("links of earlier images", f"SELECT 1 FROM revision WHERE {writes.NAMING}"),
)


def purge(file: UserFile, ids: Sequence[str], deadline: Deadline) -> list[str]:
    """Remove memories and cut the log; the ids that were there.

    Raises Unavailable when the disk is too full to remove anything. It is also raised when a reader in another process
    held the log until the deadline, or the disk is too full to rewrite the file: the memories are gone from every
    answer then, and a repeated call or the next sweep finishes the work.
    """
    if not file.is_there():
        return []
    gone, unfinished = file.reserve.with_room(lambda: _remove(file, ids, deadline))
    if unfinished:
        file.scrub(deadline)
        with file.writing(deadline) as (connection, _):
            connection.execute("DELETE FROM meta WHERE key = ?", (_UNFINISHED,))
    return gone


def _remove(file: UserFile, ids: Sequence[str], deadline: Deadline) -> tuple[list[str], bool]:
    """The ids that were there, and whether bytes of these or earlier ones are left."""
    with file.writing(deadline) as (connection, number):
        before = connection.total_changes()
        gone = writes.purge(connection, [to_key(id) for id in ids], number)
        if connection.total_changes() != before:
            connection.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, 1)", (_UNFINISHED,))
        unfinished = connection.execute("SELECT 1 FROM meta WHERE key = ?", (_UNFINISHED,)).fetchone()
    return [from_key(key) for key in gone], unfinished is not None


def is_unfinished(file: UserFile) -> bool:
    """Whether a purge was cut short before the bytes were gone."""
    with file.reading() as connection:
        question = "SELECT 1 FROM meta WHERE key = ?"
        return connection is not None and connection.execute(question, (_UNFINISHED,)).fetchone() is not None


def traces(file: UserFile, id: str) -> list[str]:
    """Where an id is still known; what a user wrote of it in texts and metadata is no trace."""
    key = to_key(id)
    values = {"key": key, "names": writes.to_names([key])}
    with file.reading() as connection:
        if connection is None:
            return []
        return [name for name, question in _NAMED if select(connection, question, values)]
