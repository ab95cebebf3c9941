"""Comparing the search index with the truth."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal

from ...model import UserRef
from ...model.frozen import frozen
from ...ports import Held, IndexUpkeep, Truth

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
        found = _compare(user, truth, index)
        if found:
            pause(SETTLING_SECONDS)
            index.refresh()
            yield from sorted(found & _compare(user, truth, index), key=lambda one: (one.kind, one.id))


def count_strays(truth: Truth, index: IndexUpkeep, *, before: int) -> int:
    """How many documents of the index, with a lower index version, belong to nobody the truth knows.

    While others write it may be too low. Raises Unavailable, Throttled.
    """
    index.refresh()
    held = (one for user in truth.users() for one in index.held(user.key).values())
    known = sum(one.is_there and one.index_version < before for one in held)
    return max(0, index.count(before=before) - known)


def _compare(user: UserRef, truth: Truth, index: IndexUpkeep) -> set[Difference]:
    # The index first: what comes to be meanwhile is a difference that the second look doesn't find.
    indexed = index.held(user.key)
    there = truth.held(user.key)
    kinds = {id: _kind(there.get(id), indexed.get(id)) for id in there.keys() | indexed.keys()}
    return {Difference(user=user, id=id, kind=kind) for id, kind in kinds.items() if kind is not None}


def _kind(there: Held | None, indexed: Held | None) -> Kind | None:
    if indexed is None:
        return "missing"
    if there is None or not there.is_there:
        if indexed.is_there:
            return "superfluous"
        return None if there is None or indexed.index_version >= there.index_version else "stale"
    return None if indexed == there else "stale"


def counted(differences: Iterable[Difference]) -> Mapping[Kind, int]:
    """How many there are of each kind."""
    counts: dict[Kind, int] = {"missing": 0, "stale": 0, "superfluous": 0}
    for one in differences:
        counts[one.kind] += 1
    return counts
