"""Lists of a user's memories with exact totals, counts, scopes, speakers, and which memories say nearly the same."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from ...errors import nothing_after
from ...model import Association, Embedding, Filter, Memory, Page, Revision, ScopeUse, from_micros, to_micros
from ...ports import Deadline, Pair
from ...record import from_image
from ...text.limits import canonical
from ...text.matching import sees
from ...text.vectors import nearest
from . import items, keys
from .items import SUPERSEDED, Conditions, Item, from_attributes, number, text
from .keys import CREATED, FOLD, SPEAKER, WRITTEN
from .partition import USER, Partition

_BLOCK: Final = 100
_CURRENT_ONLY: Final = Filter()


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
    """The memories that were written last, without turns; deleted and expired ones are there."""
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


def copies(partition: Partition, fold: bytes) -> list[Item]:
    """Where visible memories and turns have a text, given by its digest."""
    values: Any = {":fold": fold.hex(), ":now": partition.now()}
    visible = "attribute_not_exists(expires_at) OR expires_at > :now"
    return list(partition.items("fold = :fold", values, IndexName=FOLD, FilterExpression=visible))


def sources(partition: Partition, target: str) -> set[str]:
    """The ids whose images may name a memory."""
    found = partition.under(keys.links_to(target), ProjectionExpression="k")
    return {keys.source_of(text(item, "k")) for item in found}


def superseded(partition: Partition, by: str) -> list[Memory]:
    """The memories that a memory superseded, deleted and expired ones too."""
    found = partition.under(keys.superseded_by(by), ProjectionExpression="k")
    read = partition.memories({keys.source_of(text(item, "k")) for item in found}).values()
    return [memory for memory in read if canonical(memory.superseded_by or "") == by]


def associations(partition: Partition, ids: Sequence[str], now: int) -> dict[str, list[Association]]:
    """The links of each id from both sides, strongest first, then newest, then by id."""
    known = {id: canonical(id) for id in ids}
    pointing = partition.each(lambda id: sources(partition, id) if id else set(), known.values())
    pointed = dict(zip(known.values(), pointing, strict=True))
    read = partition.memories({*filter(None, known.values()), *(source for some in pointing for source in some)})
    ends = {canonical(link.target_id) for id in known.values() if id in read for link in read[id].links}
    read |= partition.memories(ends - read.keys() - {""})
    return {id: _associations(one, pointed[one], read, now) for id, one in known.items()}


def _associations(id: str, pointing: Iterable[str], read: dict[str, Memory], now: int) -> list[Association]:
    seen = [(canonical(link.target_id), link) for link in (read[id].links if id in read else ())]
    for source in pointing:
        if source in read:
            seen += [(source, link) for link in read[source].links if canonical(link.target_id) == id]
    at = from_micros(now)
    merged: dict[str, Association] = {}
    for other, link in seen:
        end = read.get(other)
        if end is None or not sees(_CURRENT_ONLY, end, at):
            continue
        known = merged.get(other, Association(memory_id=other, strength=link.strength, manual=False))
        merged[other] = Association(
            memory_id=other, strength=max(known.strength, link.strength), manual=known.manual or link.manual
        )
    return sorted(merged.values(), key=lambda a: (-a.strength, -to_micros(read[a.memory_id].created_at), a.memory_id))


def revisions(partition: Partition, id: str, after: int = 0, limit: int | None = None) -> list[Revision]:
    """The images that updates replaced after a version, oldest first."""
    found = _kept_revisions(partition, id, after, limit)
    images = partition.contents(found, "image")
    return [items.to_revision(item, image) for item, image in zip(found, images, strict=True) if image is not None]


def _kept_revisions(partition: Partition, id: str, after: int = 0, limit: int | None = None) -> list[Item]:
    """The items of the images that updates replaced after a version, oldest first; none of what is not there any
    more.
    """
    there = partition.get([keys.memory(id)], ("k", "version", "gone")).get(keys.memory(id))
    if there is None or "gone" in there:
        return []
    # An update that did not happen may have left the image that it would have replaced.
    before = number(there, "version")
    last = keys.revision(id, before - 1)
    first = keys.revision(id, after + 1)
    if first > last:
        return []
    how: dict[str, Any] = {} if limit is None else {"Limit": limit}
    return list(islice(partition.items("k BETWEEN :first AND :last", {":first": first, ":last": last}, **how), limit))


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
        raise nothing_after(id)
    memory = partition.memories([known])[known]
    return items.listed(memory, number(item, "position"))


_END: Final = "~"
MOST_SPEAKERS: Final = 200
_UNEXPIRED: Final = "attribute_not_exists(expires_at) OR expires_at > :now"
_CURRENT: Final = f"({_UNEXPIRED}) AND (attribute_not_exists(facts) OR NOT contains(facts, :superseded))"


def scopes(partition: Partition) -> dict[str, ScopeUse]:
    """The memories in each scope, without the scopes below it."""
    found: dict[str, ScopeUse] = {}
    for item in _listed(partition, keys.MEMORIES, FilterExpression=_CURRENT, ProjectionExpression=_PLACE, **_NAMES):
        scope, written = text(item, "scope"), from_micros(number(item, "updated_at"))
        known = found.get(scope, ScopeUse(memories=0, last_written_at=written))
        found[scope] = ScopeUse(memories=known.memories + 1, last_written_at=max(known.last_written_at, written))
    return found


def statistics(partition: Partition) -> dict[str, int]:
    """The numbers of `Space.statistics`; `bytes` are those of records and vectors, about."""
    counts = dict.fromkeys(("memories", "superseded", "turns", "deleted", "chunks", "bytes", "record_bytes"), 0)
    now = partition.now()
    for prefix, name in ((keys.MEMORIES, "memories"), (keys.TURNS, "turns"), (keys.DELETED, "deleted")):
        for item in _listed(partition, prefix, ProjectionExpression=_SIZES, now=None):
            expires = item.get("expires_at")
            kind = "superseded" if name == "memories" and SUPERSEDED in _facts(item) else name
            counts["deleted" if expires is not None and int(expires) <= now else kind] += 1
            counts["chunks"] += number(item, "chunks")
            counts["bytes"] += number(item, "image_bytes") + number(item, "search_bytes")
            counts["record_bytes"] += number(item, "image_bytes")
    return counts


def stale(partition: Partition, deleted_before: int) -> list[str]:
    """The memories deleted before a time, and the expired ones."""
    values = {":first": keys.DELETED, ":last": keys.deleted_before(deleted_before)}
    how: Any = {"IndexName": CREATED, "ProjectionExpression": "k"}
    found = [item["k"] for item in partition.items("listed BETWEEN :first AND :last", values, **how)]
    for prefix in (keys.MEMORIES, keys.TURNS, keys.DELETED):
        expired = _listed(partition, prefix, ProjectionExpression="k", FilterExpression="expires_at <= :now")
        found += [item["k"] for item in expired]
    return [keys.id_of(str(key)) for key in dict.fromkeys(found)]


def kept_speakers(user: Item) -> frozenset[str] | None:
    """The names that a user's own item keeps; None where it keeps none yet. An empty name stands for "none said so
    far", since DynamoDB has no empty sets."""
    kept = user.get("speakers")
    return kept - {""} if isinstance(kept, frozenset) else None


