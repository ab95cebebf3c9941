"""Reading: memories by id, pages of a list with its exact total, every image that a memory has had, and its links.

Questions that depend on nothing else take a space, not a call.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from typing import Final

from .. import record
from ..errors import InvalidInput, NotFound, memory_not_found
from ..model import (
    Association,
    Filter,
    Happened,
    JsonObject,
    Link,
    Memory,
    Page,
    Revision,
    ScopeUse,
    Source,
    Usage,
    later,
    to_micros,
)
from ..model.frozen import frozen
from ..ports import Gone, IdStarts, LatestWrites, Naming, OpenTurns, Space
from ..text.limits import SHORTEST, canonical, check_id, shortest_start, start_of
from ..text.matching import admits
from .call import Call

_ALIKE: Final = 20
"""How many ids with the same start are looked at; beyond it, an id is shown whole."""
_CANDIDATES: Final = 10
_READ_AT_ONCE: Final = 500


def get(call: Call, id: str) -> Memory:
    """The memory of an id, counted as a reading. Raises NotFound."""
    memory = find(call, id)
    call.space.note_access([memory.id], call.now())
    return memory


def find(call: Call, id: str, *, deleted: bool = False) -> Memory:
    """The memory of an id, without counting; `deleted` admits deleted and expired ones too.

    Raises NotFound, which reads the same whoever owns the id.
    """
    canonical_id = check_id(id)
    memory = call.space.get([canonical_id], deleted=deleted).get(canonical_id) if canonical_id else None
    if memory is None:
        raise memory_not_found(id)
    return memory


def find_all(call: Call, ids: Sequence[str]) -> list[Memory]:
    """The memories of the ids, in their order, repeats once. Raises NotFound naming those that are unknown."""
    canonical_ids = {id: check_id(id) for id in ids}
    memories = call.space.get([k for k in canonical_ids.values() if k])
    if missing := [id for id, k in canonical_ids.items() if k not in memories]:
        raise NotFound(f"No memory with id {', '.join(missing)}; search or list to find the right id.", ids=missing)
    return list({k: memories[k] for k in canonical_ids.values()}.values())


def find_known(call: Call, ids: Sequence[str]) -> dict[str, Memory]:
    """The visible memories of these ids; unknown ones are left out."""
    return call.space.get(ids) if ids else {}


def find_images(call: Call, ids: Sequence[str]) -> dict[str, Memory]:
    """The stored memories of any number of ids, deleted or not, read in blocks."""
    memories: dict[str, Memory] = {}
    for start in call.in_time(range(0, len(ids), _READ_AT_ONCE)):
        memories |= call.space.get(ids[start : start + _READ_AT_ONCE], deleted=True)
    return memories


def find_start(call: Call, start: str, *, deleted: bool) -> list[Memory]:
    """The memories whose ids have this start, a few at most, without turns; `deleted` admits deleted ones too."""
    [ids] = completions(call.space, [start], limit=_CANDIDATES)
    return [memory for memory in call.space.get(ids, deleted=deleted).values() if memory.source != "conversation"]


def predecessors_of(call: Call, id: str) -> list[Memory]:
    """The memories that this one was saved in place of, deleted and expired ones too."""
    return predecessors(call.space, [id])


def usage(call: Call, id: str) -> Usage:
    """How often and when a memory was read."""
    return call.space.usage([id]).get(id, Usage())


def image_before(call: Call, memory: Memory) -> Memory:
    """The image that the last update of a memory replaced; the memory itself without one."""
    replaced = call.space.revisions(memory.id, after=memory.version - 2, limit=1)
    return replaced[0].memory if replaced else memory


def statistics(call: Call) -> Mapping[str, int]:
    """The numbers of `Space.statistics`."""
    return call.space.statistics()


def short_ids(call: Call, ids: Sequence[str]) -> list[str]:
    """The shortest start of each id, of 8 digits or more, that no other memory of the user has."""
    if not ids:
        return []
    alike = completions(call.space, [id[:SHORTEST] for id in ids], limit=_ALIKE)
    return [id if len(others) == _ALIKE else shortest_start(id, others) for id, others in zip(ids, alike, strict=True)]


def whole_ids(call: Call, texts: Collection[str]) -> dict[str, str | InvalidInput]:
    """The memory's id for each given one that is only its start, as answers show it; all are looked up together.

    What several ids start with has the error that says so. Whole ids and unknown starts are left out.
    """
    starts = {text: start for text in texts if not check_id(text) and (start := start_of(bare_id(text)))}
    if not starts:
        return {}
    distinct = list(dict.fromkeys(starts.values()))
    ids_by_start = dict(zip(distinct, completions(call.space, distinct, limit=_ALIKE), strict=True))
    several = sorted({id for ids in ids_by_start.values() if len(ids) > 1 for id in ids})
    memories = call.space.get(several, deleted=True) if several else {}
    whole: dict[str, str | InvalidInput] = {}
    for text, start in starts.items():
        ids = ids_by_start[start]
        if len(ids) > 1:
            ids = [id for id in ids if id in memories and memories[id].source != "conversation"] or ids
        if len(ids) == 1:
            whole[text] = ids[0]
        elif ids:
            longer = ", ".join(shortest_start(id, ids) for id in ids)
            whole[text] = InvalidInput(f"the ids of {len(ids)} memories start with {start}: give one of {longer}.")
    return whole


def bare_id(text: str) -> str:
    """An id without the marks and the prefix that answers show it with."""
    return text.strip().strip("[]`").removeprefix("note-")


_MOMENT: Final = timedelta(microseconds=1)
_BLOCK: Final = 200


def list_memories(
    call: Call,
    filter: Filter,
    *,
    limit: int,
    offset: int = 0,
    happened: Happened | None = None,
    count_access: bool = False,
) -> Page:
    """A page of what the filter admits, newest first; by when it happened with `happened`.

    Listing does not count as access, but with `count_access`: for a dialect in which an agent reads its
    memories by listing them.
    """
    page = call.space.page(filter, limit=limit, offset=offset, happened=happened)
    if count_access:
        call.space.note_access([memory.id for memory in page.memories], call.now())
    return page


def memories_in(call: Call, scope: str, *, below: bool = True, block: int = 1000) -> Iterator[Memory]:
    """All memories of a scope, superseded ones too, and of those below it: newest first, read in blocks."""
    filter, offset = Filter(scope=scope, include_child_scopes=below, include_superseded=True), 0
    while page := call.space.page(filter, limit=block, offset=offset).memories:
        yield from page
        offset += len(page)


def list_changed(call: Call, *, limit: int) -> list[Memory]:
    """The memories that a list shows among the last `limit` writes, the latest first."""
    now = call.now()
    memories = latest_writes(call.space, limit)
    return [memory for memory in memories if memory.is_visible(now) and memory.is_current()]


def list_deleted(call: Call, *, limit: int, offset: int = 0) -> Page:
    """A page of what undo can restore, the latest deletion first, then by id; and the exact total."""
    restorable = [(memory.deleted_at, memory.id) for memory in _restorable(call) if memory.deleted_at]
    # Two stable sorts: by id, then by time downwards.
    order = sorted(sorted(restorable, key=lambda each: each[1]), key=lambda each: each[0], reverse=True)
    ids = [id for _, id in order[offset : offset + limit]]
    page = call.space.get(ids, deleted=True)
    return Page(memories=tuple(page[id] for id in ids if id in page), total=len(order))


_LOOKED_AT: Final = 200
"""How many memories are looked at for a message. If only messages are left, the first one is enough; beyond this many
memories of other projects or untrusted agents, a message may be missed."""


def nothing_stored(call: Call, seen: Filter, subject: str = "Nothing", *, messages: bool = True) -> str:
    """The sentence for a caller who may see none of the stored memories. It says whether what another memory superseded
    is stored, and, with `messages`, messages of conversations; and whether undo can restore one.

    Reads what is deleted: only answers that found nothing call it.
    """
    now = call.now()
    filter = replace(seen, include_superseded=True)
    left = _left(call, replace(filter, include_turns=messages))
    only = "superseded memories" if "user_memory" in left else "messages of conversations"
    stored = f"Only {only} are stored" if left else f"{subject} is stored"
    if any(admits(filter, replace(memory, deleted_at=None), now) for memory in _restorable(call)):
        return f"{stored}; deleted memories can be restored."
    return f"{stored}." if left else f"{stored} yet."


def _left(call: Call, seen: Filter) -> set[Source]:
    """The sources of the memories that a filter admits."""
    now = call.now()
    memories = islice(call.space.walk(turns=bool(seen.include_turns)), _LOOKED_AT)
    return {memory.source for memory in memories if admits(seen, memory, now)}


def _restorable(call: Call) -> Iterator[Memory]:
    """The memories that undo can restore, in no order, read in blocks."""
    deleted_ids = call.space.find(Gone(later(call.now(), _MOMENT)))
    for start in call.in_time(range(0, len(deleted_ids), _BLOCK)):
        memories = call.space.get(deleted_ids[start : start + _BLOCK], deleted=True).values()
        yield from (memory for memory in memories if _can_return(call, memory))


def _can_return(call: Call, memory: Memory) -> bool:
    now = call.now()
    in_time = memory.deleted_at is not None and now - memory.deleted_at < call.rules.retention
    return in_time and not memory.has_expired(now) and memory.source != "conversation"


def list_scopes(call: Call, parent: str | None = None) -> dict[str, ScopeUse]:
    """The use of each scope, by name; with `parent`, only it and the scopes below it."""
    used = call.space.scopes()
    if parent is not None:
        used = {s: use for s, use in used.items() if s == parent or s.startswith(parent + "/")}
    return dict(sorted(used.items()))


MAX_PAGE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of one answer, as JSON: a function's answer has at most 6 MB, in which its JSON is escaped once more."""
_IMAGES_AT_ONCE: Final = 20


