"""Export: memories as records, in a stable order, page by page or streaming; lossless."""

from collections.abc import Iterator
from typing import Final

from ... import record
from ...errors import TooLarge
from ...model import JsonObject, Memory
from ...model.frozen import frozen
from ...rules.limits import check_id
from ..call import Call
from ..get import not_found
from ..history import MAX_PAGE_BYTES, earlier, size_of

MAX_RECORD_BYTES: Final = 32 * 1024 * 1024
"""Of one record with its history: half of what an import takes, since clients may write it with escapes."""


@frozen
class Exported:
    """One page of records; `next` continues it, None at the end."""

    records: list[JsonObject]
    next: str | None


def export_page(
    call: Call, *, limit: int, after: str | None = None, turns: bool = True, history: bool = True
) -> Exported:
    """Up to `limit` records behind the id `after`, and no more than 4 MiB of them, but always one.

    Does not count as access. Raises NotFound for an unknown id, TooLarge for a record that no import takes.
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
    """A record, and its bytes as JSON. Raises TooLarge before more than `most` are read."""
    whole = record.encode(memory)
    size = size_of(whole)
    images: list[JsonObject] = []
    for revision in earlier(call, memory) if history else ():
        image = {
            "memory": record.encode(revision.memory),
            "replaced_at": revision.replaced_at.isoformat(),
            "replaced_by": revision.replaced_by,
        }
        size += size_of(image)
        if most is not None and size > most:
            raise TooLarge(
                f"Memory {memory.id} has more than {most // 1024**2} MiB of earlier versions: export without "
                "`include_history`, or with `steeltrap export`.",
                id=memory.id,
            )
        images.append(image)
    if images:
        whole["history"] = images
    return whole, size
