"""Documents for the index: from a memory's item, or from records of the table's stream."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....ports import Deadline, Document, Tombstone
from ....record import from_image
from ..client.table import Tables
from ..layout import items, keys
from ..layout.typed import Item, from_attributes, number, text


def document(item: Item, image: bytes | None, search: bytes | None) -> Document | Tombstone:
    """The document of a memory's item; a tombstone for what is deleted or forgotten."""
    id, w = keys.id_of(text(item, "k")), number(item, "w")
    if image is None:
        return Tombstone(user=text(item, "u"), id=id, index_version=w)
    memory = from_image(image)
    if memory.deleted_at is not None:
        return Tombstone(user=text(item, "u"), id=id, index_version=w)
    tokens, embeddings = items.unpacked(search, number(item, "chunks")) if search else ((), ())
    return Document(
        user=text(item, "u"),
        index_version=w,
        memory=memory,
        position=number(item, "position"),
        speaker=text(item, "speaker") if "speaker" in item else None,
        tokens=tokens,
        embeddings=embeddings,
    )


def documents(tables: Tables, user: str, some: Sequence[Item], deadline: Deadline) -> Iterator[Document | Tombstone]:
    """The documents of a user's memory items, their pieces fetched. Those replaced meanwhile are left out: what
    came in their place has a record of its own."""
    wanted = [piece for item in some for name in ("image", "search") for piece in items.pieces_of(item, name)]
    pieces = tables.get(user, wanted, (), deadline) if wanted else {}
    for item in some:
        image, search = (items.content(item, name, pieces) for name in ("image", "search"))
        if (image is None and "image_at" in item) or (search is None and "search_at" in item):
            continue
        yield document(item, image, search)


def document_from(tables: Tables, record: Mapping[str, Any], deadline: Deadline) -> Document | Tombstone | None:
    """The document or tombstone of a record of the table's stream; None for records of other items than memories, and
    where a later record says more.

    An item that is gone, by its time to live too, leaves a tombstone one version on.
    """
    change = record["dynamodb"]
    item = from_attributes(change.get("NewImage") or change.get("OldImage") or {})
    if not text(item, "k").startswith(keys.MEMORIES):
        return None
    user = text(item, "u")
    if "NewImage" in change:
        return next(documents(tables, user, [item], deadline), None)
    return Tombstone(user=user, id=keys.id_of(text(item, "k")), index_version=number(item, "w") + 1)


def everything(tables: Tables, user: str, *, timeout: float, after: str = "") -> Iterator[Document | Tombstone]:
    """All documents and tombstones of a user as they are now, by id, from behind one; `timeout` is for each block."""
    block: list[Item] = []
    found = tables.items(
        user,
        "k BETWEEN :first AND :last",
        {":first": keys.memory(after) + " ", ":last": keys.memory("~")},
        tables.within(3600),
    )
    for item in found:
        block.append(item)
        if len(block) == _BLOCK:
            yield from documents(tables, user, block, tables.within(timeout))
            block.clear()
    yield from documents(tables, user, block, tables.within(timeout))


_BLOCK = 100
