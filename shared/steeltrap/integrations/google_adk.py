"""Google ADK: a `BaseMemoryService` whose entries are memories.

    app "support", user "ana"  ->  Ana's memories in the scope google-adk/support
    an event with text         ->  a memory under a UUID of app, session and event, so that it is stored once
    MemoryEntry.id             ->  the memory's id

So an entry is found by meaning and by words, has a history, and is seen by every other toolset. What was deleted stays
deleted when its session is added again, until `core.undo` brings it back.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID, uuid4, uuid5

from ..installation import install_line
from . import entries, listed, recalled

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise ImportError(f"This needs Google's ADK: run `{install_line('google-adk')}`.") from error

from ..client import Client
from ..errors import InvalidInput, MemoryNotFound
from ..text.transcripts import cleaned

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

ROOT: Final = "google-adk"
"""The scope below which apps are."""
_IDS: Final = UUID("1b0b8f0e-6a52-5f0b-9a0f-52b7e0d9c4a1")
_KEY_CHARACTERS: Final = 128
"""Characters of a value that a filter can look for, at most."""
_CONTENT_BYTES: Final = 32 * 1024
_PUTS: Final = 50

Row = Mapping[str, Any]


class SteeltrapMemoryService(BaseMemoryService):
    """The memory of an app's users over a client. Safe for many threads and event loops.

        service = SteeltrapMemoryService(connect("data", user="default"))
        Runner(..., memory_service=service)

    `client` serves every user in turn, or is a function that gives the client of a user, as it has to be where a token
    names the user. Clients stay the caller's to close. A search gives up to `limit` entries; `precision` says which, as
    in `core.search`.
    """

    def __init__(
        self,
        client: Client | Callable[[str], Client],
        *,
        limit: int = 10,
        precision: Literal["all", "likely", "relevant", "best"] = "likely",
    ) -> None:
        self._client = client
        self._limit = limit
        self._precision = precision

    async def add_session_to_memory(self, session: "Session") -> None:
        """Store the texts of the session's events that are not stored yet. Raises SteeltrapError."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: "Sequence[Event]",
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store the texts of these events that are not stored yet; an entry shows `custom_metadata` again.

        Raises SteeltrapError.
        """
        records = [
            record for event in events for record in records_of(event, app_name, session_id or "", custom_metadata)
        ]
        if records:
            await asyncio.to_thread(self._add, user_id, records)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store entries; one with the id of a stored entry replaces it, and the history keeps the earlier text.

        Raises InvalidInput for an entry without text, and SteeltrapError.
        """
        records = [record_of(entry, app_name, custom_metadata) for entry in memories]
        if records:
            await asyncio.to_thread(self._put, self._of(user_id), records)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The entries that fit best, best first. Raises SteeltrapError."""
        if not query.strip():
            return SearchMemoryResponse()
        rows = await asyncio.to_thread(self._search, user_id, app_name, query)
        return SearchMemoryResponse(memories=[entry_of(row) for row in rows])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete the entry of this app, if it is there. Raises SteeltrapError."""
        if memory_id:
            await asyncio.to_thread(self._delete, user_id, scope_of(app_name), memory_id)

    def _of(self, user: str) -> Client:
        return self._client.as_user(user) if isinstance(self._client, Client) else self._client(user)

    def _add(self, user: str, records: Sequence[dict[str, Any]]) -> None:
        client = self._of(user)
        new = {record["id"]: record for record in records}
        session = {"session": records[0]["metadata"]["session"]}
        for stored in (entries(client, records[0]["scope"], metadata=session), listed(client, deleted=True)):
            if new:
                for row in stored:
                    new.pop(row["id"], None)
        self._put(client, [*new.values()])

    def _put(self, client: Client, records: Sequence[dict[str, Any]]) -> None:
        for start in range(0, len(records), _PUTS):
            client.call("core.put", items=records[start : start + _PUTS])

    def _search(self, user: str, app: str, query: str) -> Sequence[Row]:
        return recalled(self._of(user), query, scope=scope_of(app), limit=self._limit, precision=self._precision)

    def _delete(self, user: str, scope: str, id: str) -> None:
        client = self._of(user)
        try:
            is_ours = client.core.get(id=id)["scope"] == scope
        except (MemoryNotFound, InvalidInput):
            return
        if is_ours:
            client.core.delete(id=id)


def scope_of(app: str) -> str:
    """The scope of an app, whatever characters its name has."""
    is_plain = len(app) <= 64 and app.isascii() and app.replace("_", "a").isalnum()
    return f"{ROOT}/{app if is_plain else _key(app)}"


def records_of(
    event: "Event", app: str, session: str, custom: Mapping[str, object] | None = None
) -> Iterator[dict[str, Any]]:
    """The memories of an event, as `core.put` takes them: none without text, several for a long text."""
    text = _text(event.content)
    at = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    for number, part in enumerate(_parts(text)):
        yield {
            "id": _key(app, session, event.id, number),
            "content": part,
            "scope": scope_of(app),
            "occurred_at": at,
            "metadata": {"author": event.author, "session": _filtered(session), **_custom(custom)},
        }


def record_of(entry: MemoryEntry, app: str, custom: Mapping[str, object] | None = None) -> dict[str, Any]:
    """The memory of an entry, as `core.put` takes it. Raises InvalidInput for an entry without text."""
    text = _text(entry.content)
    if not text:
        raise InvalidInput("An entry of memory needs a part with text.")
    return {
        "id": _memory_id(entry.id, app),
        "content": text,
        "scope": scope_of(app),
        "metadata": {
            **({"author": entry.author} if entry.author else {}),
            **_custom({**entry.custom_metadata, **(custom or {})}),
        },
        **({"occurred_at": entry.timestamp} if entry.timestamp else {}),
    }


def entry_of(row: Row) -> MemoryEntry:
    metadata = row.get("metadata", {})
    author = metadata.get("author")
    role = "user" if author in ("user", None) else "model"
    return MemoryEntry(
        id=row["id"],
        content=types.Content(role=role, parts=[types.Part(text=row["content"])]),
        author=author if isinstance(author, str) else None,
        timestamp=row.get("occurred_at") or row["created_at"],
        custom_metadata=json.loads(metadata.get("custom", "{}")),
    )


def _text(content: types.Content | None) -> str:
    """The texts of the parts, without thoughts."""
    parts = (content.parts if content else None) or ()
    return cleaned("\n".join(part.text for part in parts if part.text and not part.thought))


def _parts(text: str) -> Iterator[str]:
    """The text in parts that fit into a memory, cut after a line or a word where there is one."""
    while text:
        head = text.encode()[:_CONTENT_BYTES].decode(errors="ignore")
        if len(head) < len(text):
            cut = max(head.rfind("\n"), head.rfind(" "))
            head = head[: cut + 1] if cut > 0 else head
        text = text[len(head) :]
        if head.strip():
            yield head


def _custom(custom: Mapping[str, object] | None) -> dict[str, str]:
    """Metadata of the program's own, as a text: its keys are none of ours. Raises InvalidInput."""
    if not custom:
        return {}
    try:
        return {"custom": json.dumps(dict(custom), allow_nan=False, ensure_ascii=False)}
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"`custom_metadata` is no JSON ({error}); give plain values.") from None


def _memory_id(id: str | None, app: str) -> str:
    if id is None:
        return str(uuid4())
    try:
        return str(UUID(id))
    except ValueError:
        return _key(app, id)


def _filtered(value: str) -> str:
    return value if len(value) <= _KEY_CHARACTERS else _key(value)


def _key(*parts: str | int) -> str:
    return str(uuid5(_IDS, json.dumps(parts)))
