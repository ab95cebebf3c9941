"""Whether a document passes a filter: what a store decides over documents at hand, without an index or SQL. Pure."""

from typing import Any

from ..model import Filter, JsonObject, to_micros
from ..ports import Document

PLAIN = ("tier", "category", "content_type", "agent_id", "agent_label", "conversation_id")
"""The fields that a filter compares for equality."""


def fold_tag(tag: str) -> str:
    """The form in which tags are compared."""
    return tag.strip().casefold()


def expired(document: Document, now: int) -> bool:
    """Whether its time has passed at `now`, in microseconds."""
    return document.expires_at is not None and document.expires_at <= now


def sees(filter: Filter, document: Document, now: int) -> bool:
    """Whether a reader sees it without any condition; turns where the filter includes them."""
    return not expired(document, now) and (not document.turn or _includes_said(filter, document))


def _includes_said(filter: Filter, document: Document) -> bool:
    return filter.include_turns and filter.turns_of in (None, document.conversation_id)


def admits(filter: Filter, document: Document, now: int) -> bool:
    """Whether a reader sees it and the filter's conditions hold."""
    return (
        sees(filter, document, now)
        and (filter.episodes or not document.episode or _includes_said(filter, document))
        and all(getattr(filter, name) in (None, getattr(document, name)) for name in PLAIN)
        and (not filter.categories or document.category in filter.categories)
        and _in_scope(filter, document.scope)
        and _between(document.created_at, filter.created_after, filter.created_before)
        and _between(document.occurred_at, filter.occurred_after, filter.occurred_before)
        and {fold_tag(tag) for tag in filter.tags} <= {fold_tag(tag) for tag in document.tags}
        and _has(document.metadata, filter.metadata)
    )


def _has(metadata: JsonObject, asked: JsonObject) -> bool:
    return all(key in metadata and _same(metadata[key], value) for key, value in asked.items())


def _same(stored: Any, asked: Any) -> bool:
    if isinstance(stored, list | dict) or isinstance(asked, list | dict):
        return False
    return isinstance(stored, bool) == isinstance(asked, bool) and bool(stored == asked)


def _in_scope(filter: Filter, scope: str) -> bool:
    if filter.scope in (None, scope):
        return True
    return filter.include_child_scopes and scope.startswith(f"{filter.scope}/")


def _between(at: int | None, after: Any, before: Any) -> bool:
    if after is None and before is None:
        return True
    return at is not None and (after is None or at >= to_micros(after)) and (before is None or at < to_micros(before))
