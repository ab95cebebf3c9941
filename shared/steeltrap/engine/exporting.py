"""Exporting: memories as records, in a stable order, page by page or streaming, or into a file of the user's own.

A history that is too long for one record goes on in further ones, of the id and the next versions, so that no record
is large, whatever one memory's history holds. An import puts them together again.
"""

from collections.abc import Iterator
from dataclasses import replace
from secrets import token_hex
from typing import Final

from .. import record
from ..errors import Unavailable, memory_not_found
from ..model import JsonObject, Memory
from ..model.frozen import frozen
from ..ports import ExportFiles, memory_count
from ..text.limits import check_file_name, check_id, check_scope
from .call import Call
from .exchange_file import Item, compress, default_name, encode
from .reading import MAX_PAGE_BYTES, earlier, memories_in, size_of
from .secrets import check_name

MAX_RECORD_BYTES: Final = 1024 * 1024
"""Bytes of one record with its part of the history; a memory and a single version may be larger."""
_BETWEEN: Final = ":"


@frozen
class Exported:
    """One page of records; `next` continues it, None at the end."""

    records: list[JsonObject]
    next: str | None


def count(call: Call, *, turns: bool) -> int:
    """The number of memories that an export of everything has."""
    counts = call.space.statistics()
    return memory_count(counts) + (counts["turns"] if turns else 0)


def export_page(
    call: Call, *, limit: int, after: str | None = None, turns: bool = True, history: bool = True
) -> Exported:
    """Up to `limit` records after the cursor `after`, and no more than 4 MiB of them, but always one.

    `after` is an id, or what `cursor` says. Does not count as access. Raises NotFound for an unknown id.
    """
    page: list[JsonObject] = []
    size = 0
    for item, item_size in call.in_time(_records_after(call, after, turns=turns, history=history)):
        size += item_size
        if page and (len(page) == limit or size > MAX_PAGE_BYTES):
            return Exported(records=page, next=cursor(page[-1]))
        page.append(item)
    return Exported(records=page, next=None)


def cursor(item: JsonObject) -> str:
    """The `after` that continues an export after a record: its id, and the last version of it that was exported."""
    past = item.get("history")
    return f"{item['id']}{_BETWEEN}{past[-1]['memory'].get('version', 1)}" if past else str(item["id"])


def export_all(call: Call, *, turns: bool = True) -> Iterator[JsonObject]:
    """Every visible memory as records, streaming."""
    return (item for item, _ in _records_after(call, None, turns=turns, history=True))


def _records_after(call: Call, after: str | None, *, turns: bool, history: bool) -> Iterator[tuple[JsonObject, int]]:
    """The records after a cursor, each with its size."""
    last, past_version = None, 0
    if after is not None:
        id, _, version = after.partition(_BETWEEN)
        last, past_version = check_id(id), int(version) if version.isdecimal() and len(version) < 10 else 0
        if last == "" or (_BETWEEN in after and not past_version):
            raise memory_not_found(after)
    if last and past_version and history and (memory := call.space.get([last]).get(last)):
        yield from _records(call, memory, past_version=past_version)
    for memory in call.space.walk(after=last, turns=turns):
        if history:
            yield from _records(call, memory)
        else:
            whole = _encoded(memory)
            yield whole, size_of(whole)


def _records(call: Call, memory: Memory, *, past_version: int = 0) -> Iterator[tuple[JsonObject, int]]:
    """A memory with the start of its history and, in further records, the rest; or the rest after a version."""
    item: JsonObject = {"id": memory.id} if past_version else _encoded(memory)
    images: list[JsonObject] = []
    size = size_of(item)
    for revision in earlier(call, memory, after=past_version):
        image = {
            "memory": _encoded(revision.memory),
            "replaced_at": revision.replaced_at.isoformat(),
            "replaced_by": revision.replaced_by,
        }
        image_size = size_of(image)
        if images and size + image_size > MAX_RECORD_BYTES:
            yield {**item, "history": images}, size
            item, images, size = {"id": memory.id}, [], 0
        images.append(image)
        size += image_size
    if images:
        yield {**item, "history": images}, size
    elif not past_version:
        yield item, size


def _encoded(memory: Memory) -> JsonObject:
    """A memory without the import that brought it, which no other store knows."""
    return record.encode(replace(memory, import_id=None, import_version=None))


@frozen
class ExportedFile:
    """Result of an export to a file; sizes are in bytes, before compression and as the file has it."""

    name: str
    memories: int
    associations: int
    plain_size: int
    size: int
    compressed: bool


def export_file(
    call: Call,
    *,
    scope: str | None = None,
    name: str | None = None,
    compressed: bool = False,
    associations: bool = True,
) -> ExportedFile:
    """Write the memories of a scope and those below it, or all, to a file, in place of one of that name.

    Only associations with both ends in the file are in it. Does not count as access. Raises TooLarge
    over 100 MB, and InvalidInput for a name that is no relative path.
    """
    files = files_of(call)
    check_name(call, "file_path", name)
    if name is None:
        # Random, since no store of files can refuse a name that another export takes meanwhile.
        name = default_name(call.now(), token_hex(6), compressed=compressed)
    name = check_file_name(name)
    memories = {memory.id: memory for memory in call.in_time(_of_scope(call, scope))}
    items = [
        Item(memory=memory, links=tuple(k for k in memory.links if k.target_id in memories) if associations else ())
        for memory in memories.values()
    ]
    plain = encode(call.in_time(items), at=call.now(), scope=scope, associations=associations)
    content = compress(plain) if compressed else plain
    files.write(name, content)
    return ExportedFile(
        name=name,
        memories=len(items),
        associations=sum(len(item.links) for item in items),
        plain_size=len(plain),
        size=len(content),
        compressed=compressed,
    )


def _of_scope(call: Call, scope: str | None) -> Iterator[Memory]:
    if scope is None:
        yield from call.space.walk()
    else:
        yield from memories_in(call, check_scope(scope))


def files_of(call: Call) -> ExportFiles:
    """The user's files. Raises Unavailable where there is no place for them."""
    if call.files is None:
        raise Unavailable(
            "This server has no storage for files: use core.export and core.import, which return the memories.",
            retryable=False,
            part="store",
        )
    return call.files
