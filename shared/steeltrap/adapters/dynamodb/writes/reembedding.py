"""Giving every memory of a user new vectors and tokens.

All of them are made and written beside the old ones first; a model that fails leaves everything as it was. Then the
user's item changes hands, and memory by memory takes what was made for it; what is cut short there is finished by
starting again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from ....errors import SteeltrapError
from ....model import Memory
from ....ports import Entry
from ....record import from_image
from ..client.table import Cancelled
from ..client.transaction import Action, run
from ..layout import items, keys
from ..layout.typed import Item, number, text
from ..reads.partition import Partition
from . import users

_BLOCK: Final = 256

Anew = Callable[[Sequence[Memory]], list[Entry]]
Staged = dict[str, tuple[Item, list[Item]]]


def reembed(partition: Partition, anew: Anew) -> int:
    """New vectors and tokens for all that can be searched; how many memories that was."""
    user = partition.tables.get(partition.key, [keys.USER], (), partition.deadline).get(keys.USER)
    if user is None or "forgetting" in user:
        return 0
    staged: list[list[str]] = []
    done = 0
    try:
        for block in _blocks(partition):
            done += len(block)
            staged.append(_stage(partition, block, anew))
    except BaseException:
        with suppress(SteeltrapError):
            for some in staged:
                partition.tables.delete_all(partition.key, some, partition.deadline)
        raise
    users.move_embedder(partition)
    for some in staged:
        partition.each(lambda key: _take(partition, key), some)
    return done


def _blocks(partition: Partition) -> Any:
    block: list[Item] = []
    for item in partition.under(keys.MEMORIES):
        if "search" in item or "search_at" in item:
            block.append(item)
        if len(block) == _BLOCK:
            yield block
            block = []
    if block:
        yield block


def _stage(partition: Partition, block: Sequence[Item], anew: Anew) -> list[str]:
    """Write new search attributes beside the old ones; the keys of where they lie."""
    images = partition.contents(block, "image")
    found = [(item, image) for item, image in zip(block, images, strict=True) if image]
    entries = anew([from_image(image) for _, image in found])
    written: list[Item] = []
    staged: list[str] = []
    for (item, _), entry in zip(found, entries, strict=True):
        id = keys.id_of(text(item, "k"))
        changed, pieces = items.searchable(item, id, entry.tokens or (), entry.embeddings or ())
        key = keys.part(id, _STAGED, 0)
        written += [{"u": partition.key, "k": key, "of": item["w"], **changed}, *pieces]
        staged.append(key)
    partition.tables.put_all(written, partition.deadline)
    return staged


_STAGED: Final = "new"


def _take(partition: Partition, key: str) -> None:
    """Give a memory what was staged for it, unless it was written meanwhile, by the new embedder then."""
    id = key.split("#")[1]
    found = partition.tables.get(partition.key, [key, keys.memory(id)], (), partition.deadline)
    staged, there = found.get(key), found.get(keys.memory(id))
    if staged is not None and there is not None and there["w"] == staged["of"]:
        changed = {name: value for name, value in staged.items() if name not in ("u", "k", "of")}
        changed["w"] = partition.stamp(number(there, "w"))
        removed = [name for name in ("search", "search_at") if name not in changed]
        action = Action(keys.memory(id), "#w = :seen", {":seen": there["w"]}, set=changed, remove=removed, own=True)
        with suppress(Cancelled):
            run(partition.tables, partition.key, [action], partition.deadline)
            partition.tables.delete_all(partition.key, items.pieces_of(there, "search"), partition.deadline)
    partition.tables.delete_all(partition.key, [key], partition.deadline)
