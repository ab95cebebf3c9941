"""Export: memories as records, in a stable order, page by page or streaming; lossless."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from .. import record
from ..model import JsonObject, Memory
from .call import Call
from .get import not_found
from .limits import check_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One page of records; `next` continues it, None at the end."""

    records: list[JsonObject]
    next: str | None


def export_page(call: Call, *, limit: int, after: str | None = None, turns: bool = True) -> Exported:
    """Up to `limit` records behind the id `after`. Does not count as access. Raises NotFound for an unknown id."""
    behind = None if after is None else check_id(after)
    if behind == "":
        raise not_found(after or "")
    memories = list(islice(call.in_time(call.space.walk(after=behind, turns=turns)), limit + 1))
    page = memories[:limit]
    return Exported(
        records=[to_record(call, memory) for memory in call.in_time(page)],
        next=page[-1].id if len(memories) > limit else None,
    )


def export_all(call: Call, *, turns: bool = True) -> Iterator[JsonObject]:
    """Every visible memory as a record, streaming."""
    for memory in call.space.walk(turns=turns):
        yield to_record(call, memory)


def to_record(call: Call, memory: Memory) -> JsonObject:
    """A memory's record with the images that updates replaced, under `history`."""
    whole = record.encode(memory)
    # An update may have come since the memory was read: its image is this one, not history.
    earlier = call.space.revisions(memory.id) if memory.version > 1 else []
    revisions = [revision for revision in earlier if revision.memory.version < memory.version]
    if revisions:
        whole["history"] = [
            {
                "memory": record.encode(revision.memory),
                "replaced_at": revision.replaced_at.isoformat(),
                "replaced_by": revision.replaced_by,
            }
            for revision in revisions
        ]
    return whole
