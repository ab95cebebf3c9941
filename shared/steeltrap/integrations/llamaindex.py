"""LlamaIndex: a `BaseMemoryBlock` that recalls what fits the user's last message and keeps what leaves the history.

    aget(messages)   the memories that fit the last message of the user  ->  lines in the prompt of `Memory`
    aput(messages)   what left the history, or what a program hands over  ->  the session's conversation, and episodes

So an agent knows what its history no longer has, what earlier sessions said, and what other agents of the user learned.
A block has no word for correcting and forgetting: other toolsets do both.
"""

import asyncio
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID, uuid4, uuid5

from ..installation import install_line
from . import append, framed, recalled

try:
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as error:
    raise ImportError(f"This needs LlamaIndex: run `{install_line('llama-index')}`.") from error

from ..client import Client
from ..errors import SteeltrapError

_ROLES: Final = {"user": "user", "assistant": "assistant", "chatbot": "assistant", "model": "assistant"}
_MESSAGES: Final = 1000
_CHARACTERS_PER_TOKEN: Final = 6
"""More than a token has on average in any language, so that enough is left out."""


class _Batch(NamedTuple):
    """Roles and texts that were handed over at once, and the session, if it is known."""

    session: str | None
    turns: tuple[tuple[str, str], ...]


class SteeltrapMemoryBlock(BaseMemoryBlock[str]):
    """A block of long-term memory for `Memory`, over a client. Safe for many threads and event loops.

        block = SteeltrapMemoryBlock(client=connect("http://127.0.0.1:8765"))
        memory = Memory.from_defaults(session_id="monday", memory_blocks=[block])

    `client` is the memory of one user, and stays the caller's to close. Up to `limit` memories with `max_tokens` tokens
    are recalled; `precision` says which, as in `core.search`. With `accept_short_term_memory=False` nothing that leaves
    the history is kept.

    `Memory` hands messages over once. So the block keeps those that could not be stored, as long as a repeat may help,
    and stores them at the next `aput`, which may be one without messages. A repeat stores no message twice.
    """

    name: str = Field(default="steeltrap", description="The name of the block in the prompt.")
    client: Client = Field(exclude=True, description="The memory of one user.")
    limit: int = Field(default=10, ge=1, le=100, description="How many memories, at most.")
    max_tokens: int = Field(default=2000, ge=1, description="Size limit of the memories together.")
    precision: Literal["all", "likely", "relevant", "best"] = Field(default="likely", description="Which memories.")
    scope: str = Field(default="user/default", description="Where conversations are kept.")
    _unsent: dict[_Batch, UUID] = PrivateAttr(default_factory=dict)
    _lock: Any = PrivateAttr(default_factory=Lock)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """The memories that fit what the user said last, "" for none. Raises SteeltrapError."""
        query = next((text for role, text in _turns(reversed(messages or [])) if role == "user"), "")
        if not query:
            return ""
        options = {"limit": self.limit, "max_tokens": self.max_tokens, "precision": self.precision}
        return framed(await asyncio.to_thread(recalled, self.client, query, **options))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store what could not be stored before and what was said now, and make episodes. Raises SteeltrapError."""
        sessions = (message.additional_kwargs.get("session_id") for message in messages)
        session = next((str(each) for each in sessions if each not in (None, "")), None)
        batch = _Batch(session, tuple(_turns(messages)))
        if batch.turns or self._unsent:
            await asyncio.to_thread(self._store, batch)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The memories without the last ones, None where none would be left."""
        if not content:
            return None  # a block that recalled nothing is asked too
        *above, end = content.split("\n")
        left_out = 0
        while len(above) > 2 and left_out < tokens_to_truncate * _CHARACTERS_PER_TOKEN:
            left_out += len(above.pop())
        return "\n".join([*above, end]) if len(above) > 2 else None

    def _store(self, batch: _Batch) -> None:
        with self._lock:
            unsent, self._unsent = self._unsent, {}
        if batch.turns:
            unsent.setdefault(batch, uuid4())
        try:
            while unsent:
                first, id = next(iter(unsent.items()))
                self._append(first, id)
                del unsent[first]
        except SteeltrapError as error:
            if not error.can_retry:
                del unsent[first]
            raise
        finally:
            with self._lock:
                self._unsent = unsent | self._unsent

    def _append(self, batch: _Batch, id: UUID) -> None:
        messages = [
            {"role": role, "content": text, "id": str(uuid5(id, str(number)))}
            for number, (role, text) in enumerate(batch.turns)
        ]
        for start in range(0, len(messages), _MESSAGES):
            part = messages[start : start + _MESSAGES]
            append(self.client, part, conversation=batch.session or str(id), scope=self.scope)


def _turns(messages: Iterable[ChatMessage]) -> Iterator[tuple[str, str]]:
    """Role and text of what somebody said: calls of tools and their results are left out."""
    for message in messages:
        text = (message.content or "").strip()
        if text and message.role.value in _ROLES:
            yield _ROLES[message.role.value], text
