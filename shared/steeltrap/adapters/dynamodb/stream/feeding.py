"""From a stream of changes into an index: what has to come again, what is put aside, what is done.

A stream goes on behind the first change that is reported, and brings all that follow once more; so only
what may pass later is reported. What never will is put aside, without a word of its text, for a replay that
reads the truth. Whichever order changes come in, and however often, the newest of a memory stays.
"""

from collections.abc import Callable, Sequence

from ....errors import SteeltrapError
from ....ports import Deadline, Document, Index, Parked, Tombstone

Change = tuple[str, Document | Tombstone]
"""A change's place in its stream, and what to write."""


def feed(index: Index, changes: Sequence[Change], *, park: Callable[[Parked], None], deadline: Deadline) -> list[str]:
    """Write changes; answers the places of those that have to come again, in order.

    `park` keeps what the index refuses for good; where it fails, the change has to come again.
    """
    newest: dict[tuple[str, str], int] = {}
    for at, (_, document) in enumerate(changes):
        key = (document.user, document.id)
        if key not in newest or document.index_version >= changes[newest[key]][1].index_version:
            newest[key] = at
    written = sorted(newest.values())
    try:
        refused = index.write([changes[at][1] for at in written], deadline)
    except SteeltrapError as error:
        if error.can_retry:
            return [place for place, _ in changes]
        refused = dict.fromkeys(range(len(written)), error)
    again = {written[at] for at, error in refused.items() if not _is_done(changes[written[at]][1], error, park)}
    return [place for at, (place, _) in enumerate(changes) if at in again]


def _is_done(document: Document | Tombstone, error: SteeltrapError, park: Callable[[Parked], None]) -> bool:
    if error.can_retry:
        return False
    reason = str(error.details.get("reason") or error.code)
    try:
        park(Parked(user=document.user, id=document.id, index_version=document.index_version, error=reason))
    except SteeltrapError:
        return False
    return True
