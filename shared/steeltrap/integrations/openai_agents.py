"""OpenAI Agents SDK: a `Session` whose items are memories.

    session "support-7"   ->  scope openai-agents/<a UUID of the session's name>
    item {"role": ...}    ->  metadata.item, its JSON as text, and its words as the memory's content

Items are text to the memory, so that calls of functions and reasoning come back to the letter. Each has a place of its
own, a number: places grow within a session, and two programs that add at once both keep what they add. The library has
no word for undo: what was popped or cleared can be brought back by `core.undo`.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID, uuid4, uuid5

from ..installation import install_line
from . import listed

try:
    from agents.memory import SessionSettings
except ImportError as error:
    raise ImportError(f"This needs the OpenAI Agents SDK: run `{install_line('openai-agents')}`.") from error

from ..client import Client
from ..errors import InvalidInput, TooLarge

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

ROOT: Final = "openai-agents"
"""The scope below which sessions are."""
_SESSIONS: Final = UUID("0d6f5a52-77c5-5b0e-8f6d-51f1e1a4c6b3")
_METADATA_BYTES: Final = 15 * 1024
_CONTENT_BYTES: Final = 32 * 1024
_PUTS: Final = 50
_DELETES: Final = 1000

Row = Mapping[str, Any]


class SteeltrapSession:
    """A session of one user over a client. Safe for many threads and event loops.

        session = SteeltrapSession("support-7", connect("http://127.0.0.1:8765"))
        await Runner.run(agent, "Where is my order?", session=session)

    The session is the client's user's: the same name is another session for another user. The client stays the
    caller's to close.
    """

    def __init__(
        self,
        session_id: str,
        client: Client,
        *,
        session_settings: SessionSettings | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._client = client
        self._scope = scope_of(session_id)
        self._now = now

    async def get_items(self, limit: int | None = None) -> list["TResponseInputItem"]:
        """The items in the order in which they were added; with a limit the newest of them. Raises SteeltrapError."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        rows = await asyncio.to_thread(self._rows)
        latest = rows if most is None else rows[-most:] if most > 0 else []
        return [item_of(row) for row in latest]

    async def add_items(self, items: list["TResponseInputItem"]) -> None:
        """Add the items, 50 at a time all or nothing. All are checked first.

        Raises InvalidInput, TooLarge for an item that does not fit, and SteeltrapError.
        """
        if items:
            await asyncio.to_thread(self._add, list(items))

    async def pop_item(self) -> "TResponseInputItem | None":
        """Delete the newest item and give it back, None for a session without items. Raises SteeltrapError."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Delete all items. Raises SteeltrapError."""
        await asyncio.to_thread(self._clear)

    def _add(self, items: Sequence["TResponseInputItem"]) -> None:
        records = [record_of(cast("Row", item), self.session_id, number) for number, item in enumerate(items, 1)]
        places = [_place(row) for row in self._rows()]
        before = max([int(self._now() * 1_000_000), *places])
        for number, record in enumerate(records, 1):
            record["metadata"]["place"] = before + number
        for start in range(0, len(records), _PUTS):
            self._client.call("core.put", items=records[start : start + _PUTS])

    def _pop(self) -> "TResponseInputItem | None":
        while rows := self._rows():
            deleted = self._client.core.delete(ids=[rows[-1]["id"]])["deleted"]
            if deleted:
                return item_of(rows[-1])
        return None

    def _clear(self) -> None:
        ids = [row["id"] for row in self._rows()]
        for start in range(0, len(ids), _DELETES):
            self._client.core.delete(ids=ids[start : start + _DELETES])

    def _rows(self) -> list[Row]:
        """The session's rows by their places."""
        rows = {row["id"]: row for row in listed(self._client, scope=self._scope) if _is_item(row)}
        return sorted(rows.values(), key=lambda row: (_place(row), row["id"]))


def scope_of(session_id: str) -> str:
    """The scope of a session, whatever characters its name has. Raises InvalidInput."""
    try:
        return f"{ROOT}/{uuid5(_SESSIONS, session_id)}"
    except UnicodeEncodeError:
        raise InvalidInput("The name of a session must be whole Unicode text.") from None


def record_of(item: Row, session_id: str, number: int) -> dict[str, Any]:
    """The memory of an item, as `core.put` takes it, without its place. Raises InvalidInput, TooLarge."""
    whole = _as_json(item, number)
    words = "\n".join(_texts(item)).strip()
    metadata: dict[str, Any] = {"session": session_id, "item": whole}
    record: dict[str, Any] = {"id": str(uuid4()), "scope": scope_of(session_id), "metadata": metadata}
    if words and _bytes(metadata) <= _METADATA_BYTES and len(words.encode()) <= _CONTENT_BYTES:
        return record | {"content": words}
    # A large item, and one without words, is its own text.
    if (size := len(whole.encode())) > _CONTENT_BYTES:
        raise TooLarge(
            f"Item {number} has {size:,} bytes as JSON; at most {_CONTENT_BYTES:,} fit. Shorten it, for example the "
            "output of its tool; nothing of this call is stored."
        )
    return record | {"content": whole, "content_type": "json", "metadata": {"session": session_id}}


def item_of(row: Row) -> "TResponseInputItem":
    """The item of a memory, to the letter."""
    return cast("TResponseInputItem", json.loads(row["metadata"].get("item", row["content"])))


def _is_item(row: Row) -> bool:
    """Whether the row is an item: others may have saved memories in the scope."""
    return isinstance(row.get("metadata", {}).get("place"), int)


def _place(row: Row) -> int:
    return int(row["metadata"]["place"])


def _as_json(item: Row, number: int) -> str:
    try:
        whole = json.dumps(item, allow_nan=False, ensure_ascii=False)
        whole.encode()
    except UnicodeEncodeError:
        return json.dumps(item, allow_nan=False)  # half a surrogate pair, as an escape
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"Item {number} is no JSON ({error}); add plain values.") from None
    return whole


def _texts(item: Row) -> Iterator[str]:
    """The texts of an item that a person would read: its own, the arguments of a call, and the output of a tool."""
    for name in ("content", "arguments", "output", "summary"):
        value = item.get(name)
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            text = part.get("text") if isinstance(part, Mapping) else part
            if isinstance(text, str) and "".join(text.split()).isprintable():
                yield text


def _bytes(value: Mapping[str, Any]) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())
