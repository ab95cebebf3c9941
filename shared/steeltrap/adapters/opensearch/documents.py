"""A document or a tombstone as OpenSearch takes it."""

import json
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from ...model import FILTERABLE, Embedding, FilterKind, to_micros
from ...ports import Document, Tombstone
from ...text.limits import canonical
from ...text.matching import compared
from . import packed
from .terms import document_id, exact, metadata_terms, scopes_above, tag_term, token_term

FOREVER: Final = 2**63 - 1
LONG_AGO: Final = 0

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


def _tombstone(gone: Tombstone) -> dict[str, Any]:
    # It expired long ago: the one rule that hides what has expired hides it too.
    return {"user": gone.user, "id": gone.id, "index_version": gone.index_version, "expires_at": LONG_AGO}


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
        "expires_at": FOREVER if memory.expires_at is None else to_micros(memory.expires_at),
        "superseded_at": FOREVER if memory.superseded_at is None else to_micros(memory.superseded_at),
        "length": len(d.tokens),
        "tokens": " ".join([token_term(d.user, token) for token in d.tokens]),
        "packed": packed.write(d),
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
