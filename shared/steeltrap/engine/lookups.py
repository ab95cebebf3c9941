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
    canonical_ids = {*map(canonical, ids)} - {""}
    memories = space.get(space.find(SupersededBy([*canonical_ids])), deleted=True) if canonical_ids else {}
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

    Only visible memories that nothing superseded count, and no turns.
    """
    return linked(space, ids)[0]


def linked(space: Space, ids: Sequence[str]) -> tuple[dict[str, list[Association]], dict[str, Memory]]:
    """The associations of each id, and the memories that were read for them: of the ids and of all ends."""
    canonical_ids = {id: canonical(id) for id in ids}
    wanted_ids = {*canonical_ids.values()} - {""}
    sources = space.find(LinkedTo([*wanted_ids])) if wanted_ids else []
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
        if end is None or end.is_superseded() or end.source == "conversation":
            continue
        strength, manual = link.strength, link.manual
        if (earlier := merged.get(other)) is not None:
            strength, manual = max(earlier.strength, strength), earlier.manual or manual
        merged[other] = Association(memory_id=other, strength=strength, manual=manual)
    return sorted(
        merged.values(), key=lambda a: (-a.strength, -to_micros(memories[a.memory_id].created_at), a.memory_id)
    )