def speakers(partition: Partition) -> frozenset[str]:
    """Those who say at least two memories, counted: one small request for each name there is."""
    found = set()
    after = " "
    for _ in range(MOST_SPEAKERS):
        names = _first_two(partition, "speaker > :name", after)
        if not names:
            break
        if len(names) == 2 and names[0] == names[1]:
            found.add(names[0])
        after = names[0]
    return frozenset(found)


def says_two(partition: Partition, name: str) -> bool:
    """Whether at least two memories are said by a name."""
    return len(_first_two(partition, "speaker = :name", name)) == 2


def _first_two(partition: Partition, condition: str, name: str) -> list[str]:
    how: Any = {"IndexName": SPEAKER, "ProjectionExpression": "speaker", "Limit": 2}
    found = partition.tables.query(partition.key, condition, {":name": name}, partition.deadline, **how)
    return [item["speaker"]["S"] for item in next(iter(found))["Items"]]


_PLACE: Final = "#scope, updated_at"
_NAMES: Final[dict[str, Any]] = {"ExpressionAttributeNames": {"#scope": "scope"}}
_SIZES: Final = "expires_at, facts, chunks, image_bytes, search_bytes"


def _facts(item: Item) -> frozenset[str]:
    found = item.get("facts")
    return found if isinstance(found, frozenset) else frozenset()


def _listed(partition: Partition, prefix: str, *, now: bool | None = True, **how: Any) -> Any:
    values: Any = {":first": prefix, ":last": prefix + _END}
    if ":superseded" in how.get("FilterExpression", ""):
        values[":superseded"] = SUPERSEDED
    if now:
        values[":now"] = partition.now()
    return partition.items("listed BETWEEN :first AND :last", values, IndexName=CREATED, **how)


Vectors = Mapping[str, Sequence[Embedding]]
"""The vectors of visible memories by id; what has none is left out."""

Read = Callable[[Sequence[str]], Vectors]


def alike(pairs: Collection[Pair], read: Read, floor: float, deadline: Deadline) -> frozenset[Pair]:
    """Those pairs whose nearest chunks reach the floor."""
    vectors = read(list({id for pair in pairs for id in pair}))
    return frozenset(pair for pair in pairs if _reach(vectors.get(pair[0]), vectors.get(pair[1]), floor, deadline))


def distinct(ids: Sequence[str], read: Read, floor: float, limit: int, deadline: Deadline) -> list[str]:
    """The first ids that are alike to none chosen before them. Reads no further than the limit needs."""
    chosen: list[str] = []
    known: list[Sequence[Embedding]] = []
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        vectors = read(block) if len(chosen) < limit else {}
        for id in block:
            if len(chosen) == limit:
                return chosen
            own = vectors.get(id)
            if not any(_reach(own, other, floor, deadline) for other in known):
                chosen.append(id)
                if own:
                    known.append(own)
    return chosen


def _reach(
    ones: Sequence[Embedding] | None, others: Sequence[Embedding] | None, floor: float, deadline: Deadline
) -> bool:
    if not ones or not others:
        return False
    deadline.left()
    return max(nearest(one, others) for one in ones) >= floor
