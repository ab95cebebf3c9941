"""Writes changes from a stream to an index.

When a batch fails at one change, the stream sends that change and all later ones again. So only changes that may
succeed later are reported; a change that the index permanently rejects goes to the dead-letter queue, without its
text: a replay reads the table. Changes may arrive in any order and more than once; the newest version wins.
"""

from collections.abc import Callable, Sequence

from ....errors import SteeltrapError
from ....ports import DeadLetter, Deadline, Document, Index, Tombstone

Change = tuple[str, Document | Tombstone]
"""A change's sequence number in its stream, and what to write."""


def write_changes(
    index: Index, changes: Sequence[Change], *, send_dead_letter: Callable[[DeadLetter], None], deadline: Deadline
) -> list[str]:
    """Write changes; return the sequence numbers of those to retry, in order.

    `send_dead_letter` takes what the index permanently rejects; if it fails, the change is retried.
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
    again = {
        written[at] for at, error in refused.items() if not _is_done(changes[written[at]][1], error, send_dead_letter)
    }
    return [place for at, (place, _) in enumerate(changes) if at in again]


def _is_done(
    document: Document | Tombstone, error: SteeltrapError, send_dead_letter: Callable[[DeadLetter], None]
) -> bool:
    if error.can_retry:
        return False
    reason = str(error.details.get("reason") or error.code)
    letter = DeadLetter(user=document.user, id=document.id, index_version=document.index_version, error=reason)
    try:
        send_dead_letter(letter)
    except SteeltrapError:
        return False
    return True
