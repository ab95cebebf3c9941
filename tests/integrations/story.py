"""The common story: save, find, correct, forget, two users apart, and a failure that doesn't look like nothing.

To add a library:

1. Write `tests/integrations/LIBRARY.py` with a function `(seam, user) -> UserMemory` that opens the library's own
   object over `steeltrap.integrations.LIBRARY`, for one user. `seam.client(user)` and `seam.async_client(user)` are the
   clients for it, closed at the end of the test; `seam.run(...)` runs what is awaited.
2. Add a line to LIBRARIES below: the module that must be installed, the function as "module:name", and `without`: the
   steps of STEPS that the library's interface has no word for, with the reason beside it.
3. Tests of what is special about the library are a `test_LIBRARY.py` beside it. They use the fixtures of `conftest.py`:
   `door` for a store, `seam` for every form.

The story runs through every form of the client, and on the store that STEELTRAP_TEST_STORE names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol

import pytest

from integrations.seams import Seam

STEPS: Final = ("save", "find", "correct", "forget", "isolate", "fail")

TEA: Final = "Ana drinks green tea in the morning."
COFFEE: Final = "Ana drinks black coffee in the morning."


class UserMemory(Protocol):
    """One user's memory as a library shows it. A method of a step that the library lacks is never called."""

    def save(self, text: str) -> str:
        """The key by which the text is corrected and forgotten; "" where the library gives none."""
        ...

    def find(self, query: str) -> list[str]:
        """The texts of the results, best first; each holds what was saved. Raises when the search fails."""
        ...

    def correct(self, key: str, text: str) -> None: ...

    def forget(self, key: str) -> None: ...


@dataclass(frozen=True)
class Library:
    """How a library is opened for a user, and the steps that it has no word for."""

    needs: str
    opened: str
    without: frozenset[str] = frozenset()

    def open(self, seam: Seam, user: str) -> UserMemory:
        pytest.importorskip(self.needs, reason=f"{self.needs} is not installed")
        module, _, name = self.opened.partition(":")
        opened: Callable[[Seam, str], UserMemory] = getattr(import_module(module), name)
        return opened(seam, user)


LIBRARIES: Final = {
    "client": Library("steeltrap.client", "integrations.clients:sync_client"),
    "async client": Library("steeltrap.client", "integrations.clients:async_client"),
    "anthropic": Library("anthropic.lib.tools", "integrations.anthropic_memory:open_tool"),
    "anthropic async": Library("anthropic.lib.tools", "integrations.anthropic_memory:open_tool_in_loop"),
    "langgraph": Library("langgraph.store.base", "integrations.langgraph_store:open_store"),
    "langgraph async": Library("langgraph.store.base", "integrations.langgraph_store:open_store_in_loop"),
    "agent-framework": Library(
        "agent_framework",
        "integrations.agent_framework_context:open_conversations",
        without=frozenset({"correct", "forget"}),  # a provider adds context, and is asked for nothing else
    ),
    "llama-index": Library(
        "llama_index.core",
        "integrations.llamaindex_memory:open_sessions",
        without=frozenset({"correct", "forget"}),  # a block adds to the prompt, and keeps what leaves the history
    ),
    "google-adk": Library("google.adk", "integrations.google_adk_memory:open_service"),
    "strands": Library("strands.memory", "integrations.strands_memory:open_store"),
    "claude-agent-sdk": Library("claude_agent_sdk", "integrations.claude_agent:open_tools"),
    "pydantic-ai": Library("pydantic_ai", "integrations.pydantic_ai_tools:open_tools"),
}


def tell(library: Library, seam: Seam) -> None:
    """The whole story, as far as the library has words for it."""
    ana, bob = library.open(seam, "ana"), library.open(seam, "bob")
    has = {step for step in STEPS if step not in library.without}
    assert ana.find("What does Ana drink?") == [], "nothing is stored yet"

    key = ana.save(TEA)
    assert _is_first(TEA, ana.find("What does Ana drink in the morning?"))
    if "isolate" in has:
        assert bob.find("What does Ana drink in the morning?") == []
        bob.save("Bob drinks water in the morning.")
        assert not _has(TEA, bob.find("What is drunk in the morning?"))
        assert not _has("Bob", ana.find("What is drunk in the morning?"))
    if "correct" in has:
        ana.correct(key, COFFEE)
        results = ana.find("What does Ana drink in the morning?")
        assert _is_first(COFFEE, results)
        assert not _has(TEA, results)
    if "forget" in has:
        ana.forget(key)
        assert ana.find("What does Ana drink in the morning?") == []
    if "fail" in has:
        seam.store.is_broken = True
        with pytest.raises(Exception, match="does not answer"):
            ana.find("What does Ana drink?")
        seam.store.is_broken = False
        assert ana.find("What does Ana drink?") == [] or "forget" not in has


def _is_first(text: str, results: list[str]) -> bool:
    return bool(results) and text in results[0]


def _has(text: str, results: list[str]) -> bool:
    return any(text in each for each in results)
