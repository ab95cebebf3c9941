"""Shared by the tests of the associative dialect: a small space, and every operation over it at a level."""

import re
from collections.abc import Callable
from typing import Any

from clock import SettableClock

Ask = Callable[..., Any]

LEVELS = ("minimal", "standard", "full")
UNKNOWN = "00000000-0000-4000-8000-000000000000"
LONG = "The nightly build deploys the staging server from the release branch, runs every migration and tells the team."
NEAR = "The nightly build deploys the staging server from the release branch, runs every migration and tells nobody."
OTHER = "Ana prefers green tea to coffee, but only in the morning."

_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?\b")


def answered(result: Any) -> Any:
    assert result.error is None, result.body
    return result.body


def told(ask: Ask, tool: str, **arguments: Any) -> Any:
    """The answer of a tool of the dialect."""
    return answered(ask(f"associative.{tool}", **arguments))


def stored(ask: Ask, content: str, **arguments: Any) -> str:
    """The id of a new memory, as answers show it."""
    return str(told(ask, "memory_store", content=content, **arguments)["memory_id"])


def whole(ask: Ask, id: str) -> str:
    """The whole id of a memory."""
    return str(answered(ask("core.history", id=id))["revisions"][-1]["memory"]["id"])


def furnish(ask: Ask, clock: SettableClock) -> dict[str, str]:
    """Three memories in two scopes, a session and an exported file; the ids by name."""
    ids = {}
    ids["long"] = stored(ask, LONG, scope="work/build", tags=["ci"], category="fact", metadata={"source": "wiki"})
    clock.advance(seconds=1)  # none is as new as another, so that every list has one order
    ids["near"] = stored(ask, NEAR, scope="work/build")
    clock.advance(seconds=1)
    ids["other"] = stored(ask, OTHER, scope="personal/food")
    clock.advance(seconds=1)
    told(ask, "session_manage", action="create", session_id="old")
    ids["note"] = stored(ask, "Try the blue branch first.", scope="session/old")
    clock.advance(seconds=1)
    told(ask, "memory_sync", operation="export", file_path="before.json")
    return ids


OPERATIONS: dict[str, Callable[[Ask, dict[str, str], str], Any]] = {
    "memory_store": lambda ask, ids, level: told(
        ask,
        "memory_store",
        content="The nightly build of the staging server runs every migration of the release branch.",
        scope="work/build",
        tags=["new"],
        response_level=level,
    ),
    "memory_store (duplicate)": lambda ask, ids, level: told(
        ask, "memory_store", content=LONG, scope="work/build", response_level=level
    ),
    "memory_search": lambda ask, ids, level: told(
        ask, "memory_search", query="nightly build of the staging server", response_level=level
    ),
    "memory_search (diversified)": lambda ask, ids, level: told(
        ask, "memory_search", query="nightly build", mode="diversified", response_level=level
    ),
    "memory_search (nothing)": lambda ask, ids, level: told(
        ask, "memory_search", query="nightly build", scope="nowhere", response_level=level
    ),
    "memory_manage (get)": lambda ask, ids, level: told(
        ask, "memory_manage", operation="get", memory_id=ids["long"], response_level=level
    ),
    "memory_manage (get unknown)": lambda ask, ids, level: told(
        ask, "memory_manage", operation="get", memory_id=UNKNOWN, response_level=level
    ),
    "memory_manage (update)": lambda ask, ids, level: told(
        ask, "memory_manage", operation="update", memory_id=ids["long"], tags=["reviewed"], response_level=level
    ),
    "memory_manage (delete)": lambda ask, ids, level: told(
        ask, "memory_manage", operation="delete", memory_id=ids["long"], response_level=level
    ),
    "memory_discover_associations": lambda ask, ids, level: told(
        ask, "memory_discover_associations", memory_id=ids["long"], response_level=level
    ),
    "memory_move": lambda ask, ids, level: told(
        ask, "memory_move", memory_ids=[ids["long"]], target_scope="archive", response_level=level
    ),
    "memory_move (partly)": lambda ask, ids, level: told(
        ask, "memory_move", memory_ids=[ids["long"], UNKNOWN], target_scope="archive", response_level=level
    ),
    "memory_list_all": lambda ask, ids, level: told(ask, "memory_list_all", response_level=level),
    "memory_sync (export)": lambda ask, ids, level: told(
        ask, "memory_sync", operation="export", file_path="after.json", response_level=level
    ),
    "memory_sync (import)": lambda ask, ids, level: told(
        ask, "memory_sync", operation="import", file_path="before.json", scope="imported", response_level=level
    ),
    "scope_list": lambda ask, ids, level: told(ask, "scope_list", response_level=level),
    "scope_suggest": lambda ask, ids, level: told(
        ask, "scope_suggest", content="an error of the staging server's nightly build", response_level=level
    ),
    "session_manage (create)": lambda ask, ids, level: told(
        ask, "session_manage", action="create", session_id="new", response_level=level
    ),
    "session_manage (list)": lambda ask, ids, level: told(ask, "session_manage", action="list", response_level=level),
    "session_manage (cleanup)": lambda ask, ids, level: told(
        ask, "session_manage", action="cleanup", max_age_days=0, response_level=level
    ),
}
"""Every tool with each of its operations, at a level, over a space that `furnish` filled."""


def named(answer: Any, ids: dict[str, str]) -> Any:
    """The answer with each id by its name, one that came to be by another."""
    names = {id: name for name, id in ids.items()} | {UNKNOWN: "unknown"}

    def name(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: name(item) for key, item in value.items()}
        if isinstance(value, list):
            return [name(item) for item in value]
        if isinstance(value, str):
            return _UUID.sub(lambda found: names.get(found[0], "a new one"), value)
        return value

    return name(answer)


def without_ids(text: str) -> str:
    """The text with the same id, of the usual number of tokens, in place of each."""
    return _UUID.sub("795b929e-9a9a-40fd-aa7b-5bf55eb561a4", text)
