"""Rebuilding the search index from the store, while writes go on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ...errors import SteeltrapError
from ...ports import Document, IndexUpkeep, Tombstone, Truth

_ATTEMPTS: Final = 6
_BLOCK: Final = 500


@dataclass(slots=True)
class Reindexed:
    """How many documents and tombstones were written, and how many the index refuses for good, with why.

    `switched`: the new index is searched. `cut_short`: not all was written, since the time was over.
    """

    written: int = 0
    refused: int = 0
    why: str = ""
    switched: bool = False
    cut_short: bool = False


def reindex(
    truth: Truth,
    index: IndexUpkeep,
    *,
    accept_refused: bool = False,
    advance: Callable[[int], None] = lambda written: None,
    may_go_on: Callable[[], bool] = lambda: True,
    pause: Callable[[float], None] = time.sleep,
) -> Reindexed:
    """Build another index beside the one that is searched, and switch when it is whole.

    One that was cut short goes on where it was. It stops after a block when it may not go on. When documents are
    refused for good, the old one stays unless `accept_refused`. Raises Unavailable, Throttled: call again to go on.
    """
    done = Reindexed()
    place = index.begin()
    if not place:
        # A writer that doesn't know of the new index yet writes to the old one only; what is read after that has it.
        pause(index.learned_seconds)
    for block, behind in truth.everything(after=place):
        _write(index.build, block, done, pause)
        if behind:
            index.reached(behind)
        advance(done.written)
        if not may_go_on():
            done.cut_short = True
            return done
    if not done.refused or accept_refused:
        index.switch()
        done.switched = True
    return done


def mend(truth: Truth, index: IndexUpkeep, user: str, *, pause: Callable[[float], None] = time.sleep) -> Reindexed:
    """Write all of one user to the index that is searched, and bury there what the truth doesn't have.

    Raises Unavailable, Throttled.
    """
    done = Reindexed()
    index.refresh()
    before = index.held(user)
    block: list[Document | Tombstone] = []
    for document in truth.documents(user):
        before.pop(document.id, None)
        block.append(document)
        if len(block) == _BLOCK:
            _write(index.mend, block, done, pause)
            block = []
    there = truth.held(user)
    lost = {id: held for id, held in before.items() if held.is_there and id not in there}
    block += [Tombstone(user=user, id=id, index_version=held.index_version + 1) for id, held in lost.items()]
    _write(index.mend, block, done, pause)
    return done


def _write(
    write: Callable[..., dict[int, SteeltrapError]],
    block: Sequence[Document | Tombstone],
    done: Reindexed,
    pause: Callable[[float], None],
) -> None:
    """Write a block, again where that may help. Raises Unavailable, Throttled when it doesn't."""
    for attempt in range(_ATTEMPTS):
        if not block:
            return
        last = attempt == _ATTEMPTS - 1
        try:
            refused = write(block)
        except SteeltrapError as error:
            if last or not error.can_retry:
                raise
            pause(2.0**attempt)
            continue
        passing = {at: refusal for at, refusal in refused.items() if refusal.can_retry}
        if passing and last:
            raise next(iter(passing.values()))
        done.written += len(block) - len(refused)
        for refusal in refused.values():
            if not refusal.can_retry:
                done.refused += 1
                done.why = str(refusal.details.get("reason") or refusal.message)
        block = [block[at] for at in sorted(passing)]
        if block:
            pause(2.0**attempt)
