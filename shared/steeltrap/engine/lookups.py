"""Questions that a few lookups answer: which ids have a start, what was written last, what is linked to what.

They take a space, not a call: what they answer depends on nothing else.
"""

from collections import defaultdict
from collections.abc import Sequence

from ..model import Association, Link, Memory, to_micros
from ..ports import IdStarts, LatestWrites, LinkedTo, OpenTurns, Space, SupersededBy
from ..text.limits import canonical


def completions(space: Space, starts: Sequence[str], *, limit: int) -> list[list[str]]:
    """For each start of an id, up to `limit` ids that have it, in order: turns and deleted memories too."""
    ids = sorted(set(space.find(IdStarts(starts, limit)))) if starts else []
    return [[id for id in ids if id.startswith(start)][:limit] for start in starts]


def superseded(space: Space, ids: Sequence[str]) -> list[Memory]:
    """The memories that these superseded, deleted and expired ones too."""
    named = {*map(canonical, ids)} - {""}
    read = space.get(space.find(SupersededBy([*named])), deleted=True) if named else {}
    return [memory for memory in read.values() if canonical(memory.superseded_by or "") in named]


def latest_writes(space: Space, limit: int) -> list[Memory]:
    """The memories among the last `limit` writes, the latest first; deleted ones too, turns left out."""
    read = space.get(space.find(LatestWrites(limit)), deleted=True).values()
    return [memory for memory in read if memory.source != "conversation"]


def open_turns(space: Space, conversation_id: str) -> list[Memory]:
    """The visible turns of a conversation that are not closed, in the order of writing."""
    return list(space.get(space.find(OpenTurns(conversation_id))).values())


def associations(space: Space, ids: Sequence[str]) -> dict[str, list[Association]]:
    """The links of each id, in both directions: strongest first, then newest, then by id. Only visible memories that
    nothing superseded count, and no turns."""
    known = {id: canonical(id) for id in ids}
    named = [*dict.fromkeys(filter(None, known.values()))]
    if not named:
        return {id: [] for id in ids}
    sources = space.find(LinkedTo(named))
    read = space.get(list({*named, *sources}), deleted=True)
    targets = {canonical(link.target_id) for id in named if id in read for link in read[id].links} - {""}
    ends = {
        id: memory
        for id, memory in space.get(list({*sources, *targets})).items()
        if not memory.is_superseded() and memory.source != "conversation"
    }
    links: dict[str, list[tuple[str, Link]]] = defaultdict(list)
    for id in named:
        links[id] = [(canonical(link.target_id), link) for link in read[id].links] if id in read else []
    for source in dict.fromkeys(sources):
        for link in read[source].links if source in read else ():
            if (target := canonical(link.target_id)) in links:
                links[target].append((source, link))
    return {id: _merged(links[one], ends) if one else [] for id, one in known.items()}


def _merged(links: Sequence[tuple[str, Link]], ends: dict[str, Memory]) -> list[Association]:
    merged: dict[str, Association] = {}
    for other, link in links:
        if other not in ends:
            continue
        known = merged.get(other, Association(memory_id=other, strength=link.strength, manual=False))
        merged[other] = Association(
            memory_id=other, strength=max(known.strength, link.strength), manual=known.manual or link.manual
        )
    return sorted(merged.values(), key=lambda a: (-a.strength, -to_micros(ends[a.memory_id].created_at), a.memory_id))
