"""The memory table as an index's upkeep reads it: all of it, block by block, and which versions it has."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from ....model import UserRef
from ....ports import Document, Held, Tombstone
from ..client.table import Tables
from ..layout import keys
from ..layout.typed import from_attributes, number, text
from . import documents
from .everyone import everyone

_BLOCK_SECONDS: Final = 60.0
_SECONDS: Final = 3600.0


class DynamoTruth:
    """A `Truth` over the memory table. Reading everyone's scans it, consistently, `block` items a page (None: 1 MB)."""

    def __init__(self, tables: Tables, *, block: int | None = None) -> None:
        self._tables = tables
        self._block = block

    def users(self) -> Iterator[UserRef]:
        return everyone(self._tables)

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
            found = map(from_attributes, page["Items"])
            block = [
                document
                for user, items in groupby(found, key=lambda item: text(item, "u"))
                for document in documents.documents(self._tables, user, list(items), deadline)
            ]
            last = page.get("LastEvaluatedKey")
            yield block, _place(last) if last else ""
            if not last:
                return
            request["ExclusiveStartKey"] = last

    def documents(self, user: str) -> Iterator[Document | Tombstone]:
        return documents.everything(self._tables, user, timeout=_BLOCK_SECONDS)

    def held(self, user: str) -> dict[str, Held]:
        found = self._tables.items(
            user,
            "begins_with(k, :memories)",
            {":memories": keys.MEMORIES},
            self._tables.within(_SECONDS),
            ProjectionExpression="k, w, gone, deleted_at",
        )
        return {
            keys.id_of(text(item, "k")): Held(number(item, "w"), "gone" not in item and "deleted_at" not in item)
            for item in found
        }

    def known(self, user: str, ids: Sequence[str]) -> frozenset[str]:
        there = self._tables.get(user, map(keys.memory, ids), ("k",), self._tables.within(_BLOCK_SECONDS))
        return frozenset(map(keys.id_of, there))


def _place(key: Any) -> str:
    return f"{key['u']['S']} {key['k']['S']}"


def _key(place: str) -> dict[str, Any]:
    user, _, key = place.partition(" ")
    return {"u": {"S": user}, "k": {"S": key}}
