"""Lists of a user's memories with exact totals, counts, scopes, speakers, and which memories say nearly the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from ...errors import nothing_after
from ...model import Filter, Happened, Memory, Page, Revision, ScopeUse, from_micros, to_micros
from ...ports import Gone, IdStarts, LatestWrites, Lookup, Naming, OfImport, OpenTurns, Pending
from ...record import from_image
from ...text.limits import canonical
from . import items, keys
from .items import DAY, SUPERSEDED, Conditions, Item, Value, from_attributes, number, of_import, text
from .keys import CREATED, FOLD, OPEN, SPEAKER, WRITTEN
from .partition import USER, Partition

_BLOCK: Final = 100
_STEPS: Final = 64
"""The longest chain of successors that is followed: each takes a request, and a search has to end in time."""


def page(partition: Partition, filter: Filter, *, limit: int, offset: int, happened: Happened | None) -> Page:
    """A page of what the filter admits. The count reads all of the index, the memories only the page."""
    ids, total = _ids_of_page(partition, filter, offset + limit, happened)
    page_ids = ids[offset : offset + limit]
    # Reading the page's memories checks the embedder too, so this is done for an empty page as well.
    memories = partition.memories(page_ids)
    visible = tuple(
        memories[id] for id in page_ids if id in memories and memories[id].is_visible(from_micros(partition.now()))
    )
    return Page(memories=visible, total=total)


def _ids_of_page(partition: Partition, filter: Filter, limit: int, happened: Happened | None) -> tuple[list[str], int]:
    """The first ids in the order of a page, at least `limit` of them if there are as many, and the total."""
    conditions = Conditions(replace(filter, as_of=None), partition.now())
    first, last = conditions.range
    ids: list[str] = []
    times: dict[str, int] = {}
    total = 0
    if not conditions.admits_none and first <= last:
        values = conditions.values | {":first": first, ":last": last}
        names = dict(conditions.names)
        request: dict[str, Any] = {"ProjectionExpression": "k"}
        if happened is not None:
            names |= {"#created": "created_at", "#occurred": "occurred_at", "#facts": "facts"}
            request = {"ProjectionExpression": "k, #created, #occurred, #facts"}
        for answer in partition.tables.query(
            partition.key,
            "listed BETWEEN :first AND :last",
            values,
            partition.deadline,
            IndexName=CREATED,
            FilterExpression=conditions.expression,
            ExpressionAttributeNames=names,
            **request,
        ):
            total += answer["Count"]
            if happened is not None:
                times |= _times(answer["Items"], happened)
            elif len(ids) < limit:
                ids += [keys.id_of(item["k"]["S"]) for item in answer["Items"]]
    if happened is not None:
        return sorted(times, key=lambda id: (-times[id], id)), len(times)
    return ids, total


def _times(page_items: Iterable[Any], happened: Happened) -> dict[str, int]:
    """When the memories of these items happened, in microseconds, by id; without those outside of the bounds."""
    times: dict[str, int] = {}
    for item in page_items:
        at = int((item.get("occurred_at") or item["created_at"])["N"])
        if happened.admits(at, is_day=DAY in item.get("facts", {}).get("SS", ())):
            times[keys.id_of(item["k"]["S"])] = at
    return times


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
    if not partition.admit(partition.user_item(USER)):
        return
    names = {"ProjectionExpression": ", ".join(f"#{name}" for name in items.IMAGE)}
    aliases = {"ExpressionAttributeNames": {f"#{name}": name for name in items.IMAGE}}
    stored_items = partition.under(keys.REVISIONS if earlier else keys.MEMORIES, **names, **aliases)
    while block := list(islice(stored_items, _BLOCK)):
        live_items = [item for item in block if "gone" not in item]
        for item, image in zip(live_items, partition.contents(live_items, "image"), strict=True):
            if image is not None:
                yield from_image(image)
            elif not earlier:  # a piece that was replaced since then: read it again
                yield from partition.memories([keys.id_of(text(item, "k"))]).values()


def find(partition: Partition, lookup: Lookup) -> list[str]:
    """The ids that a lookup names."""
    match lookup:
        case IdStarts(starts, limit):
            id_lists = partition.each(lambda start: _with_start(partition, start, limit), starts)
            return [id for ids in id_lists for id in ids]
        case Naming(field, ids):
            names = keys.links_to if field == "links" else keys.superseded_by
            return sources(partition, map(names, map(canonical, ids)))
        case OfImport(id):
            return _of_import(partition, id)
        case LatestWrites(limit):
            return _latest_writes(partition, limit)
        case Gone(deleted_before):
            return _expired(partition, to_micros(deleted_before))
        case Pending():
            return _pending(partition)
        case OpenTurns(conversation_id):
            return _open_turns(partition, conversation_id)


def _with_start(partition: Partition, start: str, limit: int) -> list[str]:
    matches = partition.under(keys.memory(start), ProjectionExpression="k, gone", Limit=limit)
    # A forgotten memory has left its id alone, which counts no more.
    return [keys.id_of(text(item, "k")) for item in islice((item for item in matches if "gone" not in item), limit)]


def sources(partition: Partition, prefixes: Iterable[str]) -> list[str]:
    """The ids whose images may name a memory, by the start of a link's key."""
    link_lists = partition.each(lambda prefix: [*partition.under(prefix, ProjectionExpression="k")], prefixes)
    return list(dict.fromkeys(keys.source_of(text(item, "k")) for items in link_lists for item in items))


