"""Giving every memory of a user new vectors and tokens.

    stage: new ones beside the old ones, block by block   a failure keeps them; the next run makes only the others
      └─> the user's item names the new embedder          the old one is refused from now on
            └─> stage what it wrote until then
                  └─> memory by memory takes what was staged    cut short, the next run takes the rest

From the second step to the last, searches go by words.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...model import Memory
from ...ports import Entry
from ...record import from_image
from ...version import VERSION
from . import items, keys, users
from .client import Action, Cancelled, run
from .items import Item, number, text
from .partition import Partition, require_here

_BLOCK: Final = 256

_STAGED: Final = "new"
_SKEW: Final = 10_000_000
"""Microseconds by which the clock of a writer may be ahead."""

MakeEntries = Callable[[Sequence[Memory]], list[Entry]]


def reembed(partition: Partition, make_entries: MakeEntries) -> int:
    """New vectors and tokens for all that can be searched; how many memories that was."""
    user = partition.user_item()
    require_here(user)
    if user is None or "forgetting" in user:
        return 0
    maker = f"{partition.embedder} {partition.dimension} {VERSION}"
    if "taking" in user and (user["embedder"], user["dimension"]) == (partition.embedder, partition.dimension):
        since = number(user, "taking")
    else:
        _stage_all(partition, make_entries, maker, None)
        since = users.move_embedder(partition)
    count, staged = _stage_all(partition, make_entries, maker, since + _SKEW)
    partition.each(lambda key: _take(partition, key), staged)
    users.end_move(partition)
    return count


def _stage_all(partition: Partition, make_entries: MakeEntries, maker: str, until: int | None) -> tuple[int, list[str]]:
    """How many memories can be searched, and the keys of what is staged for them.

    What was written after `until` is left as it is.
    """
    count, staged = 0, []
    for block in _blocks(partition):
        count += len(block)
        names = ("k", "of", "maker", "search_at")
        staged_items = partition.tables.get(partition.key, map(_staged, block), names, partition.deadline)
        due = []
        for item in block:
            staged_item = staged_items.get(_staged(item))
            if staged_item is not None and (staged_item["of"], staged_item["maker"]) == (item["w"], maker):
                staged.append(_staged(item))
            elif until is None or number(item, "w") <= until:
                due.append(item)
        if due:
            staged += _stage(partition, due, make_entries, maker)
        replaced = [(staged_items[_staged(item)], item) for item in due if _staged(item) in staged_items]
        pieces = [piece for staged_item, item in replaced for piece in _unused_pieces(staged_item, item)]
        partition.tables.delete_all(partition.key, pieces, partition.deadline)
    return count, staged


def _unused_pieces(staged: Item, item: Item) -> list[str]:
    """The pieces of what is staged, unless the memory took them before a run was cut short."""
    return [] if staged.get("search_at") == item.get("search_at") else items.pieces_of(staged, "search")


def _staged(item: Item) -> str:
    return keys.part(keys.id_of(text(item, "k")), _STAGED, 0)


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


def _stage(partition: Partition, block: Sequence[Item], make_entries: MakeEntries, maker: str) -> list[str]:
    """Write new search attributes beside the old ones; the keys of where they lie."""
    images = partition.contents(block, "image")
    pairs = [(item, image) for item, image in zip(block, images, strict=True) if image]
    entries = make_entries([from_image(image) for _, image in pairs])
    new_items: list[Item] = []
    staged: list[str] = []
    for (item, _), entry in zip(pairs, entries, strict=True):
        id = keys.id_of(text(item, "k"))
        attributes, pieces = items.searchable(item, id, entry.tokens or (), entry.embeddings or ())
        key = _staged(item)
        new_items += [{"u": partition.key, "k": key, "of": item["w"], "maker": maker, **attributes}, *pieces]
        staged.append(key)
    partition.tables.put_all(new_items, partition.deadline)
    _unstage_forgotten(partition, [text(item, "k") for item, _ in pairs], new_items)
    return staged


def _unstage_forgotten(partition: Partition, memory_keys: Sequence[str], staged_items: Sequence[Item]) -> None:
    """Remove what was staged for memories that were purged meanwhile: the purge may have looked before it was there."""
    stored_items = partition.tables.get(partition.key, memory_keys, ("k", "gone"), partition.deadline)
    forgotten_ids = {keys.id_of(key) for key in memory_keys if "gone" in stored_items.get(key, {"gone": 1})}
    staged_keys = [text(item, "k") for item in staged_items]
    obsolete_keys = [key for key in staged_keys if keys.owner(key) in forgotten_ids]
    partition.tables.delete_all(partition.key, obsolete_keys, partition.deadline)


def _take(partition: Partition, key: str) -> None:
    """Give a memory what was staged for it, unless it was written meanwhile, by the new embedder then."""
    id = keys.owner(key)
    stored_items = partition.tables.get(partition.key, [key, keys.memory(id)], (), partition.deadline)
    staged, item = stored_items.get(key), stored_items.get(keys.memory(id), {})
    obsolete_keys = [key]
    if staged is not None and item.get("w") == staged["of"]:
        attributes = {name: value for name, value in staged.items() if name not in ("u", "k", "of", "maker")}
        attributes["w"] = partition.stamp(number(item, "w"))
        obsolete_names = [name for name in ("search", "search_at") if name not in attributes]
        action = Action.on(item, set=attributes, remove=obsolete_names, own=True)
        try:
            run(partition.tables, partition.key, [action], partition.deadline)
            obsolete_keys += items.pieces_of(item, "search")
        except Cancelled as refused:
            reason = refused.reasons[0]  # with the item as it is: another run may have given it these pieces
            obsolete_keys += _unused_pieces(staged, (reason and reason[1]) or {})
    elif staged is not None:
        obsolete_keys += _unused_pieces(staged, item)
    partition.tables.delete_all(partition.key, obsolete_keys, partition.deadline)
