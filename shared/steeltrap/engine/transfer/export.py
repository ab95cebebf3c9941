"""Export: memories as records, in a stable order, page by page or streaming; lossless, but for pages' limits."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ... import record
from ...model import JsonObject, Memory
from ...model.frozen import frozen
from ...rules.limits import check_id
from ..call import Call
from ..get import not_found
from ..history import MAX_PAGE_BYTES, earlier, size_of

MAX_RECORD_BYTES: Final = 32 * 1024 * 1024
"""Of one record with its history, whose earliest images are left out beyond it: half of what an import takes, since
clients may write it with escapes."""


@frozen
class Exported:
    """One page of records; `next` continues it, None at the end."""

    records: list[JsonObject]
    next: str | None


def export_page(
    call: Call, *, limit: int, after: str | None = None, turns: bool = True, history: bool = True
) -> Exported:
    """Up to `limit` records behind the id `after`, and no more than 4 MiB of them, but always one.

    Does not count as access. Raises NotFound for an unknown id.
    """
    behind = None if after is None else check_id(after)
    if behind == "":
        raise not_found(after or "")
    page: list[JsonObject] = []
    size = 0
    for memory in call.in_time(call.space.walk(after=behind, turns=turns)):
        if len(page) == limit:
            return Exported(records=page, next=page[-1]["id"])
        whole, added = _record(call, memory, history=history, most=MAX_RECORD_BYTES)
        size += added
        if page and size > MAX_PAGE_BYTES:
            return Exported(records=page, next=page[-1]["id"])
        page.append(whole)
    return Exported(records=page, next=None)


def export_all(call: Call, *, turns: bool = True) -> Iterator[JsonObject]:
    """Every visible memory as a record, streaming."""
    for memory in call.space.walk(turns=turns):
        yield to_record(call, memory)


def to_record(call: Call, memory: Memory) -> JsonObject:
    """A memory's record with the images that updates replaced, under `history`."""
    return _record(call, memory, history=True, most=None)[0]


def _record(call: Call, memory: Memory, *, history: bool, most: int | None) -> tuple[JsonObject, int]:
    """A record, and its bytes as JSON.

    Of a history that needs more than `most` bytes with it, the latest images are kept: `history_from` names the version
    of the first one. So no writer of many versions keeps the others' memories from being exported.
    """
    whole = _encoded(memory)
    size = size_of(whole)
    images: deque[tuple[JsonObject, int]] = deque()
    left_out = False
    past = earlier(call, memory) if history else iter(())
    for revision in past if most is None else call.in_time(past):
        image = {
            "memory": _encoded(revision.memory),
            "replaced_at": revision.replaced_at.isoformat(),
            "replaced_by": revision.replaced_by,
        }
        images.append((image, size_of(image)))
        size += images[-1][1]
        while most is not None and size > most and images:
            size -= images.popleft()[1]
            left_out = True
    if left_out:
        whole["history_from"] = images[0][0]["memory"]["version"] if images else memory.version
    if images:
        whole["history"] = [image for image, _ in images]
    return whole, size


def _encoded(memory: Memory) -> JsonObject:
    """A memory without the import that brought it, which no other store knows."""
    return record.encode(replace(memory, import_id=None, import_version=None))