def _latest_writes(partition: Partition, limit: int) -> list[str]:
    latest_items = partition.items(
        "w < :last",
        {":last": keys.LAST_WRITE},
        IndexName=WRITTEN,
        ProjectionExpression="k",
        ScanIndexForward=False,
        Limit=limit,
    )
    return [keys.id_of(text(item, "k")) for item in islice(latest_items, limit)]


def _expired(partition: Partition, deleted_before: int) -> list[str]:
    values = {":first": keys.DELETED, ":last": keys.deleted_before(deleted_before)}
    options: Any = {"IndexName": CREATED, "ProjectionExpression": "k"}
    sort_keys = [item["k"] for item in partition.items("listed BETWEEN :first AND :last", values, **options)]
    for prefix in (keys.MEMORIES, keys.TURNS, keys.DELETED):
        expired = _listed(partition, prefix, ProjectionExpression="k", FilterExpression="expires_at <= :now")
        sort_keys += [item["k"] for item in expired]
    return [keys.id_of(str(key)) for key in dict.fromkeys(sort_keys)]


def _open_turns(partition: Partition, conversation_id: str) -> list[str]:
    values = {":place": f"{keys.digest(conversation_id)}#"}
    turns = partition.items("begins_with(#open, :place)", values, IndexName=OPEN, ExpressionAttributeNames=_OPEN)
    return [keys.id_of(text(item, "k")) for item in turns]


def _pending(partition: Partition) -> list[str]:
    values: dict[str, Value] = {":pending": keys.PENDING, ":now": partition.now()}
    pending_items = partition.items(
        "begins_with(#open, :pending)",
        values,
        IndexName=OPEN,
        ExpressionAttributeNames=_OPEN,
        FilterExpression=_VISIBLE,
    )
    return [keys.id_of(text(item, "k")) for item in pending_items]


def _of_import(partition: Partition, import_id: str) -> list[str]:
    import_items = partition.items(
        "listed >= :first",
        {":first": " ", ":import": of_import(import_id)},
        IndexName=CREATED,
        FilterExpression="contains(#facts, :import)",
        ExpressionAttributeNames={"#facts": "facts"},
        ProjectionExpression="k",
    )
    return [keys.id_of(text(item, "k")) for item in import_items]