@frozen
class HistoryPage:
    """Images that updates replaced. The last page ends with `current`; earlier pages have `next`, the version to
    continue after."""

    revisions: list[Revision]
    current: Memory | None
    next: int | None = None


def history(call: Call, id: str, *, limit: int, after: int = 0) -> HistoryPage:
    """Up to `limit` images after a version, and no more than 4 MiB of them, but always one. Deleted memories have
    theirs too. Raises NotFound.
    """
    current = find(call, id, deleted=True)
    page: list[Revision] = []
    size = size_of(record.encode(current))
    for revision in call.in_time(earlier(call, current, after=after)):
        size += size_of(record.encode(revision.memory))
        if page and (len(page) == limit or size > MAX_PAGE_BYTES):
            return HistoryPage(revisions=page, current=None, next=page[-1].memory.version)
        page.append(revision)
    if len(page) == limit:
        return HistoryPage(revisions=page, current=None, next=page[-1].memory.version)
    return HistoryPage(revisions=page, current=current)


def earlier(call: Call, memory: Memory, *, after: int = 0) -> Iterator[Revision]:
    """The images before this one of a memory and after a version, oldest first, read a few at a time."""
    while after < memory.version - 1:
        block = call.space.revisions(memory.id, after=after, limit=_IMAGES_AT_ONCE)
        # An update may have come since the memory was read: its image is this one, not history.
        yield from (revision for revision in block if revision.memory.version < memory.version)
        if not block:
            return
        after = block[-1].memory.version


