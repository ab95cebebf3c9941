"""What an index is made of: its fields, its settings, and how a query's words are weighed in it.

A user's words are terms of their own (`terms.py`), so that Lucene's count of documents with a term is the
user's count, and what others write moves nothing. The similarity below is BM25, with two numbers of the
user's that Lucene can't know, packed into the boost. Its scores only choose candidates; the true scores are
computed from what comes back.

Where OpenSearch refuses scripted similarities, Lucene's own BM25 chooses the candidates. It counts the documents of all
users in the shard, so that of very many matches it may choose others; a boost that all words share changes nothing in
its order. Scores are the same: they come from the frequencies on the cards and the user's own statistics.
"""

from collections.abc import Mapping
from math import log2
from typing import Any, Final, Literal

from ...model import FILTERABLE, FilterKind

Engine = Literal["lucene", "faiss"]
Similarity = Literal["scripted", "BM25"]
"""What chooses the candidates of the keyword leg."""

VERSION: Final = 4
"""Counts up with every change of fields or similarity, apart from the filterable ones, which the index names itself: an
index of another version is rebuilt beside this one."""

_SHIFT: Final = 1024
_STEPS: Final = 16
UNKNOWN: Final = (10_000, 16.0)
"""Documents, and tokens per document, assumed for a user without statistics."""

_WEIGHT: Final = (
    f"int packed = (int) query.boost; double documents = Math.pow(2, (packed / {_SHIFT}) / {_STEPS}.0); "
    "double others = Math.max(0.0, documents - term.docFreq); "
    "return Math.log(1 + (others + 0.5) / (term.docFreq + 0.5));"
)
_SCORE: Final = (
    f"double average = ((int) query.boost) % {_SHIFT}; double norm = 1.2 * (0.25 + 0.75 * doc.length / average); "
    "return weight * doc.freq * 2.2 / (doc.freq + norm);"
)
_SIMILARITIES: Final[Mapping[Similarity, dict[str, Any]]] = {
    "scripted": {"type": "scripted", "weight_script": {"source": _WEIGHT}, "script": {"source": _SCORE}},
    "BM25": {"type": "BM25", "k1": 1.2, "b": 0.75},
}

_TERM: Final = {"type": "keyword", "doc_values": False, "norms": False}
_TYPES: Final[Mapping[FilterKind, Mapping[str, Any]]] = {"time": {"type": "long"}, "flag": {"type": "boolean"}}
_FILTERED: Final = {name: _TYPES.get(kind, _TERM) for name, kind in FILTERABLE.items()}


def packed(documents: int, average_length: float) -> int:
    """Both numbers as the one that a query can hand to a similarity; exact enough in a float of 32 bits."""
    return round(log2(max(2, documents)) * _STEPS) * _SHIFT + min(_SHIFT - 1, max(1, round(average_length)))


def index_body(
    dimension: int,
    embedder: str,
    *,
    engine: Engine = "lucene",
    similarity: Similarity = "scripted",
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Settings and mappings for vectors of this many dimensions, made by an embedder of this name.

    `settings` are index settings that go on top: shards, replicas, refresh interval.
    """
    meta = {
        "version": VERSION,
        "embedder": embedder,
        "dimension": dimension,
        "engine": engine,
        "similarity": similarity,
        "filterable": dict(FILTERABLE),
    }
    return {
        "settings": {"index": {"knn": True, "similarity": {"own": _SIMILARITIES[similarity]}, **(settings or {})}},
        "mappings": {
            "dynamic": "strict",
            "_meta": meta,
            "_routing": {"required": True},
            # Nothing is shown from here, and what is not kept can't come back after a forget.
            "_source": {"enabled": False},
            "properties": {
                **_FILTERED,
                **dict.fromkeys(("user", "within", "links"), _TERM),
                "id": {"type": "keyword", "index": False},
                **{key: {"type": "boolean", "doc_values": False} for key in ("turn", "episode", "directed")},
                **{key: {"type": "long"} for key in ("index_version", "expires_at", "superseded_at")},
                "length": {"type": "integer", "index": False},
                "tokens": {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "similarity": "own"},
                "packed": {"type": "binary", "doc_values": True},
                "chunks": {
                    "type": "nested",
                    "properties": {
                        "embedding": {
                            "type": "knn_vector",
                            "dimension": dimension,
                            "method": {
                                "name": "hnsw",
                                "engine": engine,
                                "space_type": "cosinesimil",
                                "parameters": {"m": 16, "ef_construction": 128},
                            },
                        }
                    },
                },
            },
        },
    }
