"""Pydantic AI: a toolset whose tools are those of the toolset `agent`.

    remember, recall, recent_memories, revise_memory, forget_memory, undo_memory_change

The client is given once, or found in the dependencies of each run, so that one agent serves many users. Arguments that
the model got wrong are a ModelRetry, and any other error is a ToolFailed: the model reads both, and never an outage as
an empty answer.
"""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from ..installation import install_line
from . import INSTRUCTIONS

try:
    from pydantic_ai import RunContext
    from pydantic_ai.exceptions import ModelRetry, ToolFailed
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise ImportError(f"This needs Pydantic AI: run `{install_line('pydantic-ai')}`.") from error

from ..client import Client
from ..errors import InvalidInput, MemoryNotFound, SteeltrapError, TooLarge

Id = Annotated[str, Field(description="The id in brackets, such as 3f2b8c1e")]


class SteeltrapToolset(FunctionToolset[AgentDepsT]):
    """Six tools of long-term memory for an agent, with their instructions.

        Agent("anthropic:claude-sonnet-5-5", toolsets=[SteeltrapToolset(connect("http://127.0.0.1:8765"))])
        Agent(..., deps_type=Deps, toolsets=[SteeltrapToolset(lambda run: run.deps.memory)])

    `client` is the memory of one user, or a function that finds it in a run. Clients stay the caller's to close. The
    calls work in threads. `id` names the toolset where runs are durable.
    """

    def __init__(
        self,
        client: Client | Callable[[RunContext[AgentDepsT]], Client],
        *,
        id: str | None = None,
        instructions: str | None = INSTRUCTIONS,
    ) -> None:
        super().__init__(id=id, instructions=instructions)
        self._client = client
        for tool in (
            self.remember,
            self.recall,
            self.recent_memories,
            self.revise_memory,
            self.forget_memory,
            self.undo_memory_change,
        ):
            self.add_function(tool, takes_ctx=True)

    def remember(
        self,
        run: RunContext[AgentDepsT],
        content: Annotated[str, Field(description="One full sentence that makes sense on its own")],
        occurred_at: Annotated[
            str | None, Field(description="Date of the event, such as 2026-05-31. Default: today")
        ] = None,
    ) -> str:
        """Save a fact, preference, decision or event that will matter in later conversations. Write names and dates,
        not "he" or "tomorrow". Don't save passwords, keys or what only matters for the task at hand."""
        return self._called(run, "remember", content=content, occurred_at=occurred_at)

    def recall(
        self,
        run: RunContext[AgentDepsT],
        query: Annotated[str, Field(description="What to look for, in plain language")],
        max_tokens: Annotated[int, Field(description="Size limit of the answer", ge=200, le=20_000)] = 2000,
    ) -> str:
        """Search what was remembered in earlier conversations. Call it before you answer anything that may depend on
        the user's past, plans, preferences or projects. Memories after "Less sure" may be about something else. If
        nothing is close, ask again in other words before you say that you don't know."""
        return self._called(run, "recall", query=query, max_tokens=max_tokens)

    def recent_memories(
        self,
        run: RunContext[AgentDepsT],
        limit: Annotated[int, Field(description="How many", ge=1, le=100)] = 10,
        offset: Annotated[int, Field(description="How many newer ones to skip", ge=0)] = 0,
    ) -> str:
        """List the memories that were saved last, newest first."""
        return self._called(run, "recent_memories", limit=limit, offset=offset)

    def revise_memory(
        self,
        run: RunContext[AgentDepsT],
        id: Id,
        content: Annotated[str, Field(description="What is true now, as one full sentence")],
    ) -> str:
        """Replace a memory that changed or was wrong. The old text stays in history."""
        return self._called(run, "revise_memory", id=id, content=content)

    def forget_memory(self, run: RunContext[AgentDepsT], id: Id) -> str:
        """Delete a memory when the user asks you to forget it."""
        return self._called(run, "forget_memory", id=id)

    def undo_memory_change(
        self,
        run: RunContext[AgentDepsT],
        id: Annotated[str | None, Field(description="Default: the memory that you changed last")] = None,
    ) -> str:
        """Undo the last change to a memory: saved, revised or forgotten."""
        return self._called(run, "undo_memory_change", id=id)

    def _called(self, run: RunContext[AgentDepsT], tool: str, **arguments: Any) -> str:
        client = self._client if isinstance(self._client, Client) else self._client(run)
        try:
            return str(client.call(f"agent.{tool}", **arguments))
        except (InvalidInput, TooLarge) as error:
            raise ModelRetry(error.message) from error
        except MemoryNotFound as error:
            raise ToolFailed(f"No memory with id {error.id}; recall and recent_memories show ids.") from error
        except SteeltrapError as error:
            raise ToolFailed(error.message) from error