def size_of(image: JsonObject) -> int:
    """The bytes of a record as JSON."""
    return len(json.dumps(image, ensure_ascii=False).encode())


def completions(space: Space, starts: Sequence[str], *, limit: int) -> list[list[str]]:
    """For each start of an id, up to `limit` ids that have it, in order: turns and deleted memories too."""
    ids = sorted(set(space.find(IdStarts(starts, limit)))) if starts else []
    return [[id for id in ids if id.startswith(start)][:limit] for start in starts]


def predecessors(space: Space, ids: Sequence[str]) -> list[Memory]:
    """The memories that these superseded, deleted and expired ones too."""
    canonical_ids = {*map(canonical, ids)} - {""}
    memories = space.get(space.find(Naming("superseded_by", [*canonical_ids])), deleted=True) if canonical_ids else {}
    return [memory for memory in memories.values() if canonical(memory.superseded_by or "") in canonical_ids]


def latest_writes(space: Space, limit: int) -> list[Memory]:
    """The memories among the last `limit` writes, the latest first; deleted ones too, turns left out."""
    memories = space.get(space.find(LatestWrites(limit)), deleted=True).values()
    return [memory for memory in memories if memory.source != "conversation"]


def open_turns(space: Space, conversation_id: str) -> list[Memory]:
    """The visible turns of a conversation that are not closed, in the order of writing."""
    return list(space.get(space.find(OpenTurns(conversation_id))).values())


def associations(space: Space, ids: Sequence[str]) -> dict[str, list[Association]]:
    """The links of each id, in both directions: strongest first, then newest, then by id.

    Only visible and current memories count, and no turns.
    """
    return linked(space, ids)[0]


def linked(space: Space, ids: Sequence[str]) -> tuple[dict[str, list[Association]], dict[str, Memory]]:
    """The associations of each id, and the memories that were read for them: of the ids and of all ends."""
    canonical_ids = {id: canonical(id) for id in ids}
    wanted_ids = {*canonical_ids.values()} - {""}
    sources = space.find(Naming("links", [*wanted_ids])) if wanted_ids else []
    memories = space.get([*wanted_ids.union(sources)])
    links: dict[str, list[tuple[str, Link]]] = defaultdict(list)
    for source, memory in memories.items():
        for link in memory.links:
            target = canonical(link.target_id)
            if source in wanted_ids:
                links[source].append((target, link))
            if target in wanted_ids:
                links[target].append((source, link))
    memories |= space.get(list({other for of_id in links.values() for other, _ in of_id} - memories.keys()))
    return {id: _merged(links[canonical_id], memories) for id, canonical_id in canonical_ids.items()}, memories


def _merged(links: Sequence[tuple[str, Link]], memories: dict[str, Memory]) -> list[Association]:
    merged: dict[str, Association] = {}
    for other, link in links:
        end = memories.get(other)
        if end is None or not end.is_current() or end.source == "conversation":
            continue
        strength, manual = link.strength, link.manual
        if (earlier := merged.get(other)) is not None:
            strength, manual = max(earlier.strength, strength), earlier.manual or manual
        merged[other] = Association(memory_id=other, strength=strength, manual=manual)
    return sorted(
        merged.values(), key=lambda a: (-a.strength, -to_micros(memories[a.memory_id].created_at), a.memory_id)
    )
