"""Claude Agent SDK: a `SessionStore` whose entries are memories, and the tools of the toolset `agent` as an MCP server.

    project "tenant-1", session "3f2b..."   ->  scope claude-agent-sdk/<a UUID of the project>/3f2b...
    subpath "subagents/agent-1"             ->  the scope below it, .../subagents_2Fagent-1
    entry {"type": "user", ...}             ->  its JSON in metadata.json, and its words as the memory's content

Entries are text to the store, so that they come back to the letter; one of more than 14 KiB is several memories, which
are an entry when all of them are stored. Each has a place, a number that grows within a transcript. The id of an entry
follows from its uuid, so that an entry with a uuid is stored once. An append that is repeated after a failure takes the
same places again: whatever part of it was stored, the order is the same.
"""

import json
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, unquote
from uuid import UUID, uuid4, uuid5

from ..installation import install_line
from . import entries

try:
    from anyio import to_thread
    from claude_agent_sdk import SdkMcpTool, SessionStore, ToolAnnotations, create_sdk_mcp_server
except ImportError as error:
    raise ImportError(f"This needs the Claude Agent SDK: run `{install_line('claude-agent-sdk')}`.") from error

from ..client import Client
from ..errors import InvalidInput, MemoryNotFound, SteeltrapError, TooLarge
from ..version import VERSION

if TYPE_CHECKING:
    from claude_agent_sdk import (
        McpSdkServerConfig,
        SessionKey,
        SessionListSubkeysKey,
        SessionStoreEntry,
        SessionStoreListEntry,
    )

