"""List: pages of memories by filter, newest first, with the exact total."""

from ..model import Filter, Page
from .call import Call


def list_memories(call: Call, filter: Filter, *, limit: int, offset: int = 0) -> Page:
    """A page of what the filter admits. Listing does not count as access."""
    return call.space.page(filter, limit=limit, offset=offset)


def list_scopes(call: Call, parent: str | None = None) -> dict[str, int]:
    """How many memories lie directly in each scope, by name; with `parent`, of it and the scopes below."""
    counts = call.space.scopes()
    if parent is not None:
        counts = {s: n for s, n in counts.items() if s == parent or s.startswith(parent + "/")}
    return dict(sorted(counts.items()))
