"""Upkeep: what keeps a store and its search index right over time.

Here: sweeping, completing what a missing index left pending, comparing, rebuilding. Not here: who is swept and when
(`maintenance`). No tool calls it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from math import inf
from typing import Final, Literal

from ..changes.images import entry, meaning, unchanged_text
from ..errors import Conflict, NotFound, SteeltrapError
from ..model import MAX_LINKS, Memory, Surroundings, UserRef, to_micros
from ..model.frozen import frozen
from ..ports import (
    TOMBSTONE_SECONDS,
    Document,
    Gone,
    Held,
    IndexUpkeep,
    Pending,
    Probe,
    Replace,
    Revised,
    Tombstone,
    Truth,
)
from ..ranking import novelty
from ..text.segmentation import PAUSE
from ..text.vectors import has_direction
from ..text.words import WORDS_VERSION, is_analysed_otherwise
from .call import Call
from .conversations import close_since
from .saving import embed_memories

_COMPLETED_AT_ONCE: Final = 100


def complete(call: Call) -> int:
    """Give surprise and links to memories whose look-around is pending; answers how many. Their versions stay.

    What changes meanwhile, or was made for another embedder, is left to the next time. Raises Unavailable.
    """
    pending = call.space.find(Pending())
    completed = 0
    for start in range(0, len(pending), _COMPLETED_AT_ONCE):
        call.deadline.left()
        completed += _complete(call, list(call.space.get(pending[start : start + _COMPLETED_AT_ONCE]).values()))
    return completed


def _complete(call: Call, memories: list[Memory]) -> int:
    vectors = call.space.embeddings([memory.id for memory in memories])
    memories = [memory for memory in memories if vectors.get(memory.id)]
    probes = [Probe(embeddings=vectors[memory.id], scope=memory.scope, leave_out=memory.id) for memory in memories]
    neighbours = call.space.look_around(probes, floor=novelty.LINK_FLOOR, top_k=MAX_LINKS)
    completed = 0
    for memory, probe, near in zip(memories, probes, neighbours, strict=True):
        around = near if has_direction(probe.embeddings) else Surroundings(nearest=None)
        targets = {link.target_id for link in memory.links}
        links = memory.links + tuple(link for link in novelty.links(around) if link.target_id not in targets)
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
            completed += 1
        except (Conflict, NotFound):
            continue
    return completed


_REANALYSED_AT_ONCE: Final = 100


def reanalyse(call: Call, may_go_on: Callable[[], bool] = lambda: True) -> int:
    """Bring what memories are found by to the analysis of today; answers how many were written. Their versions stay.

    Only texts whose words or vectors have changed are embedded again. Searches go on meanwhile. It stops after a block
    when it may not go on. What a run that was cut short has done stays done, and the next one looks at all again.
    Raises Unavailable.
    """
    since = call.space.analysis()
    if since >= WORDS_VERSION:
        return 0
    reanalysed, images = 0, call.space.images()
    while block := list(islice(images, _REANALYSED_AT_ONCE)):
        call.deadline.left()
        reanalysed += _reanalyse(call, [image for image in block if _reads_otherwise(call, image, since)], since)
        if not may_go_on():
            return reanalysed
    call.space.set_analysis(WORDS_VERSION)
    return reanalysed


def _reads_otherwise(call: Call, memory: Memory, since: int) -> bool:
    if memory.deleted_at is not None:
        return False
    return is_analysed_otherwise(memory, since) or _is_embedded_otherwise(call, memory, since)


def _is_embedded_otherwise(call: Call, memory: Memory, since: int) -> bool:
    return isinstance(call.embedder, Revised) and call.embedder.has_changed(meaning(memory), since)


def _reanalyse(call: Call, memories: Sequence[Memory], since: int) -> int:
    """Write them with new words, and new vectors where the embedder has others."""
    embeddings = call.space.embeddings([memory.id for memory in memories])
    memories = [memory for memory in memories if memory.id in embeddings]
    if not memories:
        return 0
    outdated = [memory for memory in memories if _is_embedded_otherwise(call, memory, since)]
    embeddings |= {memory.id: new for memory, new in zip(outdated, embed_memories(call, outdated), strict=True)}
    changes = [Replace(entry=entry(memory, embeddings[memory.id]), expected=memory.version) for memory in memories]
    try:
        call.space.commit(changes)
        return len(changes)
    except (Conflict, NotFound):  # somebody writes one of them meanwhile
        return sum(_is_written(call, change) for change in changes)


def _is_written(call: Call, change: Replace) -> bool:
    try:
        call.space.commit([change])
    except (Conflict, NotFound):  # who writes it meanwhile analyses it
        return False
    return True


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
    advance: Callable[[int], None] = lambda count: None,
    seconds_left: Callable[[], float] = lambda: inf,
    pause: Callable[[float], None] = time.sleep,
) -> Reindexed:
    """Build another index beside the one that is searched, and switch when it is whole.

    A rebuild that was interrupted resumes where it stopped. `seconds_left` is called after each block of documents;
    below zero the rebuild stops with `cut_short`. If documents are permanently refused, the old index stays in use
    unless `accept_refused`. Raises Unavailable, Throttled: call again to go on.
    """
    reindexed = Reindexed()
    place = index.begin()
    if not place:
        # A writer that doesn't know of the new index yet writes to the old one only; what is read after that has it.
        pause(index.learned_seconds)
    for block, next_place in truth.everything(after=place):
        _write(index.build, block, reindexed, pause)
        if next_place:
            index.reached(next_place)
        advance(reindexed.written)
        if seconds_left() < 0:
            reindexed.cut_short = True
            return reindexed
    if not reindexed.refused or accept_refused:
        index.switch()
        reindexed.switched = True
    return reindexed


def mend(truth: Truth, index: IndexUpkeep, user: str, *, pause: Callable[[float], None] = time.sleep) -> Reindexed:
    """Write all of one user to the index that is searched, and bury there what the truth doesn't have.

    Raises Unavailable, Throttled.
    """
    mended = Reindexed()
    index.refresh()
    before = index.held(user)
    block: list[Document | Tombstone] = []
    for document in truth.documents(user):
        before.pop(document.id, None)
        block.append(document)
        if len(block) == _BLOCK:
            _write(index.mend, block, mended, pause)
            block = []
    states = truth.held(user)
    missing = {id: state for id, state in before.items() if state.is_there and id not in states}
    block += [Tombstone(user=user, id=id, index_version=state.index_version + 1) for id, state in missing.items()]
    _write(index.mend, block, mended, pause)
    index.refresh()  # searches read from the store only what was written lately
    return mended


def _write(
    write: Callable[..., dict[int, SteeltrapError]],
    block: Sequence[Document | Tombstone],
    totals: Reindexed,
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
        totals.written += len(block) - len(refused)
        for refusal in refused.values():
            if not refusal.can_retry:
                totals.refused += 1
                totals.why = str(refusal.details.get("reason") or refusal.message)
        block = [block[at] for at in sorted(passing)]
        if block:
            pause(2.0**attempt)


def sweep(call: Call) -> int:
    """How many memories went. The call's time bounds it. Raises Unavailable."""
    purged = len(call.space.purge(call.space.find(Gone(call.now() - call.rules.retention))))
    while close_since(call, call.now() - PAUSE):
        call.deadline.left()
    close_since(call, call.now())
    complete(call)
    reanalyse(call)
    return purged