ROOT: Final = "claude-agent-sdk"
"""The scope below which transcripts are."""
MAX_ENTRY_BYTES: Final = 8 * 1024 * 1024
_KEYS: Final = UUID("b0a5b0b3-6d0f-5f0e-9a52-2f6b7d1c4e11")
_PIECE_BYTES: Final = 14 * 1024
"""The JSON in the metadata of one memory, which has room for 16 KiB."""
_WORDS: Final = 4000
_NAME_CHARACTERS: Final = 150
_UNQUOTED: Final = str.maketrans({"_": "%5F", ".": "%2E", "~": "%7E"})
"""Characters that `quote` leaves, and that a part of a scope may not have, or that stand for others in it."""
_PUTS: Final = 50
_PAGE: Final = 100
"""At 16 KiB of metadata each, a page fits into the answer of a function."""
_SCOPES: Final = 1000
"""The last places of this number of transcripts are kept in memory; others are asked for again."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Row = Mapping[str, Any]


class SteeltrapSessionStore(SessionStore):
    """The transcripts of one user over a client. Safe for many threads and event loops.

        ClaudeAgentOptions(session_store=SteeltrapSessionStore(connect("http://127.0.0.1:8765")))

    Transcripts are the client's user's: the same key is another transcript for another user. The client stays the
    caller's to close. Every method raises SteeltrapError; InvalidInput for a key that can't be one.
    """

    def __init__(self, client: Client, *, now: Callable[[], float] = time.time) -> None:
        self._client = client
        self._now = now
        self._last: dict[str, int] = {}
        self._unsure: dict[str, Mapping[UUID, int]] = {}
        self._placing = Lock()

    async def append(self, key: "SessionKey", entries: "list[SessionStoreEntry]") -> None:
        """Add entries, 50 memories at a time all or nothing.

        An entry whose uuid is stored moves to the end, but not when an append that failed is repeated. The order is
        that of the appends in one process, and across processes that take turns and load before they go on. For
        processes that append at the same time it is that of their clocks. All entries are checked first. Raises
        InvalidInput, and TooLarge for an entry of more than 8 MiB.
        """
        if entries:
            await to_thread.run_sync(self._append, key, list(entries))

    async def load(self, key: "SessionKey") -> "list[SessionStoreEntry] | None":
        """The entries in the order in which they were added, None for a transcript without any."""
        return await to_thread.run_sync(self._load, key)

    async def list_sessions(self, project_key: str) -> "list[SessionStoreListEntry]":
        """The sessions of a project, each with the time of its last entry."""
        children = await to_thread.run_sync(self._children, _scope_of_project(project_key))
        return [{"session_id": name, "mtime": at} for name, at in children.items()]

    async def list_subkeys(self, key: "SessionListSubkeysKey") -> list[str]:
        """The subpaths of a session that have entries."""
        session = scope_of({"project_key": key["project_key"], "session_id": key["session_id"]})
        return list(await to_thread.run_sync(self._children, session))

    async def delete(self, key: "SessionKey") -> None:
        """Delete a transcript, and that of a session with those below it; `core.undo` brings back each entry."""
        await to_thread.run_sync(self._delete, key)

    def _append(self, key: "SessionKey", entries: "Sequence[SessionStoreEntry]") -> None:
        entries_by_id: dict[UUID, tuple[int, SessionStoreEntry]] = {}
        for number, entry in enumerate(entries, 1):
            entries_by_id.setdefault(_id_of(key, entry), (number, entry))
        texts = [_as_json(entry, number) for number, entry in entries_by_id.values()]
        scope = scope_of(key)
        places = self._reserve(scope, list(entries_by_id))
        items = [
            item
            for (id, (_, entry)), text in zip(entries_by_id.items(), texts, strict=True)
            for item in _items(key, id, entry, text, places[id])
        ]
        for start in range(0, len(items), _PUTS):
            self._client.call("core.put", items=items[start : start + _PUTS])
        with self._placing:
            if self._unsure.get(scope) is places:
                del self._unsure[scope]

    def _reserve(self, scope: str, ids: Sequence[UUID]) -> Mapping[UUID, int]:
        """Places at the end of a transcript, also where a clock has gone back; those of a failed append again."""
        newest = 0 if scope in self._last else self._newest(scope)
        with self._placing:
            first = max(int(self._now() * 1_000_000), max(newest, self._last.pop(scope, 0)) + 1)
            unsure = self._unsure.pop(scope, {})
            places = {id: unsure.get(id, at) for at, id in enumerate(ids, first)}
            self._last[scope], self._unsure[scope] = first + len(ids) - 1, places
            for oldest in list(self._last)[:-_SCOPES]:
                del self._last[oldest]
                self._unsure.pop(oldest, None)
        return places

    def _newest(self, scope: str) -> int:
        newest = islice(_stored(self._client, scope, page=_PUTS, order="happened"), _PUTS)
        return max((row["metadata"]["place"] for row in newest if _is_piece(row)), default=0)

    def _load(self, key: "SessionKey") -> "list[SessionStoreEntry] | None":
        scope = scope_of(key)
        pieces: defaultdict[tuple[str, int], dict[int, Row]] = defaultdict(dict)
        for row in _stored(self._client, scope, page=_PAGE):
            if _is_piece(row):
                metadata = row["metadata"]
                pieces[metadata["entry"], metadata["pieces"]][metadata["piece"]] = metadata
        self._note(scope, max((row["place"] for rows in pieces.values() for row in rows.values()), default=0))
        # Of an append that failed, an entry may be stored in part, and in part still at an earlier place.
        whole = [rows for (_, count), rows in pieces.items() if len(rows) == count]
        whole.sort(key=lambda rows: min((row["place"], row["entry"]) for row in rows.values()))
        return [entry for rows in whole for entry in _entries(rows)] or None

    def _note(self, scope: str, place: int) -> None:
        """Let later appends follow an entry that another process has added."""
        with self._placing:
            if scope in self._last:
                self._last[scope] = max(self._last[scope], place)

    def _children(self, scope: str) -> dict[str, int]:
        """The names of the scopes directly below a scope, each with the time of its last write, in milliseconds."""
        rows = self._client.call("core.list_scopes", parent=scope)["scopes"]
        parts = {row["scope"].removeprefix(scope).removeprefix("/"): row["last_written_at"] for row in rows}
        return {
            unquote(part.replace("_", "%")): int(datetime.fromisoformat(at).timestamp() * 1000)
            for part, at in parts.items()
            if part and "/" not in part
        }

    def _delete(self, key: "SessionKey") -> None:
        scope = scope_of(key)
        is_session = key.get("subpath") is None
        while self._client.call("core.delete", scope=scope, include_child_scopes=is_session).get("more"):
            pass


def scope_of(key: "SessionKey") -> str:
    """The scope of a transcript, whatever characters its key has; without a subpath, or None, the main one's.

    Raises InvalidInput.
    """
    session = f"{_scope_of_project(key.get('project_key'))}/{_as_name(key.get('session_id'), 'session_id')}"
    subpath = key.get("subpath")
    return session if subpath is None else f"{session}/{_as_name(subpath, 'subpath')}"


def _scope_of_project(project: Any) -> str:
    try:
        return f"{ROOT}/{uuid5(_KEYS, project)}"
    except (TypeError, UnicodeEncodeError):
        raise InvalidInput("`project_key` must be whole Unicode text.") from None


def _as_name(text: Any, what: str) -> str:
    """One part of a scope from which `_children` reads the text again. Raises InvalidInput."""
    try:
        name = quote(text, safe="").translate(_UNQUOTED).replace("%", "_")
    except (TypeError, UnicodeEncodeError):
        name = ""
    if not 0 < len(name) <= _NAME_CHARACTERS:
        raise InvalidInput(
            f"`{what}` must be whole Unicode text of 1 to {_NAME_CHARACTERS} characters; each that is no letter or "
            "digit of English, and no hyphen, counts as three or more."
        )
    return name


def _stored(client: Client, scope: str, **options: Any) -> Iterator[Row]:
    return entries(client, scope, include_child_scopes=False, **options)


def _id_of(key: "SessionKey", entry: "SessionStoreEntry") -> UUID:
    """The id of an entry: of its transcript and its uuid, if it has one."""
    name = entry.get("uuid")
    return uuid5(_KEYS, json.dumps([scope_of(key), name])) if isinstance(name, str) and name else uuid4()


def _items(key: "SessionKey", id: UUID, entry: "SessionStoreEntry", text: str, place: int) -> Iterator[dict[str, Any]]:
    """The memories of an entry, as `core.put` takes them."""
    pieces = list(_pieces(text))
    for number, piece in enumerate(pieces):
        metadata = {"entry": str(id), "place": place, "piece": number, "pieces": len(pieces), "json": piece}
        yield {
            "id": str(uuid5(id, str(number))),
            "scope": scope_of(key),
            "content": _words(entry) if number == 0 else f"Piece {number + 1} of {len(pieces)} of {_label(entry)}",
            "metadata": metadata | {"session": key["session_id"]},
            "occurred_at": (_EPOCH + timedelta(microseconds=place)).isoformat(),
        }


def _entries(rows: Mapping[int, Row]) -> "Iterator[SessionStoreEntry]":
    """The entry of these pieces; none where they are no JSON object, which others may have saved in the scope."""
    try:
        entry = json.loads("".join(rows[number]["json"] for number in sorted(rows)))
    except ValueError:
        return
    if isinstance(entry, dict):
        yield cast("SessionStoreEntry", entry)


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _PIECE_BYTES
        while len(json.dumps(text[start:end], ensure_ascii=False).encode()) > _PIECE_BYTES:
            end = start + (end - start) * 7 // 8
        yield text[start:end]
        start = end


def _as_json(entry: "SessionStoreEntry", number: int) -> str:
    try:
        text = json.dumps(entry, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        text = json.dumps(entry, allow_nan=False)  # half a surrogate pair, as an escape
        size = len(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"Entry {number} is no JSON ({error}); nothing of this call is stored.") from None
    if size > MAX_ENTRY_BYTES:
        raise TooLarge(
            f"Entry {number} has {size:,} bytes as JSON; at most {MAX_ENTRY_BYTES:,} fit. Nothing of this call is "
            "stored."
        )
    return text


def _words(entry: "SessionStoreEntry") -> str:
    """The text of an entry that a person would read, or what kind of entry it is."""
    message = cast("Row", entry).get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in _listed(content)]
    readable = [text for text in texts if isinstance(text, str) and "".join(text.split()).isprintable()]
    return "\n".join(readable).strip()[:_WORDS] or _label(entry)


def _listed(content: Any) -> Sequence[Any]:
    return content if isinstance(content, list) else [content]


def _label(entry: "SessionStoreEntry") -> str:
    kind = str(entry.get("type", ""))[:64]
    return f"an entry of a session ({kind if kind.isprintable() and kind.strip() else 'without a type'})"


def _is_piece(row: Row) -> bool:
    """Whether the row is one of ours: others may have saved memories in the scope."""
    metadata = row.get("metadata", {})
    kinds = {"place": int, "piece": int, "pieces": int, "entry": str, "json": str}
    return all(isinstance(metadata.get(name), kind) for name, kind in kinds.items())


def memory_server(client: Client, *, name: str = "steeltrap") -> "McpSdkServerConfig":
    """The tools of the toolset `agent` as a server in this process, for one user.

        ClaudeAgentOptions(mcp_servers={"memory": memory_server(client)}, allowed_tools=["mcp__memory"])

    The client stays the caller's to close; its calls work in threads. A failure is a result with `is_error`, so that
    the model never reads an outage as an empty answer.
    """
    tools = [
        SdkMcpTool(
            name=tool,
            description=description,
            input_schema=_object(arguments, required),
            handler=_calling(client, tool),
            annotations=ToolAnnotations(
                readOnlyHint=tool in _READING,
                destructiveHint=tool == "forget_memory",
                idempotentHint=tool == "remember",
                openWorldHint=False,
            ),
        )
        for tool, (description, arguments, required) in _TOOLS.items()
    ]
    return create_sdk_mcp_server(name, version=VERSION, tools=tools)


def _calling(client: Client, tool: str) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = await to_thread.run_sync(partial(client.call, f"agent.{tool}", **arguments))
        except MemoryNotFound as error:
            return _failure(f"No memory with id {error.id}; recall and recent_memories show ids.")
        except SteeltrapError as error:
            return _failure(error.message)
        return {"content": [{"type": "text", "text": str(answer)}]}

    return handler


def _failure(sentence: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": sentence}], "is_error": True}


def _object(arguments: Row, required: Sequence[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict(arguments), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


_READING: Final = ("recall", "recent_memories")
_ID: Final = {"type": "string", "description": "The id in brackets, such as 3f2b8c1e"}
_TOOLS: Final[Mapping[str, tuple[str, Row, Sequence[str]]]] = {
    "remember": (
        "Save a fact, preference, decision or event that will matter in later conversations. Write names and dates, "
        'not "he" or "tomorrow". Don\'t save passwords, keys or what only matters for the task at hand.',
        {
            "content": {"type": "string", "description": "One full sentence that makes sense on its own"},
            "occurred_at": {
                "type": "string",
                "format": "date",
                "description": "Date of the event, such as 2026-05-31. Default: today",
            },
        },
        ["content"],
    ),
    "recall": (
        "Search what was remembered in earlier conversations. Call it before you answer anything that may depend on "
        'the user\'s past, plans, preferences or projects. Memories after "Less sure" may be about something else. If '
        "nothing is close, ask again in other words before you say that you don't know.",
        {
            "query": {"type": "string", "description": "What to look for, in plain language"},
            "max_tokens": {
                "type": "integer",
                "minimum": 200,
                "maximum": 20_000,
                "default": 2000,
                "description": "Size limit of the answer",
            },
        },
        ["query"],
    ),
    "recent_memories": (
        "List the memories that were saved last, newest first.",
        {
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "How many"},
            "offset": {
                "type": "integer",
                "minimum": 0,
                "maximum": 10**9,
                "default": 0,
                "description": "How many newer ones to skip",
            },
        },
        [],
    ),
    "revise_memory": (
        "Replace a memory that changed or was wrong. The old text stays in history.",
        {"id": _ID, "content": {"type": "string", "description": "What is true now, as one full sentence"}},
        ["id", "content"],
    ),
    "forget_memory": ("Delete a memory when the user asks you to forget it.", {"id": _ID}, ["id"]),
    "undo_memory_change": (
        "Undo the last change to a memory: saved, revised or forgotten.",
        {"id": {"type": "string", "description": "Default: the memory that you changed last"}},
        [],
    ),
}
