"""Between a memory and its item: values and attributes, what a filter asks of an item, and pieces of what is too large.

An item has the whole record as JSON (`image`), what it is found by (`search`: the analysed text, then one vector a
chunk), and beside them the attributes that local indexes and filters need. `w` is its index version: microseconds,
only growing. What would make reads slow or the item too large is stored in separate pieces (`image_at`, `search_at`),
which are written before the item that names them and never changed.
"""

import json
import struct
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from secrets import token_hex
from typing import Any, Final

from ...model import FLAGS, PROJECTS, TEXTS, TIMES, Embedding, Filter, Memory, Revision, from_micros, to_micros
from ...ports import Entry
from ...record import from_image, to_image
from ...text.dates import is_day
from ...text.matching import compared, fold_category, fold_tag
from ...text.words import text_digest
from . import keys
from .keys import LISTED, MEMORIES, newest_first

Value = str | bytes | int | frozenset[str]
Item = dict[str, Value]
"""An item as this adapter handles it: texts, bytes, whole numbers and sets of texts."""

Attributes = dict[str, Any]


def to_attributes(item: Mapping[str, Value]) -> Attributes:
    """An item in the form of DynamoDB's API. Empty sets are left out, because DynamoDB has none."""
    return {name: _typed(value) for name, value in item.items() if value != frozenset()}


def from_attributes(item: Mapping[str, Any]) -> Item:
    """The inverse of `to_attributes`; bytes may come as base64, as in the events of a function."""
    return {name: _plain(*next(iter(typed.items()))) for name, typed in item.items()}


def _typed(value: Value) -> Attributes:
    match value:
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case _:
            return {"SS": sorted(value)}


def _plain(kind: str, value: Any) -> Value:
    match kind:
        case "S":
            return str(value)
        case "N":
            return int(value)
        case "B":
            return b64decode(value) if isinstance(value, str) else bytes(value)
        case "SS":
            return frozenset(value)
    raise TypeError(f"no item of ours has a value of kind {kind}")


def number(item: Item, name: str) -> int:
    """A whole number of an item; 0 where it has none."""
    return int(item.get(name, 0))  # type: ignore[arg-type]


def text(item: Item, name: str) -> str:
    """A text of an item; "" where it has none."""
    return str(item.get(name, ""))


EPISODE: Final = "episode"
"""Stands among the facts of an episode, which are digests, so that the index by creation can tell it."""
SUPERSEDED: Final = "superseded"
"""Stands there of what another memory superseded."""
DAY: Final = "day"
"""Stands there of what happened on a day without a time."""
_TEXTS: Final = tuple(name for name in TEXTS if name in LISTED)
_IN_FACTS: Final = tuple(name for name in TEXTS if name not in LISTED)
ATTRIBUTES: Final = (*_TEXTS, *TIMES, "scope")
"""The filterable fields that are attributes of an item as they are."""
_END = "~"
"""It sorts after every character of a key."""


