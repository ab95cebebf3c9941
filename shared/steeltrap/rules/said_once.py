"""An episode repeats its turns: of the two, results show one. Pure."""

from collections.abc import Sequence

from ..model import Hit, Memory, When

_Said = tuple[str | None, str | None, str, When | None]


def said_once(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The best `limit` hits, without the episodes that hold a turn among them.

    The turn stays because it has the words that were asked for, where an episode's text is a summary.
    Twice as many hits are enough to fill the limit: each episode that goes leaves a turn of its own.
    """
    kept = list(hits)
    while True:
        best = kept[:limit]
        turns = {_turn(hit.memory) for hit in best if hit.memory.source == "conversation"}
        repeated = {hit.memory.id for hit in best if not turns.isdisjoint(_messages(hit.memory))}
        if not repeated:
            return best
        kept = [hit for hit in kept if hit.memory.id not in repeated]


def _turn(memory: Memory) -> _Said:
    return memory.conversation_id, memory.agent_id, memory.content, memory.occurred_at or memory.created_at


def _messages(memory: Memory) -> set[_Said]:
    if not memory.is_episode:
        return set()
    return {(memory.conversation_id, memory.agent_id, said.content, said.time) for said in memory.messages}
