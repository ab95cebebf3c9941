"""Between a memory and its item, and the pieces of what is too large for one.

An item has the whole record as JSON (`image`), what it is found by (`search`: the analysed text, then one vector a
chunk), and beside them the attributes that local indexes and filters need. `w` is its index version: microseconds,
only growing. What would make reads slow or the item too large is stored in separate pieces (`image_at`, `search_at`),
which are written before the item that names them and never changed.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from secrets import token_hex
from typing import Any, Final

from ....model import Embedding, Memory, Revision, from_micros, to_micros
from ....ports import Entry
from ....record import from_image, to_image
from ....text.matching import compared, fold_tag
from ....text.words import text_digest
from . import keys
from .filters import ATTRIBUTES, facts
from .tables import LISTED
from .typed import Item, Value, number, text

IMAGE_INLINE: Final = 48 * 1024
SEARCH_INLINE: Final = 8 * 1024
"""256 dimensions and seven chunks: read along with every hit, and with every recent write."""
_PIECE: Final = 320 * 1024
_GRACE_SECONDS: Final = 30 * 86_400
"""A sweep removes what has expired with all that hangs on it; DynamoDB removes what no sweep met for so long."""

IMAGE: Final = ("k", "w", "version", "made", "position", "gone", "image", "image_at")
"""What a memory is read from."""
SEARCH: Final = ("k", "w", "gone", "search", "search_at", "chunks")
"""What its vectors are read from."""

_SEARCHED: Final = ("search", "search_at", "search_bytes", "chunks")
_WRITTEN: Final = (
    *("w", "version", "image", "image_at", "listed", "speaker", "fold", "ttl"),
    *(name for name in LISTED if name not in _SEARCHED),
)


@dataclass(frozen=True, slots=True)
class Written:
    """A memory's item, and the pieces to be written before it."""

    item: Item
    pieces: list[Item]
    is_turn: bool = False

    @property
    def size(self) -> int:
        return size(self.item)

    def removed(self) -> list[str]:
        """The attributes that an item in its place must lose."""
        names = _WRITTEN if "chunks" not in self.item else (*_WRITTEN, *_SEARCHED)
        # A turn waits for an episode, whatever is written of it; a memory only for what its image says.
        names = names if self.is_turn else (*names, "open")
        return [name for name in names if name not in self.item]


@dataclass(frozen=True, slots=True)
class Room:
    """How much is stored in an item itself, in bytes; the rest goes into pieces."""

    image: int = IMAGE_INLINE
    search: int = SEARCH_INLINE


def written(user: str, entry: Entry, *, w: int, position: int | None, room: Room) -> Written:
    """The item of an entry. Without embeddings it has no search attributes: those stored stay."""
    memory = entry.memory
    item: Item = {"u": user, "k": keys.memory(memory.id), "w": w, "version": memory.version}
    item |= _filtered(memory) | _indexed(entry, position)
    pieces = _placed(item, "image", to_image(memory).encode(), memory.id, room.image)
    if entry.embeddings is not None and entry.tokens is not None:
        item["chunks"] = len(entry.embeddings)
        if entry.embeddings or entry.tokens:
            pieces += _placed(item, "search", packed(entry.tokens, entry.embeddings), memory.id, room.search)
    return Written(item, pieces, is_turn=memory.source == "conversation")


def revision(user: str, kept: Revision, room: Room) -> Written:
    """The item of an earlier image."""
    memory = kept.memory
    item: Item = {"u": user, "k": keys.revision(memory.id, memory.version), "replaced_at": to_micros(kept.replaced_at)}
    if kept.replaced_by is not None:
        item["replaced_by"] = kept.replaced_by
    return Written(item, _placed(item, "image", to_image(memory).encode(), memory.id, room.image))


def searchable(item: Item, id: str, tokens: Sequence[str], embeddings: Sequence[Embedding]) -> tuple[Item, list[Item]]:
    """The search attributes for other vectors, and their pieces."""
    changed: Item = {"u": item["u"], "chunks": len(embeddings)}
    pieces = _placed(changed, "search", packed(tokens, embeddings), id, SEARCH_INLINE)
    del changed["u"]
    return changed, pieces


def with_image(item: Item, memory: Memory) -> tuple[Item, list[Item]]:
    """The attributes for another image of the same memory, and their pieces."""
    changed: Item = {"u": item["u"]}
    pieces = _placed(changed, "image", to_image(memory).encode(), memory.id, IMAGE_INLINE)
    del changed["u"]
    return changed, pieces


def brought_back(memory: Memory) -> tuple[Item, list[str]]:
    """What an item gets, and what it loses, when its memory is superseded no more."""
    found = facts(memory)
    changed: Item = {"facts": frozenset(found)} if found else {}
    if memory.deleted_at is None:
        changed["fold"] = text_digest(memory.content).hex()
    return changed, [] if found else ["facts"]


