"""How much is stored, and what is in each scope."""

import apsw

from ...model import ScopeUse, from_micros
from .connection import select
from .filters import NOT_A_TURN, VISIBLE


def scopes(connection: apsw.Connection, now: int) -> dict[str, ScopeUse]:
    """What lies directly in each scope."""
    rows = select(
        connection,
        f"SELECT scope, count(*), max(updated_at) FROM memory WHERE {VISIBLE} AND {NOT_A_TURN} GROUP BY scope",
        {"now": now},
    )
    return {scope: ScopeUse(memories=count, last_written_at=from_micros(at)) for scope, count, at in rows}


def statistics(connection: apsw.Connection | None, now: int, vector_bytes: int) -> dict[str, int]:
    """The numbers of `Space.statistics`; without a file all are 0."""
    if connection is None:
        return {"memories": 0, "turns": 0, "deleted": 0, "chunks": 0, "bytes": 0, "record_bytes": 0}
    [(memories, turns, deleted, record_bytes)] = connection.execute(
        f"SELECT total({VISIBLE} AND {NOT_A_TURN}), total({VISIBLE} AND turn), total(NOT ({VISIBLE})), "
        "total(octet_length(image)) FROM memory",
        {"now": now},
    )
    [(vectors,)] = connection.execute("SELECT total(length(vectors)) FROM search")
    return {
        "memories": int(memories),
        "turns": int(turns),
        "deleted": int(deleted),
        "chunks": int(vectors) // vector_bytes,
        "bytes": int(connection.pragma("page_count") * connection.pragma("page_size")),
        "record_bytes": int(record_bytes),
    }
