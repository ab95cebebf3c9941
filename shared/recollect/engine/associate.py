"""Associations: linked by hand, read from both sides, discovered on demand."""

from ..errors import InvalidInput
from ..model import Association, Link, Memory
from ..ports import Probe
from .call import Call
from .entry import embed_memories
from .get import find
from .update import Edit, update


def associate(call: Call, id: str, target_id: str, strength: float) -> Memory:
    """Link two memories by hand; a manual link survives updates and moves, and replaces an automatic one."""
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
    found = call.space.associations([memory.id]).get(memory.id, [])[:limit]
    ends = call.space.get([a.memory_id for a in found])
    return [(a, ends[a.memory_id]) for a in found if a.memory_id in ends]


def discover(call: Call, id: str, *, limit: int, threshold: float) -> list[tuple[Association, Memory]]:
    """What belongs with a memory, strongest first: its links, and what is near it anywhere in the space.

    `threshold` is a floor on the strength, which is the cosine, or what was given to a link made by hand.
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
        if link.strength >= threshold and (link.manual or link.memory_id not in found):
            found[link.memory_id] = link
    strongest = sorted(found.values(), key=lambda association: -association.strength)[:limit]
    ends = call.space.get([association.memory_id for association in strongest])
    return [(a, ends[a.memory_id]) for a in strongest if a.memory_id in ends]
