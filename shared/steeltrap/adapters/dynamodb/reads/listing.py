"""Lists of a user's memories: pages with exact totals, and a walk through all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from ....errors import MemoryNotFound
from ....model import Filter, Memory, Page, from_micros
from ....record import from_image
from ....text.limits import canonical
from ..layout import items, keys
from ..layout.filters import Conditions
from ..layout.tables import CREATED, WRITTEN
from ..layout.typed import Item, from_attributes, number, text
from .partition import USER, Partition

_BLOCK: Final = 100


def page(partition: Partition, filter: Filter, *, limit: int, offset: int) -> Page:
    """A page of what the filter admits. The count reads all of the index, the memories only the page."""
    conditions = Conditions(replace(filter, as_of=None), partition.now())
    first, last = conditions.range
    ids: list[str] = []
    total = 0
    if not conditions.admits_none and first <= last:
        values = conditions.values | {":first": first, ":last": last}
        request: dict[str, Any] = {"ProjectionExpression": "k"}
        for found in partition.tables.query(
            partition.key,
            "listed BETWEEN :first AND :last",
            values,
            partition.deadline,
            IndexName=CREATED,
            FilterExpression=conditions.expression,
            ExpressionAttributeNames=conditions.names,
            **request,
        ):
            total += found["Count"]
            if len(ids) < offset + limit:
                ids += [keys.id_of(item["k"]["S"]) for item in found["Items"]]
    shown = ids[offset : offset + limit]
    # Reading the page's memories checks the embedder too, so this is done for an empty page as well.
    read = partition.memories(shown)
    visible = tuple(read[id] for id in shown if id in read and read[id].is_visible(from_micros(partition.now())))
    return Page(memories=visible, total=total)


def walk(partition: Partition, after: str | None, turns: bool) -> Iterator[Memory]:
    """All visible memories, the oldest first, then turns; what is created meanwhile comes in the end at the latest.

    Block by block, so that a long export holds no request open.
    """
    began = partition.stamp(0)
    begin = None if after is None else _place(partition, after)
    young: set[str] = set()
    for prefix in (keys.MEMORIES, keys.TURNS) if turns else (keys.MEMORIES,):
        if begin is None or begin.startswith(prefix):
            yield from _walk(partition, prefix, begin or f"{prefix}~", began, young)
            begin = None
    yield from _created_since(partition, began, young, turns)


def images(partition: Partition, *, earlier: bool) -> Iterator[Memory]:
    """Every image, of turns, deleted and expired memories too, or every one that an update replaced."""
    if not partition.admit(partition.tables.get(partition.key, [keys.USER], USER, partition.deadline).get(keys.USER)):
        return
    names = {"ProjectionExpression": ", ".join(f"#{name}" for name in items.IMAGE)}
    spelled = {"ExpressionAttributeNames": {f"#{name}": name for name in items.IMAGE}}
    found = partition.under(keys.REVISIONS if earlier else keys.MEMORIES, **names, **spelled)
    while block := list(islice(found, _BLOCK)):
        there = [item for item in block if "gone" not in item]
        for item, image in zip(there, partition.contents(there, "image"), strict=True):
            if image is not None:
                yield from_image(image)
            elif not earlier:  # a piece that was replaced since then: read it again
                yield from partition.memories([keys.id_of(text(item, "k"))]).values()


def completions(partition: Partition, start: str, *, limit: int) -> list[str]:
    """The ids that have a start, in order; what is forgotten has left its id alone, which counts no more."""
    found = partition.under(keys.memory(start), ProjectionExpression="k, gone", Limit=limit)
    return [keys.id_of(text(item, "k")) for item in islice((item for item in found if "gone" not in item), limit)]


def latest_writes(partition: Partition, limit: int) -> list[Memory]:
    """What was written last, turns left out; deleted and expired ones are there."""
    written = partition.items(
        "w < :last",
        {":last": keys.LAST_WRITE},
        IndexName=WRITTEN,
        ProjectionExpression="k",
        ScanIndexForward=False,
        Limit=limit,
    )
    ids = [keys.id_of(text(item, "k")) for item in islice(written, limit)]
    found = partition.memories(ids)
    return [found[id] for id in ids if id in found and found[id].source != "conversation"]


def _walk(partition: Partition, prefix: str, last: str, began: int, young: set[str]) -> Iterator[Memory]:
    while True:
        block = _keys_before(partition, prefix, last)
        if not block:
            return
        last = str(block[-1]["listed"])
        for id, memory, made in _read(partition, [keys.id_of(text(item, "k")) for item in block]):
            if made > began:
                young.add(id)
            yield memory


def _keys_before(partition: Partition, prefix: str, last: str) -> list[Item]:
    found = partition.tables.query(
        partition.key,
        "listed BETWEEN :first AND :last",
        {":first": prefix, ":last": last},
        partition.deadline,
        IndexName=CREATED,
        ProjectionExpression="k, listed",
        ScanIndexForward=False,
        Limit=_BLOCK + 1,
    )
    block = [from_attributes(item) for item in next(iter(found))["Items"]]
    return [item for item in block if item["listed"] != last][:_BLOCK]


def _created_since(partition: Partition, began: int, met: set[str], turns: bool) -> Iterator[Memory]:
    written = partition.items(
        "w BETWEEN :began AND :last",
        {":began": began, ":last": keys.LAST_WRITE - 1},
        IndexName=WRITTEN,
        ProjectionExpression="k",
    )
    fresh = [id for item in written if (id := keys.id_of(text(item, "k"))) not in met]
    for at in range(0, len(fresh), _BLOCK):
        for _, memory, made in _read(partition, fresh[at : at + _BLOCK]):
            if made > began and (turns or memory.source != "conversation"):
                yield memory


def _read(partition: Partition, ids: Sequence[str]) -> Iterator[tuple[str, Memory, int]]:
    """The visible memories of a block, in its order, with when each was made."""
    now = from_micros(partition.now())
    found = partition.get(map(keys.memory, ids), items.IMAGE)
    there = [found[key] for key in map(keys.memory, ids) if key in found and "gone" not in found[key]]
    for item, image in zip(there, partition.contents(there, "image"), strict=True):
        # A piece that is gone since then: read it again.
        id = keys.id_of(text(item, "k"))
        memory = from_image(image) if image is not None else partition.memories([id]).get(id)
        if memory is not None and memory.is_visible(now):
            yield id, memory, number(item, "made")


def _place(partition: Partition, id: str) -> str:
    """The position of a memory in the walk, deleted or not. Raises NotFound."""
    known = canonical(id)
    key = keys.memory(known)
    item = partition.get([key], items.IMAGE).get(key) if known else None
    if item is None or "gone" in item:
        raise MemoryNotFound(f"No memory with id {id} to continue after; start again from the first page.", id=id)
    memory = partition.memories([known])[known]
    return items.listed(memory, number(item, "position"))
