"""Turns that no episode sums up yet, and the conversations that have some."""

from collections.abc import Sequence

import apsw

from ...model import Memory
from ...text.limits import to_key
from .connection import select
from .filters import VISIBLE


def note(connection: apsw.Connection, n: int, memory: Memory) -> None:
    """A new turn is open."""
    if memory.source == "conversation" and memory.conversation_id is not None:
        connection.execute("INSERT INTO open_turn (conversation_id, n) VALUES (?, ?)", (memory.conversation_id, n))


def close(connection: apsw.Connection, turn_ids: Sequence[str]) -> None:
    """Take turns out of the open ones."""
    connection.executemany(
        "DELETE FROM open_turn WHERE n = (SELECT n FROM memory WHERE id = ?)", [(to_key(id),) for id in turn_ids]
    )


def of(connection: apsw.Connection, conversation_id: str, now: int) -> list[str]:
    """The images of a conversation's open turns, in the order of writing."""
    rows = select(
        connection,
        "SELECT image FROM open_turn JOIN memory USING (n) "
        f"WHERE open_turn.conversation_id = :conversation AND {VISIBLE} ORDER BY n",
        {"conversation": conversation_id, "now": now},
    )
    return [image for (image,) in rows]


def idle(connection: apsw.Connection, since: int, now: int, limit: int) -> list[str]:
    """The conversations whose last open turn was written at or before `since` (microseconds)."""
    rows = select(
        connection,
        "SELECT open_turn.conversation_id FROM open_turn JOIN memory USING (n) "
        f"WHERE {VISIBLE} GROUP BY 1 HAVING max(created_at) <= :since ORDER BY max(created_at), 1 LIMIT :limit",
        {"since": since, "now": now, "limit": limit},
    )
    return [conversation for (conversation,) in rows]
