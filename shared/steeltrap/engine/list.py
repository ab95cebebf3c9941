"""List: pages of memories by filter, newest first, with the exact total."""

from ..model import Filter, Page, ScopeUse
from .call import Call


def list_memories(call: Call, filter: Filter, *, limit: int, offset: int = 0, count_access: bool = False) -> Page:
    """A page of what the filter admits.

    Listing does not count as access, but with `count_access`: for a dialect in which an agent reads its
    memories by listing them.
    """
    page = call.space.page(filter, limit=limit, offset=offset)
    if count_access:
        call.space.note_access([memory.id for memory in page.memories], call.now())
    return page


def list_scopes(call: Call, parent: str | None = None) -> dict[str, ScopeUse]:
    """The use of each scope, by name; with `parent`, only it and the scopes below it."""
    used = call.space.scopes()
    if parent is not None:
        used = {s: use for s, use in used.items() if s == parent or s.startswith(parent + "/")}
    return dict(sorted(used.items()))
