"""Export to a file: memories of a scope, or all, into a file of the user's own."""

from collections.abc import Iterator
from typing import Final

from ...errors import Unavailable
from ...model import Filter, Memory
from ...model.frozen import frozen
from ...ports import ExportFiles
from ...rules.limits import check_file_name, check_scope
from ..call import Call
from ..redact import check_name
from .sync_file import Item, compress, default_name, encode

_PAGE: Final = 1000


@frozen
class ExportedFile:
    """What an export wrote; sizes are in bytes, before compression and as the file has it."""

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
    name = check_file_name(name) if name is not None else default_name(call.now(), compressed=compressed)
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
        yield from pages(call, Filter(scope=check_scope(scope), include_child_scopes=True, include_superseded=True))


def pages(call: Call, filter: Filter) -> Iterator[Memory]:
    """All that a filter admits, newest first."""
    offset = 0
    while page := call.space.page(filter, limit=_PAGE, offset=offset).memories:
        yield from page
        offset += len(page)


def files_of(call: Call) -> ExportFiles:
    """The user's files. Raises Unavailable where there is no place for them."""
    if call.files is None:
        raise Unavailable(
            "This server has no storage for files: use core.export and core.import, which return the memories.",
            retryable=False,
            part="store",
        )
    return call.files
