"""How memories are read, buffered, so that reading never waits for a write; and who says at least two of them.

Every search needs them, and reads that item anyway. The index by speaker is the truth: a write that gives a name its
first or second memory, or takes one away, counts that name in the index afterwards and corrects the item. Counts are
not kept: writers at the same time would cancel each other's transactions, and most writes have nothing to correct.

A process that dies in between may leave a name missing or one too many, and so may two writes that miss each other.
The next save by a missing name adds it, and the next purge of what anyone said drops all that are too many.

Counts are added, a card is replaced only where it is still the one the review began from. What is in the buffer when
a process dies is lost, by contract.
"""

import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from typing import Any, Final

from ...errors import SteeltrapError
from ...model import Usage, from_micros, to_micros
from ...ports import Deadline
from ...text.limits import canonical
from .. import usage_buffer
from ..usage_buffer import Pending
from . import keys, listing
from .client import Action, Cancelled, run
from .items import Item, Value, number, text, to_attributes
from .partition import Partition

_MOST: Final = listing.MOST_SPEAKERS
"""The number of names that are kept. Each request that reads the user's item pays for all of them."""


def update_speakers(
    partition: Partition, user: Item | None, new_names: Collection[str], old_names: Collection[str]
) -> bool:
    """Correct the names that a write gave a memory (`new_names`) or took from one (`old_names`), "" for nobody;
    whether any changed.

    `user` is the user's own item as the write read it. The write is done, so nothing is raised: what fails is left to
    a later write.
    """
    kept_names = frozenset[str]() if user is None else listing.kept_speakers(user)
    with suppress(SteeltrapError):
        if kept_names is None:
            return _begin(partition)
        doubtful = (set(new_names) - kept_names - {""}) | (set(old_names) & kept_names)
        return any(partition.each(lambda name: _correct(partition, name, name in kept_names), doubtful))
    return True


def update_speakers_after_purge(partition: Partition, user: Item | None, removed_items: Iterable[Item]) -> None:
    """Correct all names that are kept, if anything was purged that someone said. Nothing is raised."""
    if any("speaker" in item for item in removed_items):
        update_speakers(partition, user, (), (listing.kept_speakers(user) if user else None) or ())


def _correct(partition: Partition, name: str, is_kept: bool) -> bool:
    """Keep a name or drop it, as the index says; whether that changed anything. Counts again after each change: a
    write that came meanwhile may have counted before it."""
    is_changed = False
    while (is_said := listing.says_two(partition, name)) != is_kept:
        if not (_add if is_said else _remove)(partition, name):
            break
        is_kept, is_changed = is_said, True
    return is_changed


def _begin(partition: Partition) -> bool:
    """Count all names, and keep them for a user whose item has none yet."""
    values: dict[str, Value] = {":names": listing.speakers(partition) | {""}}
    return _update(partition, "ADD speakers :names", "attribute_exists(k)", values)


def _add(partition: Partition, name: str) -> bool:
    values: dict[str, Value] = {":names": frozenset({name}), ":most": _MOST}
    return _update(partition, "ADD speakers :names", "size(speakers) <= :most", values)


def _remove(partition: Partition, name: str) -> bool:
    values: dict[str, Value] = {":names": frozenset({name})}
    return _update(partition, "DELETE speakers :names", "attribute_exists(speakers)", values)


def _update(partition: Partition, change: str, condition: str, values: dict[str, Value]) -> bool:
    """Change the names of a user who is there and has room for them; whether it was done."""
    request: Any = {
        "TableName": partition.tables.memory,
        "Key": to_attributes({"u": partition.key, "k": keys.USER}),
        "UpdateExpression": change,
        "ConditionExpression": condition,
        "ExpressionAttributeValues": to_attributes(values),
    }
    try:
        partition.tables.call("update_item", request, partition.deadline)
    except Cancelled:
        return False
    return True


_log = logging.getLogger("steeltrap")

_MANY: Final = 1_000
"""From this number of ids on, reading the usage of all memories is quicker than looking each one up."""
_BLOCK: Final = 10
"""How many move at once: searches have the same threads to wait with, and readers wait for a move."""
_BLOCK_SECONDS: Final = 0.5
"""A block is not begun with less time than this: what is cut short is lost."""


class UsageBuffer(usage_buffer.UsageBuffer):
    """The buffer of one user.

    While pending numbers move into the table, a reader would miss them or count them twice: readers and a move
    wait for each other, and readers go first.
    """

    def __init__(self) -> None:
        super().__init__()
        self._turn = threading.Condition()
        self._readers = 0
        self._moving = False
        self.was_used = True
        """True if a call took this buffer since the last flush: it may be about to add to it."""

    def is_idle(self) -> bool:
        with self._turn:
            return not (self or self._moving or self._readers)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """No number moves meanwhile."""
        with self._turn:
            self._readers += 1
            self._turn.wait_for(lambda: not self._moving)
        try:
            yield
        finally:
            with self._turn:
                self._readers -= 1
                self._turn.notify_all()

    @contextmanager
    def moving(self, deadline: Deadline) -> Iterator[bool]:
        """Nobody reads meanwhile. False when its turn did not come in time."""
        with self._turn:
            mine = self._turn.wait_for(
                lambda: not self._moving and not self._readers, timeout=deadline.before(_BLOCK_SECONDS)
            )
            self._moving = self._moving or mine
        try:
            yield mine
        finally:
            if mine:
                with self._turn:
                    self._moving = False
                    self._turn.notify_all()