def successions(read: Callable[[Sequence[str]], dict[str, Memory]], ids: Sequence[str]) -> dict[str, str]:
    """The successors of these memories, and theirs in turn; the end of a very long chain is left out."""
    newer: dict[str, str] = {}
    ahead = list(dict.fromkeys(ids))
    for _ in range(_STEPS):
        if not ahead:
            break
        memories = read(ahead)  # the next step of all chains in one request
        newer |= {id: memory.superseded_by for id, memory in memories.items() if memory.superseded_by}
        ahead = [id for id in dict.fromkeys(newer[id] for id in memories if id in newer) if id not in newer]
    return newer


def copies(partition: Partition, fold: bytes) -> list[Item]:
    """Where visible memories and turns have a text, given by its digest."""
    values: Any = {":fold": fold.hex(), ":now": partition.now()}
    visible = "attribute_not_exists(expires_at) OR expires_at > :now"
    return list(partition.items("fold = :fold", values, IndexName=FOLD, FilterExpression=visible))


def revisions(partition: Partition, id: str, after: int = 0, limit: int | None = None) -> list[Revision]:
    """The images that updates replaced after a version, oldest first."""
    revision_items = _kept_revisions(partition, id, after, limit)
    images = partition.contents(revision_items, "image")
    return [
        items.to_revision(item, image) for item, image in zip(revision_items, images, strict=True) if image is not None
    ]


def _kept_revisions(partition: Partition, id: str, after: int = 0, limit: int | None = None) -> list[Item]:
    """The items of the images that updates replaced after a version, oldest first; none of what is not there any
    more.
    """
    item = partition.get([keys.memory(id)], ("k", "version", "gone")).get(keys.memory(id))
    if item is None or "gone" in item:
        return []
    # An update that did not happen may have left the image that it would have replaced.
    before = number(item, "version")
    last = keys.revision(id, before - 1)
    first = keys.revision(id, after + 1)
    if first > last:
        return []
    options: dict[str, Any] = {} if limit is None else {"Limit": limit}
    return list(
        islice(partition.items("k BETWEEN :first AND :last", {":first": first, ":last": last}, **options), limit)
    )


def _walk(partition: Partition, prefix: str, last: str, began: int, young: set[str]) -> Iterator[Memory]:
    while True:
        block = _keys_before(partition, prefix, last)
        if not block:
            return
        last = str(block[-1]["listed"])
        for id, memory, created in _read(partition, [keys.id_of(text(item, "k")) for item in block]):
            if created > began:
                young.add(id)
            yield memory


def _keys_before(partition: Partition, prefix: str, last: str) -> list[Item]:
    pages = partition.tables.query(
        partition.key,
        "listed BETWEEN :first AND :last",
        {":first": prefix, ":last": last},
        partition.deadline,
        IndexName=CREATED,
        ProjectionExpression="k, listed",
        ScanIndexForward=False,
        Limit=_BLOCK + 1,
    )
    block = [from_attributes(item) for item in next(iter(pages))["Items"]]
    return [item for item in block if item["listed"] != last][:_BLOCK]


def _created_since(partition: Partition, began: int, earlier_ids: set[str], turns: bool) -> Iterator[Memory]:
    recent_items = partition.items(
        "w BETWEEN :began AND :last",
        {":began": began, ":last": keys.LAST_WRITE - 1},
        IndexName=WRITTEN,
        ProjectionExpression="k",
    )
    fresh = [id for item in recent_items if (id := keys.id_of(text(item, "k"))) not in earlier_ids]
    for at in range(0, len(fresh), _BLOCK):
        for _, memory, created in _read(partition, fresh[at : at + _BLOCK]):
            if created > began and (turns or memory.source != "conversation"):
                yield memory


def _read(partition: Partition, ids: Sequence[str]) -> Iterator[tuple[str, Memory, int]]:
    """The visible memories of a block, in its order, with when each was made."""
    now = from_micros(partition.now())
    items_by_key = partition.get(map(keys.memory, ids), items.IMAGE)
    live_items = [
        items_by_key[key] for key in map(keys.memory, ids) if key in items_by_key and "gone" not in items_by_key[key]
    ]
    for item, image in zip(live_items, partition.contents(live_items, "image"), strict=True):
        # A piece that is gone since then: read it again.
        id = keys.id_of(text(item, "k"))
        memory = from_image(image) if image is not None else partition.memories([id]).get(id)
        if memory is not None and memory.is_visible(now):
            yield id, memory, number(item, "made")


