"""A memory is found by what it superseded, too: the question may have the old one's words."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..rules.traits import Trait
from .call import Call

if TYPE_CHECKING:
    from ..rules.fusion import Column, Scored

MOST: Final = 50
"""So many superseded memories, the best, are looked at."""


def credit(call: Call, scored: "Scored", limit: int) -> None:
    """Give each candidate the score of a superseded one that is better, as far as it may be among the best `limit`.

    A candidate that was superseded itself passes it on to the one that is current.
    """
    import numpy as np

    candidates = scored.candidates
    superseded = (candidates.traits & Trait.SUPERSEDED) != 0
    if not superseded.any():
        return
    current = scored.score[~superseded]
    least = np.partition(current, -limit)[-limit] if len(current) > limit else 0.0
    better = np.flatnonzero(superseded & (scored.score > least))
    better = better[np.argsort(-scored.score[better], kind="stable")][:MOST]
    successors = _successors(call, [candidates.ids[place] for place in better.tolist()])
    heirs = {
        old: new
        for old in better.tolist()
        if (id := successors.get(candidates.ids[old])) and (new := candidates.place(id)) is not None
    }
    scored.inherit(heirs, call.rules.ranking.superseded)


def is_current(scored: "Scored", places: "Column") -> "Column":
    """Of some places, those of candidates that nothing superseded."""
    current: Column = places[(scored.candidates.traits[places] & Trait.SUPERSEDED) == 0]
    return current


def _successors(call: Call, ids: Iterable[str]) -> dict[str, str]:
    """The last in the chain of those that superseded each of these memories."""
    newer: dict[str, str | None] = {}
    unread = list(ids)
    while unread:
        read = call.space.get(unread)
        newer |= {id: read[id].superseded_by if id in read else None for id in unread}
        unread = [id for id in dict.fromkeys(newer.values()) if id is not None and id not in newer]
    return {id: _last(newer, id) for id, by in newer.items() if by is not None}


def _last(newer: dict[str, str | None], id: str) -> str:
    seen = {id}
    while (by := newer.get(id)) is not None and by not in seen:
        seen.add(by)
        id = by
    return id