class Conditions:
    """The conditions of a query: the range of keys, a filter expression, its names and values."""

    def __init__(self, filter: Filter, now: int) -> None:
        self.values: dict[str, Value] = {":now": now}
        self.names: dict[str, str] = {"#expires_at": "expires_at"}
        self._conditions = ["(attribute_not_exists(#expires_at) OR #expires_at > :now)"]
        self._plain(filter)
        self._scope(filter)
        self._sets(filter)
        self.range = _range(filter)
        self.admits_none = any(fact(key, value) is None for key, value in filter.metadata.items())

    @property
    def expression(self) -> str:
        return " AND ".join(self._conditions)

    def _plain(self, filter: Filter) -> None:
        for name in _TEXTS:
            if (value := compared(filter, name)) is not None:
                self._say(name, "=", value)
        for name in TIMES:
            if name == "created_at":
                continue  # the range of keys
            bounds = zip((">=", "<"), filter.between(name), filter.between(name, days=True), strict=True)
            for place, (comparison, time, day) in zip((":after", ":before"), bounds, strict=True):
                if time is not None and day is not None:
                    self._time(name, comparison, to_micros(time), to_micros(day), f"{place}_{name}")

    def _time(self, name: str, comparison: str, time: int, day: int, place: str) -> None:
        """A condition on a moment, and on a day without a time."""
        self._say(name, comparison, time, place)
        if day == time:
            return
        self.names["#facts"] = "facts"
        self.values |= {f":{DAY}": DAY, f"{place}_day": day}
        is_day = f"contains(#facts, :{DAY})"
        is_time = f"(attribute_not_exists(#facts) OR NOT {is_day}) AND {self._conditions.pop()}"
        self._conditions.append(f"(({is_time}) OR ({is_day} AND #{name} {comparison} {place}_day))")

    def _scope(self, filter: Filter) -> None:
        if filter.scope is not None and not filter.include_child_scopes:
            self._say("scope", "=", filter.scope)
        elif filter.scope is not None:
            self._conditions.append(self._within("scope", filter.scope))
        if filter.project is not None:
            others, own = self._within("projects", PROJECTS), self._within("project", filter.project)
            self._conditions.append(f"(NOT {others} OR {own})")

    def _within(self, name: str, scope: str) -> str:
        self.names["#scope"] = "scope"
        self.values |= {f":{name}": scope, f":{name}_below": f"{scope}/"}
        return f"(#scope = :{name} OR begins_with(#scope, :{name}_below))"

    def _sets(self, filter: Filter) -> None:
        if filter.categories:
            self.names["#category"] = "category"
            places = {f":category{i}": fold_category(category) for i, category in enumerate(filter.categories)}
            self.values |= places
            self._conditions.append("(" + " OR ".join(f"#category = {place}" for place in places) + ")")
        members: list[tuple[str, str]] = [("tags", fold_tag(tag)) for tag in filter.tags]
        members += [("facts", pair_fact) for k, v in filter.metadata.items() if (pair_fact := fact(k, v)) is not None]
        members += [("facts", text) for text in _texts(filter)]
        members += [("facts", name) for name in FLAGS if getattr(filter, name)]
        for i, (name, member) in enumerate(members):
            self.names[f"#{name}"] = name
            self.values[f":member{i}"] = member
            self._conditions.append(f"contains(#{name}, :member{i})")
        for name in FLAGS:
            if getattr(filter, name) is False:
                self._without(name)
        if not filter.include_superseded:
            self._without(SUPERSEDED)
        if not filter.episodes:
            # Turns are never listed, and neither is then any episode.
            self._without(EPISODE)

    def _without(self, fact: str) -> None:
        self.names["#facts"] = "facts"
        self.values[f":{fact}"] = fact
        self._conditions.append(f"(attribute_not_exists(#facts) OR NOT contains(#facts, :{fact}))")

    def _say(self, name: str, comparison: str, value: Value, place: str | None = None) -> None:
        self.names[f"#{name}"] = name
        self.values[place or f":{name}"] = value
        self._conditions.append(f"#{name} {comparison} {place or f':{name}'}")


def _range(filter: Filter) -> tuple[str, str]:
    first, last = MEMORIES, MEMORIES + _END
    if filter.created_before is not None:
        first = MEMORIES + newest_first(to_micros(filter.created_before) - 1)
    if filter.created_after is not None:
        last = MEMORIES + newest_first(to_micros(filter.created_after)) + _END
    return first, last


def facts(memory: Memory) -> set[str]:
    """Facts for which the index by creation has no attribute of its own: plain metadata, texts, flags, whether it is an
    episode, whether it was superseded, and whether it happened on a day without a time."""
    pairs = {pair for pair in (fact(key, value) for key, value in memory.metadata.items()) if pair}
    on_day = memory.occurred_at is not None and is_day(memory.occurred_at)
    kinds = ((EPISODE, memory.is_episode), (SUPERSEDED, not memory.is_current()), (DAY, on_day))
    flags = {name for name in FLAGS if getattr(memory, name)}
    return pairs | _texts(memory) | flags | {kind for kind, holds in kinds if holds}


def _texts(source: Memory | Filter) -> set[str]:
    return {_digest({name: text}) for name in _IN_FACTS if (text := getattr(source, name)) is not None}


def of_import(import_id: str) -> str:
    """The fact of the memories and turns that an import brought."""
    return _digest({"import_id": import_id})


def fact(key: str, value: Any) -> str | None:
    """The text that stands for a plain value of metadata under a key; None for a list or an object, which nothing
    equals."""
    if isinstance(value, list | dict):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _digest([key, value])


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value, ensure_ascii=False).encode(), digest_size=8).hexdigest()


IMAGE_INLINE: Final = 48 * 1024
SEARCH_INLINE: Final = 8 * 1024
"""256 dimensions and seven chunks: read along with every hit, and with every recent write."""
PIECE: Final = 320 * 1024
_GRACE_SECONDS: Final = 30 * 86_400
"""Sweeps purge expired memories. If none ran for 30 days, DynamoDB's TTL removes the item."""

IMAGE: Final = ("k", "w", "version", "made", "position", "gone", "image", "image_at")
"""The attributes that a memory is read from."""
SEARCH: Final = ("k", "w", "gone", "search", "search_at", "chunks")
"""The attributes that its vectors are read from."""