def tombstone(user: str, id: str, *, w: int, made: int, ttl: int) -> Item:
    """What stays of a forgotten memory until no replay can be older: its id and when."""
    return {"u": user, "k": keys.memory(id), "w": w, "made": made, "gone": 1, "ttl": ttl}


def pieces_of(item: Item, name: str) -> list[str]:
    """The keys of the pieces that hold an attribute."""
    place = item.get(f"{name}_at")
    if place is None:
        return []
    stamp, _, count = str(place).partition("#")
    id = text(item, "k").split("#")[1]
    return [keys.part(id, stamp, number) for number in range(int(count))]


def content(item: Item, name: str, pieces: dict[str, Item]) -> bytes | None:
    """An attribute's bytes, from the item itself or its pieces; None where it has none or a piece is gone."""
    if name in item:
        return _data(item[name])
    parts = pieces_of(item, name)
    if not parts or any(part not in pieces for part in parts):
        return None
    return b"".join(_data(pieces[part]["data"]) for part in parts)


def _data(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def to_revision(item: Item, image: bytes) -> Revision:
    """The earlier image of an item."""
    by = item.get("replaced_by")
    return Revision(
        memory=from_image(image),
        replaced_at=from_micros(number(item, "replaced_at")),
        replaced_by=None if by is None else str(by),
    )


def packed(tokens: Sequence[str], embeddings: Iterable[Embedding]) -> bytes:
    """What a memory is found by: the length of the text, the tokens between spaces, the vectors."""
    text = " ".join(tokens).encode()
    return struct.pack("<I", len(text)) + text + b"".join(embeddings)


def unpacked(search: bytes, chunks: int) -> tuple[tuple[str, ...], tuple[Embedding, ...]]:
    """The inverse of `packed`."""
    [length] = struct.unpack_from("<I", search)
    tokens = tuple(search[4 : 4 + length].decode().split(" ")) if length else ()
    vectors = search[4 + length :]
    size = len(vectors) // chunks if chunks else 0
    return tokens, tuple(vectors[at : at + size] for at in range(0, len(vectors), size)) if size else ()


def size(item: Item) -> int:
    """An item's bytes, about."""
    return sum(len(name) + _size(value) for name, value in item.items())


def _size(value: Any) -> int:
    match value:
        case str():
            return len(value.encode())
        case bytes():
            return len(value)
        case frozenset():
            return sum(map(_size, value))
    return 16


def _placed(item: Item, name: str, data: bytes, id: str, most: int) -> list[Item]:
    item[f"{name}_bytes"] = len(data)
    if len(data) <= most:
        item[name] = data.decode() if name == "image" else data
        return []
    stamp = token_hex(8)
    starts = range(0, len(data), _PIECE)
    item[f"{name}_at"] = f"{stamp}#{len(starts)}"
    return [
        {"u": item["u"], "k": keys.part(id, stamp, number), "data": data[start : start + _PIECE]}
        for number, start in enumerate(starts)
    ]


def _filtered(memory: Memory) -> Item:
    item: Item = {}
    for name in (*ATTRIBUTES, "updated_at", "expires_at", "deleted_at"):
        if (value := compared(memory, name)) is not None:
            item[name] = to_micros(value) if isinstance(value, date) else value
    if memory.expires_at is not None:
        item["ttl"] = to_micros(memory.expires_at) // 1_000_000 + _GRACE_SECONDS
    if memory.tags:
        item["tags"] = frozenset(map(fold_tag, memory.tags))
    if found := facts(memory):
        item["facts"] = frozenset(found)
    return item


def _indexed(entry: Entry, position: int | None) -> Item:
    """The keys of the local indexes: what is deleted is only listed among the deleted."""
    memory = entry.memory
    if memory.deleted_at is not None:
        return {"listed": keys.deleted(to_micros(memory.deleted_at), memory.id)}
    item: Item = {"listed": listed(memory, position)}
    if not memory.is_superseded():  # else its text may be saved again
        item["fold"] = entry.fold.hex()
    if entry.speaker:
        item["speaker"] = keys.speaker(entry.speaker)
    if memory.lookaround_pending and memory.source != "conversation":
        item["open"] = keys.pending(memory.id)
    return item


def listed(memory: Memory, position: int | None) -> str:
    """A memory's place in the index by creation while it isn't deleted."""
    created = to_micros(memory.created_at)
    if memory.source == "conversation":
        return keys.listed(keys.TURNS, created, memory.id, position or 0)
    return keys.listed(keys.MEMORIES, created, memory.id)
