"""What a search needs of a document beside its scores, packed into one small binary field.

One field costs a fetch one read. The numbers come first, then the distinct tokens as 8-byte digests, then
how often each occurs, then two names.
"""

import struct
from array import array
from binascii import a2b_base64, b2a_base64
from collections import Counter
from collections.abc import Sequence
from math import isnan, nan
from typing import Final, NamedTuple

from ...model import NO_TIME, to_micros
from ...ports import Document
from ...text.words import traits
from ..word_digests import word_digest

_HEAD: Final = struct.Struct("<qqqiIddBBHHHH")
_MOST: Final = 65_535


class Packed(NamedTuple):
    """A field that was read. `frequencies` are of the tokens that were asked for."""

    index_version: int
    created: int
    occurred: int | None
    position: int
    length: int
    surprise: float | None
    importance: float | None
    pinned: bool
    traits: int
    chunks: int
    conversation: str | None
    speaker: str | None
    frequencies: tuple[int, ...]


def write(document: Document) -> str:
    """A document's field, in base64."""
    memory = document.memory
    counts = Counter(document.tokens)
    conversation = _name(memory.conversation_id)
    speaker = _name(document.speaker)
    head = _HEAD.pack(
        document.index_version,
        to_micros(memory.created_at),
        NO_TIME if memory.occurred_at is None else to_micros(memory.occurred_at),
        document.position,
        len(document.tokens),
        nan if memory.surprise is None else memory.surprise,
        nan if memory.importance is None else memory.importance.score,
        memory.pinned,
        int(traits(memory)),
        max(1, len(document.embeddings)),
        len(counts),
        len(conversation),
        len(speaker),
    )
    often = array("H", [min(count, _MOST) for count in counts.values()])
    whole = b"".join((head, *map(word_digest, counts), _little(often), conversation, speaker))
    return b2a_base64(whole, newline=False).decode()


def read(text: str, digests: Sequence[bytes]) -> Packed:
    """A field from base64, padded or not, with the frequencies of the tokens of these digests."""
    blob = a2b_base64(text + "==")
    head = _HEAD.unpack_from(blob)
    version, created, occurred, position, length, surprise, importance, pinned, kind, *sizes = head
    chunks, terms, talk_size, name_size = sizes
    first = _HEAD.size
    counts = first + 8 * terms
    talk = counts + 2 * terms
    name = talk + talk_size
    return Packed(
        version,
        created,
        None if occurred == NO_TIME else occurred,
        position,
        length,
        None if isnan(surprise) else surprise,
        None if isnan(importance) else importance,
        bool(pinned),
        kind,
        chunks,
        blob[talk + 1 : name].decode() if talk_size else None,
        blob[name + 1 : name + name_size].decode() if name_size else None,
        tuple([_frequency(blob, digest, first, counts) for digest in digests]),
    )


def _frequency(blob: bytes, digest: bytes, first: int, counts: int) -> int:
    at = blob.find(digest, first, counts)
    while at >= 0 and (at - first) % 8:
        at = blob.find(digest, at + 1, counts)
    if at < 0:
        return 0
    there = counts + (at - first) // 4
    return int.from_bytes(blob[there : there + 2], "little")


def _name(name: str | None) -> bytes:
    # A mark in front tells an empty name from none.
    return b"" if name is None else b"=" + name.encode()


def _little(numbers: "array[int]") -> bytes:
    return struct.pack(f"<{len(numbers)}H", *numbers)
