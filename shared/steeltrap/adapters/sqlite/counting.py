"""How much is stored, and what is in each scope."""

import apsw

from ...model import ScopeUse, from_micros
from .connection import select
from .filters import CURRENT, NOT_A_TURN, VISIBLE


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
