"""Strands Agents: a `MemoryStore` for the `MemoryManager` of an agent.

    search         the memories that fit  ->  entries, which the manager adds to the prompt or gives to its tool
    add            a fact                 ->  a memory
    add_messages   what was said          ->  messages of the store's conversation, and episodes; no model is called
    get_tools      revise_memory, forget_memory and undo_memory_change, by the ids that entries show; behind the name of
                   a store that has one, such as ana_revise_memory

The manager logs a failed search, and would go on as if nothing were stored. So a search that fails gives an entry that
says so: the model reads it, and an outage never looks like an empty memory.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID, uuid4, uuid5

from ..installation import install_line
from . import Row, append, date_of, recalled

try:
    from strands import tool
    from strands.memory import MemoryEntry, MemoryStore
except ImportError as error:
    raise ImportError(f"This needs Strands Agents: run `{install_line('strands')}`.") from error

from ..client import Client
from ..errors import SteeltrapError
from ..text.frames import without_marks
from ..text.transcripts import cleaned

if TYPE_CHECKING:
    from strands.memory import AddMessagesContext, ExtractionConfig, SearchOptions
    from strands.types.content import Message
    from strands.types.tools import AgentTool

NAME: Final = "steeltrap"
"""The name of a store that is given none."""
DESCRIPTION: Final = "What earlier conversations with this user said, and what was saved for later ones."
"""The store's description in the tools of the manager."""
_RESULTS: Final = 5
_NAME_CHARACTERS: Final = 45
"""Characters of a store's name, at most, in the name of a tool, which has 64 with `_undo_memory_change`."""
_TOOLS: Final = UUID("7c1f4b52-5d0e-5f5b-8d7e-2a9c6d3f1e08")


class SteeltrapMemoryStore(MemoryStore):
    """The memory of one user over a client. Safe for many threads and event loops.

        store = SteeltrapMemoryStore(connect("http://127.0.0.1:8765"))
        Agent(memory_manager=MemoryManager(stores=[store], add_tool_config=True))

    The client stays the caller's to close. `extraction` says when what was said is stored, as the library means it:
    every five turns by default, in the conversation `conversation_id`. `precision` says which memories are found, as in
    `core.search`. A store that is not `writable` only searches. Give each store of a manager a `name` of its own: the
    tools that change its memories begin with it.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = NAME,
        description: str = DESCRIPTION,
        max_search_results: int = _RESULTS,
        precision: Literal["all", "likely", "relevant", "best"] = "likely",
        scope: str = "user/default",
        conversation_id: str | None = None,
        writable: bool = True,
        extraction: "ExtractionConfig | bool" = True,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction if writable else False
        self._client = client
        self._precision = precision
        self._scope = scope
        self._conversation = conversation_id or str(uuid4())
        self._failed: dict[tuple[int, str], str] = {}

    async def search(self, query: str, options: "SearchOptions | None" = None) -> list[MemoryEntry]:
        """The memories that fit, best first; one entry with `failed` in its metadata if the search fails."""
        if not query.strip():
            return []
        limit = (options or {}).get("max_search_results") or self.max_search_results
        try:
            rows = await asyncio.to_thread(recalled, self._client, query, limit=limit, precision=self._precision)
            return [entry_of(row) for row in rows]
        except SteeltrapError as error:
            return [_failure(error)]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Save a fact, and return its id. Raises SteeltrapError."""
        more = {"metadata": metadata} if metadata else {}
        saved = await asyncio.to_thread(
            self._client.call, "core.save", content=cleaned(content), scope=self._scope, **more
        )
        return str(saved["id"])

    async def add_messages(self, messages: "list[Message]", context: "AddMessagesContext | None" = None) -> None:
        """Store what was said; what the manager repeats after a failure is stored once. Raises SteeltrapError."""
        numbers = (context.sequence_numbers if context else None) or [None] * len(messages)
        turns: list[dict[str, Any]] = []
        ids: dict[tuple[int, str], str] = {}
        for message, number in zip(messages, numbers, strict=True):
            if not (text := _text(message)):
                continue
            turns.append({"role": message["role"], "content": text})
            if number is not None:
                # Agents that share the store number alike: only what failed is known by its number.
                turns[-1]["id"] = ids[number, text] = self._failed.pop((number, text), "") or str(uuid4())
        if not turns:
            return
        try:
            await asyncio.to_thread(append, self._client, turns, conversation=self._conversation, scope=self._scope)
        except BaseException:
            self._failed.update(ids)
            raise

    def get_tools(self) -> "list[AgentTool]":
        """Tools by which a model corrects, forgets and takes back; none for a store that only searches."""
        client = self._client

        def revise_memory(id: str, content: str) -> str:
            """Replace a memory that changed or was wrong. The old text stays in history.

            Args:
                id: The memory's id, as search_memory shows it.
                content: What is true now, as one full sentence.
            """
            return str(client.call("agent.revise_memory", id=id, content=content))

        def forget_memory(id: str) -> str:
            """Delete a memory when the user asks you to forget it.

            Args:
                id: The memory's id, as search_memory shows it.
            """
            return str(client.call("agent.forget_memory", id=id))

        def undo_memory_change(id: str | None = None) -> str:
            """Undo the last change to a memory: saved, revised or forgotten.

            Args:
                id: The memory's id. Default: the memory that was changed last.
            """
            return str(client.call("agent.undo_memory_change", id=id))

        if not self.writable:
            return []
        prefix = "" if self.name == NAME else f"{_tool_prefix(self.name)}_"
        description = f"Only for memories of the store {self.name}: {self.description}"
        tools = []
        for change in (revise_memory, forget_memory, undo_memory_change):
            does = str(change.__doc__).splitlines()[0]
            tools.append(tool(name=prefix + change.__name__, description=f"{does}\n\n{description}")(change))
        return tools


def entry_of(row: Row) -> MemoryEntry:
    """The entry of a memory, with the id that the tools take."""
    return MemoryEntry(content=without_marks(row["content"]), metadata={"id": row["id"], "date": date_of(row)})


def _tool_prefix(store: str) -> str:
    """The store's name in the names of its tools, which take letters and digits of English, `_` and `-`."""
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "_-") else "_" for each in store)
    if plain == store and 0 < len(store) <= _NAME_CHARACTERS:
        return store
    return f"{plain[: _NAME_CHARACTERS - 9]}_{uuid5(_TOOLS, store).hex[:8]}"


def _failure(error: SteeltrapError) -> MemoryEntry:
    return MemoryEntry(
        content=f"The memory could not be searched: {error.message} What is stored is not known; don't say that "
        "nothing is.",
        metadata={"failed": error.code},
    )


def _text(message: "Message") -> str:
    """The text of a message: calls of tools, their results and thoughts are left out."""
    return "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
