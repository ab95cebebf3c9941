"""Words that a shell may complete: tools, toolsets, settings, and ids of memories.

A shell shows what is printed here as choices, so a failure completes nothing and says nothing.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import typer

Choices = list[tuple[str, str]]
"""Words, each with what a shell may show beside it."""

_MOST: Final = 50
_LATEST: Final = 1000
"""Number of memories, the latest ones, among which ids are looked for."""


def toolsets(incomplete: str) -> Choices:
    """The names of toolsets."""
    from ..toolsets import CATALOGUE

    return _beginning({name: f"{len(toolset.tools)} tools" for name, toolset in CATALOGUE.toolsets.items()}, incomplete)


def tools(incomplete: str) -> Choices:
    """The names of tools, such as core.search."""
    from ..toolsets import CATALOGUE

    return _beginning({tool.full_name: tool.description.partition("\n")[0] for tool in CATALOGUE.tools()}, incomplete)


def settings(incomplete: str) -> Choices:
    """The names of settings, as `config set` takes them."""
    from ..settings import FIELDS

    described = {name: field.metadata["description"] for name, field in FIELDS.items() if name != "data"}
    return _beginning(described, incomplete)


def memories(ctx: typer.Context, incomplete: str) -> Choices:
    """The ids of stored memories."""
    return _ids(ctx, incomplete, deleted=False)


def changed_memories(ctx: typer.Context, incomplete: str) -> Choices:
    """The ids of memories, first those that were deleted."""
    return [*_ids(ctx, incomplete, deleted=True), *_ids(ctx, incomplete, deleted=False)][:_MOST]


def _ids(ctx: typer.Context, incomplete: str, *, deleted: bool) -> Choices:
    from ..errors import SteeltrapError

    with suppress(SteeltrapError, OSError):
        return _beginning(dict(_listed(ctx.params, deleted=deleted)), incomplete)
    return []


def _listed(params: dict[str, Any], *, deleted: bool) -> Iterator[tuple[str, str]]:
    from .session import opened
    from .showing import short

    with opened(data=params.get("data"), user=params.get("user"), agent=params.get("agent")) as memory:
        page = memory.ask("core.list", limit=_LATEST, deleted=deleted or None)
    for memory in page["memories"]:
        yield memory["id"], short(memory["content"])


def _beginning(choices: dict[str, str], incomplete: str) -> Choices:
    return [(word, help) for word, help in choices.items() if word.startswith(incomplete)][:_MOST]
