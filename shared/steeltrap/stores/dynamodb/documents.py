"""The content that an index must have: documents from items or records of the stream, and the whole table, block by
block.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from ...model import UserRef
from ...ports import Deadline, Document, Held, Tombstone
from ...record import from_image
from . import items, keys
from .client import READ_SECONDS, Tables
from .items import Item, from_attributes, number, text
from .keys import EVERYONE


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


def documents(
    tables: Tables, user: str, memory_items: Sequence[Item], deadline: Deadline
) -> Iterator[Document | Tombstone]:
    """The documents of a user's memory items, their pieces fetched. Those replaced meanwhile are left out: what
    came in their place has a record of its own."""
    piece_keys = [
        piece for item in memory_items for name in ("image", "search") for piece in items.pieces_of(item, name)
    ]
    pieces = tables.get(user, piece_keys, (), deadline) if piece_keys else {}
    for item in memory_items:
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
    """All documents and tombstones of a user as they are now, by id, from after one; `timeout` is for each block."""
    block: list[Item] = []
    all_items = tables.items(
        user,
        "k BETWEEN :first AND :last",
        {":first": keys.memory(after) + " ", ":last": keys.memory("~")},
        tables.within(3600),
    )
    for item in all_items:
        block.append(item)
        if len(block) == _BLOCK:
            yield from documents(tables, user, block, tables.within(timeout))
            block.clear()
    yield from documents(tables, user, block, tables.within(timeout))


_BLOCK = 100


def everyone(tables: Tables, kind: str = keys.HERE) -> Iterator[UserRef]:
    """All users whose memories are here, or who are `MOVED`; someone who came a moment ago may be missing."""
    request: Any = {
        "TableName": tables.memory,
        "IndexName": EVERYONE,
        "KeyConditionExpression": "everyone = :kind",
        "ExpressionAttributeValues": {":kind": {"S": kind}},
    }
    while True:
        page = tables.call("query", request, tables.within(READ_SECONDS))
        for item in map(from_attributes, page["Items"]):
            yield UserRef(text(item, "user_id"), text(item, "tenant"))
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


_BLOCK_SECONDS: Final = 60.0
_SECONDS: Final = 3600.0


class DynamoTruth:
    """A `Truth` over the memory table. Reading everyone's scans it, consistently, `block` items a page (None: 1 MB)."""

    def __init__(self, tables: Tables, *, block: int | None = None) -> None:
        self._tables = tables
        self._block = block

    def users(self) -> Iterator[UserRef]:
        yield from everyone(self._tables)
        yield from everyone(self._tables, keys.MOVED)

    def everything(self, *, after: str = "") -> Iterator[tuple[Sequence[Document | Tombstone], str]]:
        request: dict[str, Any] = {
            "TableName": self._tables.memory,
            "ConsistentRead": True,
            "FilterExpression": "begins_with(k, :memories)",
            "ExpressionAttributeValues": {":memories": {"S": keys.MEMORIES}},
        }
        if self._block is not None:
            request["Limit"] = self._block
        if after:
            request["ExclusiveStartKey"] = _key(after)
        while True:
            deadline = self._tables.within(_BLOCK_SECONDS)
            page = self._tables.call("scan", request, deadline)
            page_items = map(from_attributes, page["Items"])
            block = [
                document
                for user, items in groupby(page_items, key=lambda item: text(item, "u"))
                for document in documents(self._tables, user, list(items), deadline)
            ]
            last = page.get("LastEvaluatedKey")
            yield block, _place(last) if last else ""
            if not last:
                return
            request["ExclusiveStartKey"] = last

    def documents(self, user: str) -> Iterator[Document | Tombstone]:
        return everything(self._tables, user, timeout=_BLOCK_SECONDS)

    def held(self, user: str) -> dict[str, Held]:
        all_items = self._tables.items(
            user,
            "begins_with(k, :memories)",
            {":memories": keys.MEMORIES},
            self._tables.within(_SECONDS),
            ProjectionExpression="k, w, gone, deleted_at",
        )
        return {
            keys.id_of(text(item, "k")): Held(number(item, "w"), "gone" not in item and "deleted_at" not in item)
            for item in all_items
        }

    def known(self, user: str, ids: Sequence[str]) -> frozenset[str]:
        stored_items = self._tables.get(user, map(keys.memory, ids), ("k",), self._tables.within(_BLOCK_SECONDS))
        return frozenset(map(keys.id_of, stored_items))


def _place(key: Any) -> str:
    return f"{key['u']['S']} {key['k']['S']}"


def _key(place: str) -> dict[str, Any]:
    user, _, key = place.partition(" ")
    return {"u": {"S": user}, "k": {"S": key}}
