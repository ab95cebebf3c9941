"""A user's latest writes, read consistently: what an index may not know yet.

The bound between the two is one number, the index version: the overlay has every memory written at or after it, the
index is asked for those below. So nothing is found or counted twice, whatever the clocks of the writers say.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from ....ports import Clock, Document
from ..layout import keys
from ..layout.tables import WRITTEN
from ..layout.typed import Item, from_attributes, number, text
from .documents import documents
from .partition import Partition

MOST: Final = 300
"""How many writes are looked at; scoring them takes some 10 ms. What was written before is the index's."""
_FRESH_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Recent:
    """The latest writes, from the index version `since` on.

    `gone` are those that were deleted, `changed` those that an index may have an older image of. `cut` is the
    version of a write below `since` that had to be left to the index, `oldest` that of the first write from there on.
    `is_open` is False while the user is being forgotten. `user` is the user's own item as it was before any of the
    writes was read.
    """

    since: int
    documents: dict[str, Document] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    cut: int | None = None
    oldest: int | None = None
    is_open: bool = True
    user: Item | None = None

    def has(self, id: str) -> bool:
        """Whether the index's word on a memory doesn't count."""
        return id in self.documents or id in self.gone


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look-around saw: the user's own item, and memories that were there, unless something was purged since.

    `began` is when it began to look, on the clock that never jumps.
    """

    user: Item | None
    ids: frozenset[str]
    began: float

    def is_fresh(self, clock: Clock) -> bool:
        return clock.monotonic() - self.began < _FRESH_SECONDS


def recent(partition: Partition, since: int) -> Recent:
    """What was written since an index version, or later when that is too much.

    One request, and one more when something large is among it. Raises Conflict for another embedder.
    """
    page = next(
        iter(
            partition.tables.query(
                partition.key,
                "w >= :since",
                {":since": since},
                partition.deadline,
                IndexName=WRITTEN,
                Select="ALL_ATTRIBUTES",
                ScanIndexForward=False,
                Limit=MOST,
            )
        )
    )
    found = _items(page)
    user = found.pop(0) if found and found[0]["k"] == keys.USER else None
    is_open = partition.admit(user)
    cut = None
    if "LastEvaluatedKey" in page and found:
        # Of writes with the same version some may be behind the cut: they are all left to the index.
        cut = _version(found[-1])
        since = cut + 1
        found = [item for item in found if _version(item) >= since]
    found_documents = list(documents(partition.tables, partition.key, found, partition.deadline))
    there = {one.id: one for one in found_documents if isinstance(one, Document)}
    known = {keys.id_of(text(item, "k")): item for item in found}
    return Recent(
        since=since,
        documents=there,
        gone=frozenset(known.keys() - there.keys()),
        changed=frozenset(id for id, item in known.items() if number(item, "made") < since),
        cut=cut,
        oldest=_version(found[-1]) if found else None,
        is_open=is_open,
        user=user,
    )


def last_before(partition: Partition, version: int) -> int:
    """The index version of the last write below one; 0 when there is none."""
    page = next(
        iter(
            partition.tables.query(
                partition.key,
                "w < :version",
                {":version": version},
                partition.deadline,
                IndexName=WRITTEN,
                ProjectionExpression="w",
                ScanIndexForward=False,
                Limit=1,
            )
        )
    )
    return max((_version(item) for item in _items(page)), default=0)


def _items(page: Any) -> list[Item]:
    return [from_attributes(item) for item in page["Items"]]


def _version(item: Item) -> int:
    return number(item, "w")
