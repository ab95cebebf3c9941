"""Associations: linked manually, read from both sides, discovered on demand."""

from collections.abc import Collection, Sequence
from typing import Final

from ..errors import InvalidInput
from ..model import Association, Edit, Link, Memory
from ..ports import Pair, Probe
from ..rules.novelty import LINK_FLOOR
from .call import Call
from .entry import embed_memories
from .get import find
from .update import update

_ROUNDING: Final = 1e-5


def associate(call: Call, id: str, target_id: str, strength: float) -> Memory:
    """Link two memories manually; a manual link survives updates and moves, and replaces an automatic one."""
    target = find(call, target_id)
    source = find(call, id)
    if source.id == target.id:
        raise InvalidInput("a memory can't be associated with itself: give two different ids.")
    if "conversation" in (source.source, target.source):
        raise InvalidInput("what was said in a conversation can't be associated: give the ids of two memories.")
    return update(call, source.id, Edit(add_link=Link(target_id=target.id, strength=strength, manual=True)))


def associations(call: Call, id: str, limit: int) -> list[tuple[Association, Memory]]:
    """The links of a memory, from both sides, strongest first, with the memories at their ends."""
    memory = find(call, id)
    return linked(call, [memory.id])[memory.id][:limit]


def linked(call: Call, ids: Sequence[str]) -> dict[str, list[tuple[Association, Memory]]]:
    """The associations of each memory that hold, strongest first; an id that is unknown has none.

    A link that was found, not made manually, holds while both memories are in one scope and as near as when
    a link is made: the other side may have been changed or moved since.
    """
    found = call.space.associations(ids)
    ends = call.space.get(list({*ids, *(link.memory_id for links in found.values() for link in links)}))
    automatic = {(id, link.memory_id) for id, links in found.items() for link in links if not link.manual}
    near: Collection[Pair] = ()
    if automatic:
        near = call.space.alike(automatic, floor=LINK_FLOOR - _ROUNDING)

    def holds(id: str, link: Association) -> bool:
        if link.memory_id not in ends or id not in ends:
            return False
        in_one_scope = ends[id].scope == ends[link.memory_id].scope
        return link.manual or (in_one_scope and (id, link.memory_id) in near)

    return {id: [(link, ends[link.memory_id]) for link in found.get(id, []) if holds(id, link)] for id in ids}


def discover(call: Call, id: str, *, limit: int, threshold: float) -> list[tuple[Association, Memory]]:
    """What belongs with a memory, strongest first: what is near it anywhere in the space, and what was linked manually.

    `threshold` is a floor on the strength, which is the cosine, or what was given to a manual link.
    """
    memory = find(call, id)
    [embeddings] = embed_memories(call, [memory])
    probe = Probe(embeddings=embeddings, scope=None, leave_out=memory.id)
    [around] = call.space.look_around([probe], floor=threshold, top_k=limit)
    found = {
        near.id: Association(memory_id=near.id, strength=round(min(1.0, near.cosine), 4), manual=False)
        for near in around.near
    }
    for link in call.space.associations([memory.id]).get(memory.id, []):
        if link.manual and link.strength >= threshold:
            found[link.memory_id] = link
    strongest = sorted(found.values(), key=lambda association: -association.strength)[:limit]
    ends = call.space.get([association.memory_id for association in strongest])
    return [(a, ends[a.memory_id]) for a in strongest if a.memory_id in ends]
