"""A document or a tombstone as OpenSearch takes it: its fields as the index maps them, the terms that stand for values,
and a small binary field with what a search needs beside scores.

One field costs a fetch one read. The numbers come first, then the distinct tokens as 8-byte digests, then
how often each occurs, then two names.
"""

import json
import struct
from array import array
from binascii import a2b_base64, b2a_base64
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from math import isnan, nan
from typing import Any, Final, NamedTuple

from ...model import FILTERABLE, NO_TIME, Embedding, Filter, FilterKind, JsonObject, to_micros
from ...ports import Document, Tombstone
from ...text.limits import canonical
from ...text.matching import compared, fold_tag
from ...text.words import traits
from ..exact.postings import word_digest

_LONGEST: Final = 200
_OF_USER: Final = 16
_NOT_SCALAR: Final = (list, dict, tuple)


def document_id(user: str, id: str) -> str:
    """A document's `_id`. Two users may hold memories of one id: an export that both imported."""
    return f"{id}.{user[:_OF_USER]}"


def exact(value: str) -> str:
    """A value as a term: itself, or a digest where it is longer than Lucene takes."""
    if len(value) <= _LONGEST:
        return value
    return "\N{PILCROW SIGN}" + blake2b(value.encode(errors="surrogatepass"), digest_size=24).hexdigest()


def token_term(user: str, token: str) -> str:
    """A user's word. Another user's same word is another term, with statistics of its own."""
    return f"{user[:_OF_USER]}{exact(token)}"


def tag_term(tag: str) -> str:
    return exact(fold_tag(tag))


def scopes_above(scope: str) -> list[str]:
    """A scope and those above it: "a" is above "a/b"."""
    return [exact(scope[:at]) for at, letter in enumerate(scope) if letter == "/"] + [exact(scope)]


def metadata_terms(metadata: JsonObject) -> list[str]:
    """A term for each top-level pair whose value is no list or object; 1 and 1.0 are equal, 1 and true are not."""
    return [metadata_term(key, value) for key, value in metadata.items() if not isinstance(value, _NOT_SCALAR)]


def metadata_term(key: str, value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return blake2b(json.dumps([key, value]).encode(), digest_size=16).hexdigest()


def present(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The pairs whose value is there."""
    return ((name, value) for name, value in pairs if value is not None)


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


def pack(document: Document) -> str:
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


def unpack(text: str, digests: Sequence[bytes]) -> Packed:
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
    offset = counts + (at - first) // 4
    return int.from_bytes(blob[offset : offset + 2], "little")


def _name(name: str | None) -> bytes:
    # A mark in front tells an empty name from none.
    return b"" if name is None else b"=" + name.encode()


def _little(numbers: "array[int]") -> bytes:
    return struct.pack(f"<{len(numbers)}H", *numbers)


_TERM: Final = {"type": "keyword", "doc_values": False, "norms": False}
_TYPES: Final[Mapping[FilterKind, Mapping[str, Any]]] = {"time": {"type": "long"}, "flag": {"type": "boolean"}}
MAPPED: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: _TYPES.get(kind, _TERM) for name, kind in FILTERABLE.items()},
    **dict.fromkeys(("user", "within", "links"), _TERM),
    "id": {"type": "keyword", "index": False},
    **{key: {"type": "boolean", "doc_values": False} for key in ("turn", "episode", "directed")},
    **{key: {"type": "long"} for key in ("index_version", "expires_at", "superseded_at")},
    "length": {"type": "integer", "index": False},
    "tokens": {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "similarity": "own"},
    "packed": {"type": "binary", "doc_values": True},
}
"""The fields of a document, without its vectors, as the index maps them."""

_FOREVER: Final = 2**63 - 1
LONG_AGO: Final = 0


def valid(filter: Filter, now: int) -> list[dict[str, Any]]:
    """The clauses for what has not expired at `now` (microseconds), and is current as far as the filter wants it so."""
    unexpired = {"range": {"expires_at": {"gt": now}}}
    if filter.include_superseded:
        return [unexpired]
    as_of = _FOREVER - 1 if filter.as_of is None else to_micros(filter.as_of)
    return [unexpired, {"range": {"superseded_at": {"gt": as_of}}}]


_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_lines(document: Document | Tombstone, index: str, *, again: bool = False) -> bytes:
    """The two lines of a `_bulk` request that write it unless something as new is there, or newer with `again`."""
    address = {
        "_index": index,
        "_id": document_id(document.user, document.id),
        "routing": document.user,
        "version": document.index_version,
        "version_type": "external_gte" if again else "external",
        "require_alias": True,
    }
    fields = _encode(_tombstone(document)) if isinstance(document, Tombstone) else _with_vectors(document)
    return f"{_encode({'index': address})}\n{fields}\n".encode(errors="replace")


def numbers(embedding: Embedding) -> list[float]:
    """A vector's numbers as a query has them, to 1e-8."""
    return [round(x, 8) for x in struct.unpack(f"<{len(embedding) // 4}f", embedding)]


def has_direction(embedding: Embedding) -> bool:
    """Whether a cosine with it means something; OpenSearch refuses a vector of zeros."""
    return any(embedding)


def _with_vectors(document: Document) -> str:
    # Vectors are most of a document, and one format for all their numbers is three times as fast as an encoder.
    vectors = [_vector(embedding) for embedding in document.embeddings if has_direction(embedding)]
    fields = _encode(_fields(document) | {"directed": bool(vectors)})
    return f'{fields[:-1]},"chunks":[{",".join(vectors)}]}}'


def _vector(embedding: Embedding) -> str:
    count = len(embedding) // 4
    return _form(count) % struct.unpack(f"<{count}f", embedding)


@lru_cache(maxsize=8)
def _form(count: int) -> str:
    return '{"embedding":[' + ",".join(["%.8g"] * count) + "]}"


def _tombstone(tombstone: Tombstone) -> dict[str, Any]:
    # It expired long ago: the one rule that hides what has expired hides it too.
    return {
        "user": tombstone.user,
        "id": tombstone.id,
        "index_version": tombstone.index_version,
        "expires_at": LONG_AGO,
    }


def _fields(d: Document) -> dict[str, Any]:
    memory = d.memory
    return {
        **{name: _AS[kind](v) for name, kind in FILTERABLE.items() if (v := compared(memory, name)) is not None},
        "user": d.user,
        "id": memory.id,
        "index_version": d.index_version,
        "turn": memory.source == "conversation",
        "episode": memory.is_episode,
        "within": scopes_above(memory.scope),
        "links": [target for link in memory.links if (target := canonical(link.target_id))],
        "expires_at": _FOREVER if memory.expires_at is None else to_micros(memory.expires_at),
        "superseded_at": _FOREVER if memory.superseded_at is None else to_micros(memory.superseded_at),
        "length": len(d.tokens),
        "tokens": " ".join([token_term(d.user, token) for token in d.tokens]),
        "packed": pack(d),
    }


_AS: Final[Mapping[FilterKind, Callable[[Any], Any]]] = {
    "text": exact,
    "flag": bool,
    "time": to_micros,
    "scope": exact,
    "tags": lambda tags: sorted(set(map(tag_term, tags))),
    "metadata": metadata_terms,
}
"""A filterable field's value as its index field has it."""