_KEPT: Final = timedelta(seconds=TOMBSTONE_SECONDS)


def sweep_index(truth: Truth, index: IndexUpkeep, now: datetime) -> int:
    """Remove tombstones that are older than any replay, and return how many. Raises Unavailable, Throttled.

    The store removes its own first: while it has one for an id, the index's tombstone shows that the index is up to
    date.
    """
    return index.drop_tombstones(before=to_micros(now - _KEPT), find_stored=truth.known)


SETTLING_SECONDS: Final = 3.0
"""How long a change may be on its way into the index."""

Kind = Literal["missing", "stale", "superfluous"]


@frozen
class Difference:
    """Where the index isn't as the truth says.

    `missing`: the index has nothing of it. `stale`: it has another version. `superfluous`: it has a memory that
    is deleted, forgotten, or was never there.
    """

    user: UserRef
    id: str
    kind: Kind


def verify(
    truth: Truth, index: IndexUpkeep, users: Iterable[UserRef], *, pause: Callable[[float], None] = time.sleep
) -> Iterator[Difference]:
    """The differences of these users, those that are still there after a moment. Raises Unavailable, Throttled."""
    index.refresh()
    for user in users:
        differences = _compare(user, truth, index)
        if differences:
            pause(SETTLING_SECONDS)
            index.refresh()
            yield from sorted(
                differences & _compare(user, truth, index), key=lambda difference: (difference.kind, difference.id)
            )


def count_strays(truth: Truth, index: IndexUpkeep, *, before: int) -> int:
    """How many documents of the index, with a lower index version, belong to nobody the truth knows.

    While others write it may be too low. Raises Unavailable, Throttled.
    """
    index.refresh()
    states = (state for user in truth.users() for state in index.held(user.key).values())
    stored_count = sum(state.is_there and state.index_version < before for state in states)
    return max(0, index.count(before=before) - stored_count)


def _compare(user: UserRef, truth: Truth, index: IndexUpkeep) -> set[Difference]:
    # The index first: what comes to be meanwhile is a difference that the second look doesn't find.
    indexed = index.held(user.key)
    truth_states = truth.held(user.key)
    kinds = {id: _kind(truth_states.get(id), indexed.get(id)) for id in truth_states.keys() | indexed.keys()}
    return {Difference(user=user, id=id, kind=kind) for id, kind in kinds.items() if kind is not None}


def _kind(truth_state: Held | None, indexed: Held | None) -> Kind | None:
    if indexed is None:
        return "missing"
    if truth_state is None or not truth_state.is_there:
        if indexed.is_there:
            return "superfluous"
        return None if truth_state is None or indexed.index_version >= truth_state.index_version else "stale"
    return None if indexed == truth_state else "stale"


def counted(differences: Iterable[Difference]) -> Mapping[Kind, int]:
    """How many there are of each kind."""
    counts: dict[Kind, int] = {"missing": 0, "stale": 0, "superfluous": 0}
    for difference in differences:
        counts[difference.kind] += 1
    return counts
