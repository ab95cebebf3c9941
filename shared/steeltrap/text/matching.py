"""Whether a memory passes a filter: what a store decides over memories at hand, without an index or SQL. Pure."""

from datetime import datetime
from typing import Any

from ..model import FLAGS, PROJECTS, TEXTS, TIMES, Filter, JsonObject, Memory, When, to_moment
from .dates import is_day
from .words import normalised


def fold_tag(tag: str) -> str:
    """The form in which tags are compared: without case, and the same for é as one character and as two."""
    folded = tag.strip()
    return folded.casefold() if folded.isascii() else normalised("NFC", normalised("NFD", folded).casefold())


def fold_category(category: str) -> str:
    """The form in which categories are compared: the same for é as one character and as two."""
    return category if category.isascii() else normalised("NFC", category)


def compared(of: Filter | Memory, name: str) -> Any:
    """The value of a field in the form in which a filter compares it."""
    value = getattr(of, name)
    return fold_category(value) if name == "category" and value is not None else value


def sees(filter: Filter, memory: Memory, now: datetime) -> bool:
    """Whether a reader sees it, whatever the conditions of the filter are."""
    return (
        memory.is_visible(now)
        and (memory.source != "conversation" or _includes_said(filter, memory))
        and not filter.hides(memory)
    )


def _includes_said(filter: Filter, memory: Memory) -> bool:
    return filter.include_turns and filter.turns_of in (None, memory.conversation_id)


def admits(filter: Filter, memory: Memory, now: datetime) -> bool:
    """Whether a reader sees it and the filter's conditions hold."""
    return (
        sees(filter, memory, now)
        and (filter.episodes or not memory.is_episode or _includes_said(filter, memory))
        and all(compared(filter, name) in (None, compared(memory, name)) for name in (*TEXTS, *FLAGS))
        and (not filter.categories or compared(memory, "category") in map(fold_category, filter.categories))
        and in_scopes(filter, memory.scope)
        and all(in_time(filter, name, getattr(memory, name)) for name in TIMES)
        and {fold_tag(tag) for tag in filter.tags} <= {fold_tag(tag) for tag in memory.tags}
        and _has(memory.metadata, filter.metadata)
    )


def _has(metadata: JsonObject, pairs: JsonObject) -> bool:
    return all(key in metadata and _equal(metadata[key], value) for key, value in pairs.items())


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, list | dict) or isinstance(other, list | dict):
        return False
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)


def in_scopes(filter: Filter, scope: str) -> bool:
    """Whether a filter's conditions on scopes hold for one."""
    if filter.project is not None and _within(PROJECTS, scope) and not _within(filter.project, scope):
        return False
    return filter.scope in (None, scope) or (filter.include_child_scopes and _within(filter.scope, scope))


def _within(above: str, scope: str) -> bool:
    return scope == above or scope.startswith(f"{above}/")


def in_time(filter: Filter, name: str, when: When | None) -> bool:
    """Whether a filter's conditions on one of TIMES hold for a memory's time or day."""
    after, before = filter.between(name, days=when is not None and is_day(when))
    if after is None and before is None:
        return True
    at = None if when is None else to_moment(when)
    return at is not None and (after is None or at >= to_moment(after)) and (before is None or at < to_moment(before))
