"""Complete: look around what was saved while the index did not answer."""

from dataclasses import replace
from typing import Final

from ...errors import Conflict, NotFound
from ...model import MAX_LINKS, Memory, Surroundings
from ...ports import Probe, Replace
from ...rules import novelty
from ...rules.vectors import has_direction
from ..call import Call
from ..entry import unchanged_text

_BLOCK: Final = 100


def complete(call: Call) -> int:
    """Give surprise and links to memories whose look-around is pending; answers how many. Their versions stay.

    What changes meanwhile, or was made for another embedder, is left to the next time. Raises Unavailable.
    """
    pending = call.space.pending()
    done = 0
    for start in range(0, len(pending), _BLOCK):
        call.deadline.left()
        done += _complete(call, list(call.space.get(pending[start : start + _BLOCK]).values()))
    return done


def _complete(call: Call, memories: list[Memory]) -> int:
    vectors = call.space.embeddings([memory.id for memory in memories])
    memories = [memory for memory in memories if vectors.get(memory.id)]
    probes = [Probe(embeddings=vectors[memory.id], scope=memory.scope, leave_out=memory.id) for memory in memories]
    found = call.space.look_around(probes, floor=novelty.LINK_FLOOR, top_k=MAX_LINKS)
    done = 0
    for memory, probe, seen in zip(memories, probes, found, strict=True):
        around = seen if has_direction(probe.embeddings) else Surroundings(nearest=None)
        there = {link.target_id for link in memory.links}
        links = memory.links + tuple(link for link in novelty.links(around) if link.target_id not in there)
        image = replace(
            memory,
            lookaround_pending=False,
            surprise=memory.surprise
            if memory.surprise is not None
            else novelty.surprise_of(memory, around, call.embedder),
            links=links[: max(MAX_LINKS, len(memory.links))],
        )
        try:
            call.space.commit([Replace(entry=unchanged_text(image), expected=memory.version)])
            done += 1
        except (Conflict, NotFound):
            continue
    return done
