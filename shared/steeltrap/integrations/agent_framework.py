"""Microsoft Agent Framework: a `ContextProvider` that recalls before a run and remembers after it.

    before a run:  the memories that fit what was said  ->  a message in front of it
    after a run:   what was said and answered           ->  messages of the session's conversation, and an episode

So an agent knows in a later session what was said in an earlier one, and what other agents of the user learned. What
the session itself said is not recalled: its history has it. The framework has no word for correcting and forgetting:
other toolsets do both.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from ..installation import install_line
from . import append, framed, recalled

try:
    from agent_framework import AgentSession, ContextProvider, Message, SessionContext
except ImportError as error:
    raise ImportError(f"This needs Microsoft's Agent Framework: run `{install_line('agent-framework')}`.") from error

from ..client import Client

if TYPE_CHECKING:
    from agent_framework import SupportsAgentRun

SCOPE: Final = "user/default"


class SteeltrapContextProvider(ContextProvider):
    """The memory of an agent's users over a client. Safe for many threads and event loops.

        Agent(model, context_providers=[SteeltrapContextProvider(connect("http://127.0.0.1:8765"))])

    `client` is the memory of one user, or a function that finds it for a session. Clients stay the caller's to close.
    Up to `limit` memories with `max_tokens` tokens are recalled; `precision` says which, as in `core.search`. With
    `stores=False` nothing is remembered.
    """

    def __init__(
        self,
        client: Client | Callable[[AgentSession], Client],
        *,
        source_id: str = "steeltrap",
        limit: int = 10,
        max_tokens: int = 2000,
        precision: Literal["all", "likely", "relevant", "best"] = "likely",
        scope: str = SCOPE,
        stores: bool = True,
    ) -> None:
        super().__init__(source_id)
        self._client = client
        self._limit = limit
        self._max_tokens = max_tokens
        self._precision = precision
        self._scope = scope
        self._stores = stores

    async def before_run(
        self, *, agent: "SupportsAgentRun", session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add the memories that fit what was said. Raises SteeltrapError."""
        query = "\n".join(message.text for message in context.input_messages if _has_words(message))
        if not query:
            return
        options = {"limit": self._limit, "max_tokens": self._max_tokens, "precision": self._precision}
        memories = await asyncio.to_thread(recalled, self._of(session), query, **options)
        rows = [row for row in memories if row.get("conversation_id") != session.session_id]
        if rows:
            origins = [row["conversation_id"] for row in rows if "conversation_id" in row]
            context.extend_messages(self, [Message("user", [framed(rows)])], origin_session_ids=origins or None)

    async def after_run(
        self, *, agent: "SupportsAgentRun", session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Store what was said and answered, and make an episode of it. Raises SteeltrapError."""
        answered = context.response.messages if context.response else ()
        # An agent without a name signs with a placeholder.
        turns = [_turn(message) for message in context.input_messages if _has_words(message)]
        turns += [_turn(message, has_speaker=bool(agent.name)) for message in answered if _has_words(message)]
        if turns and self._stores:
            client, conversation = self._of(session), session.session_id
            await asyncio.to_thread(append, client, turns, conversation=conversation, scope=self._scope)

    def _of(self, session: AgentSession) -> Client:
        return self._client if isinstance(self._client, Client) else self._client(session)


def _has_words(message: Message) -> bool:
    """Whether somebody said this: a call of a tool and its result have no text."""
    return str(message.role) in ("user", "assistant") and bool(message.text.strip())


def _turn(message: Message, *, has_speaker: bool = True) -> dict[str, Any]:
    """A message as `core.append_messages` takes it."""
    speaker = {"speaker": message.author_name} if message.author_name and has_speaker else {}
    return {"role": str(message.role), "content": message.text, **speaker}
