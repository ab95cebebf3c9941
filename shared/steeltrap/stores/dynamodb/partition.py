"""One user's partition: reading it, with the user's own item checked along the way."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from ...errors import Internal, moved_away, other_embedder
from ...model import Memory, UserRef
from ...ports import Deadline
from ...record import from_image
from . import items, keys
from .client import Tables
from .items import Item, Value, number, text

T = TypeVar("T")
S = TypeVar("S")

USER: Final = ("k", "embedder", "dimension", "taking", "forgetting", "purges", "speakers", "analysis", "moved_to")
"""The attributes that are read of the user's own item."""


def require_here(user: Item | None) -> None:
    """Raises Unavailable for a user whose memories were moved to another place, as the user's own item says."""
    if user is not None and "moved_to" in user:
        raise moved_away(text(user, "moved_to"))


def incomplete(id: str) -> Internal:
    """The error for a memory of which the store lacks a piece."""
    return Internal("A part of a memory is missing in the store; restore it from a backup.", id=id)


WRITE_SECONDS: Final = 60.0
"""Whoever has read the user's own item writes within this time, or reads it again. No tool's call takes longer."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One user's partition of the tables, on which all of this store works.

    `now` tells the time in microseconds, `stamp` gives index versions, each higher than all given before and than
    a least one. All that is done with it keeps its deadline.
    """

    tables: Tables
    user: UserRef
    key: str
    embedder: str
    dimension: int
    now: Callable[[], int]
    stamp: Callable[[int], int]
    pool: Executor
    deadline: Deadline

    def within(self, seconds: float) -> "Partition":
        """The same partition, with a deadline at most `seconds` from now."""
        return replace(self, deadline=self.deadline.within(seconds))

    def get(self, sort_keys: Iterable[str], names: Sequence[str] = ()) -> dict[str, Item]:
        """Items by sort key, the user's own among them. Raises Conflict for memories of another embedder."""
        sort_keys = [keys.USER, *sort_keys]
        attributes = tuple(dict.fromkeys((*names, *USER))) if names else ()
        items_by_key = self.tables.get(self.key, sort_keys, attributes, self.deadline)
        return items_by_key if self.admit(items_by_key.get(keys.USER)) else {}

    def user_item(self, names: Sequence[str] = ()) -> Item | None:
        """The user's own item, whatever it says: whole, or these attributes of it."""
        return self.tables.get(self.key, [keys.USER], names, self.deadline).get(keys.USER)

    def admit(self, user: Item | None) -> bool:
        """Whether the user's memories may be read: not while they are being forgotten.

        Raises Conflict for memories of another embedder, Unavailable for those that were moved away.
        """
        require_here(user)
        if user is None:
            return True
        embedder, dimension = text(user, "embedder"), number(user, "dimension")
        if (embedder, dimension) != (self.embedder, self.dimension):
            raise other_embedder(embedder, dimension, self.embedder, self.dimension)
        return "forgetting" not in user

    def items(self, condition: str, values: Mapping[str, Value], **options: Any) -> Iterator[Item]:
        return self.tables.items(self.key, condition, values, self.deadline, **options)

    def under(self, prefix: str, **options: Any) -> Iterator[Item]:
        """The items whose sort key begins with something."""
        return self.items("begins_with(k, :prefix)", {":prefix": prefix}, **options)

    def contents(self, rows: Sequence[Item], name: str) -> list[bytes | None]:
        """An attribute of each item, its pieces fetched where it was split."""
        piece_keys = [piece for item in rows for piece in items.pieces_of(item, name)]
        pieces = self.tables.get(self.key, piece_keys, (), self.deadline) if piece_keys else {}
        return [items.content(item, name, pieces) for item in rows]

    def memories(self, ids: Iterable[str], *, again: bool = True) -> dict[str, Memory]:
        """The memories of these ids, in their one form; deleted ones too, forgotten ones not."""
        items_by_key = self.get(map(keys.memory, ids), items.IMAGE)
        live_items = [item for key, item in items_by_key.items() if key != keys.USER and "gone" not in item]
        images = self.contents(live_items, "image")
        # A memory that lost a piece between the two reads was replaced or forgotten by then.
        incomplete_ids = [
            keys.id_of(text(item, "k")) for item, image in zip(live_items, images, strict=True) if image is None
        ]
        memories = {
            keys.id_of(text(item, "k")): from_image(image)
            for item, image in zip(live_items, images, strict=True)
            if image is not None
        }
        if incomplete_ids and not again:
            raise incomplete(incomplete_ids[0])
        return memories | self.memories(incomplete_ids, again=False) if incomplete_ids else memories

    def each(self, work: Callable[[S], T], of: Iterable[S]) -> list[T]:
        """The results of some work that waits for DynamoDB, done side by side."""
        waiting = list(of)
        return [work(argument) for argument in waiting] if len(waiting) < 2 else list(self.pool.map(work, waiting))
