"""History: every image a memory has had, oldest first, the current one last, a page at a time."""

import json
from collections.abc import Iterator
from typing import Final

from .. import record
from ..model import JsonObject, Memory, Revision
from ..model.frozen import frozen
from .call import Call
from .get import find

MAX_PAGE_BYTES: Final = 4 * 1024 * 1024
"""Of one answer, as JSON: a function's answer has at most 6 MB, in which its JSON is escaped once more."""
_BLOCK: Final = 20


@frozen
class Page:
    """Images that updates replaced. Behind the last of them comes the current one, or `next`, which continues."""

    revisions: list[Revision]
    current: Memory | None
    next: int | None = None


def history(call: Call, id: str, *, limit: int, after: int = 0) -> Page:
    """Up to `limit` images behind a version, and no more than 4 MiB of them, but always one. Deleted memories have
    theirs too. Raises NotFound.
    """
    current = find(call, id, deleted=True)
    page: list[Revision] = []
    size = size_of(record.encode(current))
    for revision in call.in_time(earlier(call, current, after=after)):
        size += size_of(record.encode(revision.memory))
        if page and (len(page) == limit or size > MAX_PAGE_BYTES):
            return Page(revisions=page, current=None, next=page[-1].memory.version)
        page.append(revision)
    if len(page) == limit:
        return Page(revisions=page, current=None, next=page[-1].memory.version)
    return Page(revisions=page, current=current)


def earlier(call: Call, memory: Memory, *, after: int = 0) -> Iterator[Revision]:
    """The images before this one of a memory and behind a version, oldest first, read a few at a time."""
    while after < memory.version - 1:
        block = call.space.revisions(memory.id, after=after, limit=_BLOCK)
        # An update may have come since the memory was read: its image is this one, not history.
        yield from (revision for revision in block if revision.memory.version < memory.version)
        if not block:
            return
        after = block[-1].memory.version


def size_of(image: JsonObject) -> int:
    """The bytes of a record as JSON."""
    return len(json.dumps(image, ensure_ascii=False).encode())
