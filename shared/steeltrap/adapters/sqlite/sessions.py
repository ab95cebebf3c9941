"""The sessions that were begun by name."""

import apsw

from ...model import Session, from_micros, to_micros
from .connection import select


def read(connection: apsw.Connection) -> list[Session]:
    """All sessions, oldest first, then by id."""
    rows = select(connection, "SELECT id, created_at FROM session ORDER BY created_at, id")
    return [Session(id=id, created_at=from_micros(at)) for id, at in rows]


def add(connection: apsw.Connection, session: Session) -> bool:
    """Add a session, unless its id is there."""
    connection.execute(
        "INSERT OR IGNORE INTO session (id, created_at) VALUES (?, ?)", (session.id, to_micros(session.created_at))
    )
    return connection.changes() > 0


def remove(connection: apsw.Connection, id: str) -> bool:
    """Remove a session."""
    connection.execute("DELETE FROM session WHERE id = ?", (id,))
    return connection.changes() > 0
