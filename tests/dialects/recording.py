"""How tests call tools: those of `records` that must succeed or be refused, and a search of memories just saved."""

from collections.abc import Callable, Sequence
from typing import Any

from clock import SettableClock
from steeltrap.invoke import Door
from steeltrap.model import Caller

Tools = Callable[..., Any]
FILLER = "over the hills and far away they went until the moon rose above the silent valley"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def that_succeeds(ask: Tools) -> Tools:
    """Calls a tool that must succeed and answers its body."""

    def run(tool: str, **arguments: Any) -> Any:
        result = ask(f"records.{tool}", **arguments)
        assert result.error is None, result.body
        return result.body

    return run


def that_is_refused(ask: Tools) -> Tools:
    """Calls a tool that must fail, checks the form of the error and that nothing changed; answers (type, message)."""

    def refused(tool: str, **arguments: Any) -> tuple[str, str]:
        before = ask("core.export").body
        body = ask(f"records.{tool}", **arguments).body
        assert set(body) == {"error", "error_type", "message"}
        assert body["error"] is True
        assert ask("core.export").body == before
        return body["error_type"], body["message"]

    return refused


def stored(run: Tools, content: str = "User prefers dark mode", **fields: Any) -> str:
    """The id of a new memory."""
    id = run("memory_store", content=content, **fields)["id"]
    assert isinstance(id, str)
    return id


def ranked(
    door: Door, clock: SettableClock, caller: Caller, contents: Sequence[str], query: str
) -> list[dict[str, object]]:
    """The results of a search, each with why it was found, after the contents were saved a second apart."""
    for content in contents:
        saved = door.invoke("core.save", {"content": content}, caller)
        assert saved.error is None, saved.body
        clock.advance(seconds=1)
    results: list[dict[str, object]] = door.invoke("core.search", {"query": query, "why": True}, caller).body["results"]
    return results
