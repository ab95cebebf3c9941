"""A document or a tombstone as OpenSearch takes it."""

import json
import struct
from functools import lru_cache
from typing import Any, Final

from ...model import Embedding
from ...ports import Document, Tombstone
from . import card
from .terms import document_id, exact, metadata_terms, present, scopes_above, tag_term, token_term

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
    named = {
        "category": d.category,
        "agent_id": d.agent_id,
        "agent_label": d.agent_label,
        "conversation": d.conversation_id,
    }
    return {
        "user": d.user,
        "id": d.id,
        "index_version": d.index_version,
        "turn": d.turn,
        "episode": d.episode,
        "tier": d.tier,
        "content_type": exact(d.content_type),
        "scope": exact(d.scope),
        "within": scopes_above(d.scope),
        "tags": sorted(set(map(tag_term, d.tags))),
        "metadata": metadata_terms(d.metadata),
        "links": list(d.links),
        "created_at": d.created_at,
        "expires_at": FOREVER if d.expires_at is None else d.expires_at,
        "length": len(d.tokens),
        "tokens": " ".join([token_term(d.user, token) for token in d.tokens]),
        "card": card.write(d),
        **{name: exact(value) for name, value in present(named.items())},
        **dict(present([("occurred_at", d.occurred_at)])),
    }