def _place(partition: Partition, id: str) -> str:
    """The position of a memory in the walk, deleted or not. Raises NotFound."""
    canonical_id = canonical(id)
    key = keys.memory(canonical_id)
    item = partition.get([key], items.IMAGE).get(key) if canonical_id else None
    if item is None or "gone" in item:
        raise nothing_after(id)
    memory = partition.memories([canonical_id])[canonical_id]
    return items.listed(memory, number(item, "position"))


_END: Final = "~"
_OPEN: Final = {"#open": "open"}
_VISIBLE: Final = "attribute_not_exists(deleted_at) AND (attribute_not_exists(expires_at) OR expires_at > :now)"
MOST_SPEAKERS: Final = 200
_UNEXPIRED: Final = "attribute_not_exists(expires_at) OR expires_at > :now"
_CURRENT: Final = f"({_UNEXPIRED}) AND (attribute_not_exists(facts) OR NOT contains(facts, :superseded))"


def scopes(partition: Partition) -> dict[str, ScopeUse]:
    """The memories in each scope, without the scopes below it."""
    uses: dict[str, ScopeUse] = {}
    for item in _listed(partition, keys.MEMORIES, FilterExpression=_CURRENT, ProjectionExpression=_PLACE, **_NAMES):
        scope, written_at = text(item, "scope"), from_micros(number(item, "updated_at"))
        use = uses.get(scope, ScopeUse(memories=0, last_written_at=written_at))
        uses[scope] = ScopeUse(memories=use.memories + 1, last_written_at=max(use.last_written_at, written_at))
    return uses


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


def kept_speakers(user: Item) -> frozenset[str] | None:
    """The names that a user's own item keeps; None where it keeps none yet. An empty name stands for "none said so
    far", since DynamoDB has no empty sets."""
    names = user.get("speakers")
    return names - {""} if isinstance(names, frozenset) else None


def speakers(partition: Partition) -> frozenset[str]:
    """Those who say at least two memories, counted: one small request for each name there is."""
    frequent_names = set()
    after = " "
    for _ in range(MOST_SPEAKERS):
        names = _first_two(partition, "speaker > :name", after)
        if not names:
            break
        if len(names) == 2 and names[0] == names[1]:
            frequent_names.add(names[0])
        after = names[0]
    return frozenset(frequent_names)


def says_two(partition: Partition, name: str) -> bool:
    """Whether at least two memories are said by a name."""
    return len(_first_two(partition, "speaker = :name", name)) == 2


def _first_two(partition: Partition, condition: str, name: str) -> list[str]:
    options: Any = {"IndexName": SPEAKER, "ProjectionExpression": "speaker", "Limit": 2}
    pages = partition.tables.query(partition.key, condition, {":name": name}, partition.deadline, **options)
    return [item["speaker"]["S"] for item in next(iter(pages))["Items"]]


_PLACE: Final = "#scope, updated_at"
_NAMES: Final[dict[str, Any]] = {"ExpressionAttributeNames": {"#scope": "scope"}}
_SIZES: Final = "expires_at, facts, chunks, image_bytes, search_bytes"


def _facts(item: Item) -> frozenset[str]:
    names = item.get("facts")
    return names if isinstance(names, frozenset) else frozenset()


def _listed(partition: Partition, prefix: str, *, now: bool | None = True, **options: Any) -> Any:
    values: Any = {":first": prefix, ":last": prefix + _END}
    if ":superseded" in options.get("FilterExpression", ""):
        values[":superseded"] = SUPERSEDED
    if now:
        values[":now"] = partition.now()
    return partition.items("listed BETWEEN :first AND :last", values, IndexName=CREATED, **options)
