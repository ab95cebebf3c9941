"""Associations: linked by hand, read from both sides, discovered on demand."""

from ..errors import InvalidInput
from ..model import Association, Link, Memory
from ..ports import Probe
from .call import Call
from .entry import embed_chunks
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
    """Memories near this one anywhere in the space, nearest first, linked or not."""
    memory = find(call, id)
    [embeddings] = embed_chunks(call, [memory.content])
    probe = Probe(embeddings=embeddings, scope=None, leave_out=memory.id)
    [around] = call.space.look_around([probe], floor=threshold, top_k=limit)
    ends = call.space.get([near.id for near in around.near])
    return [
        (Association(memory_id=near.id, strength=round(near.cosine, 4), manual=False), ends[near.id])
        for near in around.near
        if near.id in ends
    ]