_SEARCHED: Final = ("search", "search_at", "search_bytes", "chunks")
_WRITTEN: Final = (
    *("w", "version", "image", "image_at", "listed", "speaker", "fold", "ttl"),
    *(name for name in LISTED if name not in _SEARCHED),
)


@dataclass(frozen=True, slots=True)
class ItemWithPieces:
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


def memory_item(user: str, entry: Entry, *, w: int, position: int | None, room: Room) -> ItemWithPieces:
    """The item of an entry. Without embeddings it has no search attributes: those stored stay."""
    memory = entry.memory
    item: Item = {"u": user, "k": keys.memory(memory.id), "w": w, "version": memory.version}
    item |= _filtered(memory) | _indexed(entry, position)
    pieces = _placed(item, "image", to_image(memory).encode(), memory.id, room.image)
    if entry.embeddings is not None and entry.tokens is not None:
        item["chunks"] = len(entry.embeddings)
        if entry.embeddings or entry.tokens:
            pieces += _placed(item, "search", packed(entry.tokens, entry.embeddings), memory.id, room.search)
    return ItemWithPieces(item, pieces, is_turn=memory.source == "conversation")


def revision(user: str, earlier: Revision, room: Room) -> ItemWithPieces:
    memory = earlier.memory
    item: Item = {
        "u": user,
        "k": keys.revision(memory.id, memory.version),
        "replaced_at": to_micros(earlier.replaced_at),
    }
    if earlier.replaced_by is not None:
        item["replaced_by"] = earlier.replaced_by
    return ItemWithPieces(item, _placed(item, "image", to_image(memory).encode(), memory.id, room.image))


def searchable(item: Item, id: str, tokens: Sequence[str], embeddings: Sequence[Embedding]) -> tuple[Item, list[Item]]:
    """The search attributes for other vectors, and their pieces."""
    attributes: Item = {"u": item["u"], "chunks": len(embeddings)}
    pieces = _placed(attributes, "search", packed(tokens, embeddings), id, SEARCH_INLINE)
    del attributes["u"]
    return attributes, pieces


def with_image(item: Item, memory: Memory) -> tuple[Item, list[Item]]:
    """The attributes for another image of the same memory, and their pieces."""
    attributes: Item = {"u": item["u"]}
    pieces = _placed(attributes, "image", to_image(memory).encode(), memory.id, IMAGE_INLINE)
    del attributes["u"]
    return attributes, pieces


def brought_back(memory: Memory) -> tuple[Item, list[str]]:
    """The attributes that an item gets, and those that it loses, when its memory is superseded no more."""
    fact_names = facts(memory)
    attributes: Item = {"facts": frozenset(fact_names)} if fact_names else {}
    if memory.deleted_at is None:
        attributes["fold"] = text_digest(memory.content).hex()
    return attributes, [] if fact_names else ["facts"]


def tombstone(user: str, id: str, *, w: int, created: int, ttl: int) -> Item:
    """The mark of a forgotten memory that stays until no replay can be older: its id and when."""
    return {"u": user, "k": keys.memory(id), "w": w, "made": created, "gone": 1, "ttl": ttl}


def pieces_of(item: Item, name: str) -> list[str]:
    """The keys of the pieces that hold an attribute."""
    place = item.get(f"{name}_at")
    if place is None:
        return []
    stamp, _, count = str(place).partition("#")
    id = keys.owner(text(item, "k"))
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
    by = item.get("replaced_by")
    return Revision(
        memory=from_image(image),
        replaced_at=from_micros(number(item, "replaced_at")),
        replaced_by=None if by is None else str(by),
    )


def packed(tokens: Sequence[str], embeddings: Iterable[Embedding]) -> bytes:
    """The search data of a memory: the length of the text, the tokens between spaces, the vectors."""
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


def _placed(item: Item, name: str, data: bytes, id: str, inline_bytes: int) -> list[Item]:
    item[f"{name}_bytes"] = len(data)
    if len(data) <= inline_bytes:
        item[name] = data.decode() if name == "image" else data
        return []
    stamp = token_hex(8)
    starts = range(0, len(data), PIECE)
    item[f"{name}_at"] = f"{stamp}#{len(starts)}"
    return [
        {"u": item["u"], "k": keys.part(id, stamp, number), "data": data[start : start + PIECE]}
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
    if memory_facts := facts(memory):
        item["facts"] = frozenset(memory_facts)
    return item


def _indexed(entry: Entry, position: int | None) -> Item:
    """The keys of the local indexes: what is deleted is only listed among the deleted."""
    memory = entry.memory
    if memory.deleted_at is not None:
        return {"listed": keys.deleted(to_micros(memory.deleted_at), memory.id)}
    item: Item = {"listed": listed(memory, position)}
    if memory.is_current():  # else its text may be saved again
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
