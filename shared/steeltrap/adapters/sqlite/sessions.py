"""The sessions that were begun by name, and the imports."""

import apsw

from ...model import Import, Session, from_micros, to_micros
from ...record import import_from_image, import_to_image
from ...text.limits import from_key
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


def imports(connection: apsw.Connection) -> list[Import]:
    """All imports, the latest begun first, then by id."""
    found = [import_from_image(image) for (image,) in select(connection, "SELECT image FROM imports", ())]
    return sorted(found, key=lambda run: (-to_micros(run.started_at), run.id))


def put_import(connection: apsw.Connection, run: Import) -> None:
    """Write an import, in place of the one of its id."""
    connection.execute("INSERT OR REPLACE INTO imports (id, image) VALUES (?, ?)", (run.id, import_to_image(run)))


def brought_by(connection: apsw.Connection, import_id: str) -> list[str]:
    """The ids of the memories and turns of an import."""
    rows = select(connection, "SELECT id FROM memory WHERE import_id = ?", (import_id,))
    return [from_key(key) for (key,) in rows]