def flush(partition: Partition, buffer: UsageBuffer, *, just_read: bool = False) -> None:
    """Write the pending reads while there is time. Those that can't be written are dropped: reading statistics are best
    effort."""
    deadline = partition.deadline
    while deadline.before(_BLOCK_SECONDS):
        with buffer.moving(deadline) as mine:
            pending = buffer.take(_BLOCK) if mine and deadline.before(_BLOCK_SECONDS) else {}
            if not pending:
                return
            _move(partition, pending, just_read)
    if just_read:
        drop_all(buffer, deadline)  # by the next flush it would not be a moment ago


def flush_one(partition: Partition, buffer: UsageBuffer, id: str) -> None:
    """Write the pending reads of one memory."""
    with buffer.moving(partition.deadline) as mine:
        if mine:
            _move(partition, buffer.take_one(id), just_read=False)


def drop_all(buffer: UsageBuffer, deadline: Deadline) -> None:
    """Wait for the write that runs, then drop everything pending."""
    with buffer.moving(deadline):
        buffer.take()


def _move(partition: Partition, pending: Mapping[str, Pending], just_read: bool) -> None:
    known_pending = [(canonical_id, more) for id, more in pending.items() if (canonical_id := canonical(id))]
    ids = {id for id, _ in known_pending}
    try:
        stored_ids = ids if just_read else _still_there(partition, ids)
        partition.each(lambda pair: _write(partition, *pair), [pair for pair in known_pending if pair[0] in stored_ids])
    except SteeltrapError as error:
        _log.warning("reading statistics were not kept; nothing else is affected: %s", error.message)


def _still_there(partition: Partition, ids: Iterable[str]) -> Set[str]:
    """The ids that were not purged since they were read. Nothing may be written about a purged memory."""
    items_by_key = partition.tables.get(partition.key, map(keys.memory, ids), ("k", "gone"), partition.deadline)
    return {keys.id_of(key) for key, item in items_by_key.items() if "gone" not in item}


def write_review(partition: Partition, id: str, previous: str | None, card: str) -> bool:
    """Put a card in place of `previous`. False when another came first, or the memory is not there."""
    existence = Action(keys.memory(id), "attribute_exists(#k) AND attribute_not_exists(#gone)")
    if not canonical(id):
        return False
    try:
        run(partition.tables, partition.key, [existence, _review(partition, id, previous, card)], partition.deadline)
    except Cancelled:
        return False
    return True


def read_usage(partition: Partition, ids: Sequence[str]) -> dict[str, Usage]:
    """The stored usage of these memories; one without any is left out."""
    ids_by_key = {canonical(id): id for id in ids}
    ids_by_key.pop("", None)
    if len(ids_by_key) < _MANY:
        usage_items: Iterable[Item] = partition.tables.get_usage(partition.key, ids_by_key, partition.deadline).values()
    else:
        usage_items = partition.tables.usage_items(partition.key, partition.deadline)
    return {ids_by_key[text(item, "k")]: to_usage(item) for item in usage_items if text(item, "k") in ids_by_key}


def to_usage(item: Item) -> Usage:
    return Usage(
        access_count=number(item, "count"),
        last_accessed_at=from_micros(number(item, "at")) if "at" in item else None,
        card=text(item, "card") if "card" in item else None,
    )


def _write(partition: Partition, id: str, more: Pending) -> None:
    if more.count and more.at:
        request: Any = {
            "TableName": partition.tables.usage,
            "Key": {"u": {"S": partition.key}, "k": {"S": id}},
            # Of two processes the last to flush may have read first; some seconds' difference is no matter.
            "UpdateExpression": "ADD #count :count SET #at = :at",
            "ExpressionAttributeNames": {"#count": "count", "#at": "at"},
            "ExpressionAttributeValues": {":count": {"N": str(more.count)}, ":at": {"N": str(to_micros(more.at))}},
        }
        partition.tables.call("update_item", request, partition.deadline)
    for previous, card in more.reviews:
        with suppress(Cancelled):
            run(partition.tables, partition.key, [_review(partition, id, previous, card)], partition.deadline)


def _review(partition: Partition, id: str, previous: str | None, card: str) -> Action:
    table = partition.tables.usage
    if previous is None:
        return Action(id, "attribute_not_exists(#card)", set={"card": card}, table=table, own=True)
    values: dict[str, Value] = {":previous": previous}
    return Action(id, "#card = :previous", values, set={"card": card}, table=table, own=True)
