"""Export: memories as records, in a stable order, page by page or streaming; lossless.

A history that is too long for one record goes on in further ones, of the id and the next versions, so that no record
is large, whatever one memory's history holds. An import puts them together again.
"""

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

MAX_RECORD_BYTES: Final = 1024 * 1024
"""Of one record with its part of the history; a memory and a single version may be larger."""
_BETWEEN: Final = ":"


@frozen
class Exported:
    """One page of records; `next` continues it, None at the end."""

    records: list[JsonObject]
    next: str | None


def export_page(
    call: Call, *, limit: int, after: str | None = None, turns: bool = True, history: bool = True
) -> Exported:
    """Up to `limit` records behind `after`, and no more than 4 MiB of them, but always one.

    `after` is an id, or what `cursor` says. Does not count as access. Raises NotFound for an unknown id.
    """
    page: list[JsonObject] = []
    size = 0
    for found, added in call.in_time(_behind(call, after, turns=turns, history=history)):
        size += added
        if page and (len(page) == limit or size > MAX_PAGE_BYTES):
            return Exported(records=page, next=cursor(page[-1]))
        page.append(found)
    return Exported(records=page, next=None)


def cursor(found: JsonObject) -> str:
    """The `after` that continues an export behind a record: its id, and the last version of it that was exported."""
    past = found.get("history")
    return f"{found['id']}{_BETWEEN}{past[-1]['memory'].get('version', 1)}" if past else str(found["id"])


def export_all(call: Call, *, turns: bool = True) -> Iterator[JsonObject]:
    """Every visible memory as records, streaming."""
    return (found for found, _ in _behind(call, None, turns=turns, history=True))


def _behind(call: Call, after: str | None, *, turns: bool, history: bool) -> Iterator[tuple[JsonObject, int]]:
    """The records behind a cursor, each with its size."""
    last, behind = None, 0
    if after is not None:
        id, _, version = after.partition(_BETWEEN)
        last, behind = check_id(id), int(version) if version.isdecimal() and len(version) < 10 else 0
        if last == "" or (_BETWEEN in after and not behind):
            raise not_found(after)
    if last and behind and history and (rest := call.space.get([last]).get(last)):
        yield from _records(call, rest, behind=behind)
    for memory in call.space.walk(after=last, turns=turns):
        if history:
            yield from _records(call, memory)
        else:
            whole = _encoded(memory)
            yield whole, size_of(whole)


def _records(call: Call, memory: Memory, *, behind: int = 0) -> Iterator[tuple[JsonObject, int]]:
    """A memory with the start of its history and, in further records, the rest; or the rest behind a version."""
    found: JsonObject = {"id": memory.id} if behind else _encoded(memory)
    images: list[JsonObject] = []
    size = size_of(found)
    for revision in earlier(call, memory, after=behind):
        image = {
            "memory": _encoded(revision.memory),
            "replaced_at": revision.replaced_at.isoformat(),
            "replaced_by": revision.replaced_by,
        }
        added = size_of(image)
        if images and size + added > MAX_RECORD_BYTES:
            yield {**found, "history": images}, size
            found, images, size = {"id": memory.id}, [], 0
        images.append(image)
        size += added
    if images:
        yield {**found, "history": images}, size
    elif not behind:
        yield found, size


def _encoded(memory: Memory) -> JsonObject:
    """A memory without the import that brought it, which no other store knows."""
    return record.encode(replace(memory, import_id=None, import_version=None))
