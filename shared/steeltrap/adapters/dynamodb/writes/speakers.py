"""The names of those who say at least two of a user's memories and turns, kept in the user's own item.

Every search needs them, and reads that item anyway. The index by speaker is the truth: a write that gives a name its
first or second memory, or takes one away, counts that name in the index afterwards and corrects the item. Counts are
not kept: writers at the same time would cancel each other's transactions, and most writes have nothing to correct.

A process that dies in between may leave a name missing or one too many, and so may two writes that miss each other.
The next save by a missing name adds it, and the next purge of what anyone said drops all that are too many.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, Final

from ....errors import SteeltrapError
from ..client.table import Cancelled
from ..layout import keys
from ..layout.typed import Item, Value, to_attributes
from ..reads import counting
from ..reads.partition import Partition

_MOST: Final = counting.MOST_SPEAKERS
"""So many names are kept: each request that reads the user's item pays for all of them."""


def settle(partition: Partition, user: Item | None, said: Collection[str], unsaid: Collection[str]) -> bool:
    """Correct the names that a write gave a memory (`said`) or took one from (`unsaid`), "" for nobody; whether any
    changed.

    `user` is the user's own item as the write read it. The write is done, so nothing is raised: what fails is left to
    a later write.
    """
    kept = frozenset[str]() if user is None else counting.kept_speakers(user)
    with suppress(SteeltrapError):
        if kept is None:
            return _begin(partition)
        doubtful = (set(said) - kept - {""}) | (set(unsaid) & kept)
        return any(partition.each(lambda name: _correct(partition, name, name in kept), doubtful))
    return True


def settle_purge(partition: Partition, user: Item | None, gone: Iterable[Item]) -> None:
    """Correct all names that are kept, if anything was purged that someone said. As `settle`, nothing is raised."""
    if any("speaker" in item for item in gone):
        settle(partition, user, (), (counting.kept_speakers(user) if user else None) or ())


def _correct(partition: Partition, name: str, is_kept: bool) -> bool:
    """Keep a name or drop it, as the index says; whether that changed anything. Counts again after each change: a
    write that came meanwhile may have counted before it."""
    changed = False
    while (is_said := counting.says_two(partition, name)) != is_kept:
        if not (_add if is_said else _remove)(partition, name):
            break
        is_kept, changed = is_said, True
    return changed


def _begin(partition: Partition) -> bool:
    """Count all names, and keep them for a user whose item has none yet."""
    values: dict[str, Value] = {":names": counting.speakers(partition) | {""}}
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
