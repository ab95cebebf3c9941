"""The settings of an index, and the indices behind an alias: made from one template, rebuilt beside the old
one, switched at once.

A user's words are terms of their own (`documents.py`), so that Lucene's count of documents with a term is the
user's count, and what others write moves nothing. The similarity below is BM25, with two numbers of the
user's that Lucene can't know, packed into the boost. Its scores only choose candidates; the true scores are
computed from what comes back.

Where OpenSearch refuses scripted similarities, Lucene's own BM25 chooses the candidates. It counts the documents of all
users in the shard, so that of very many matches it may choose others; a boost that all words share changes nothing in
its order. Scores are the same: they come from the frequencies on the cards and the user's own statistics.

    steeltrap ─────────> steeltrap-1          searched and written
    steeltrap-next ────> steeltrap-2          written only, while it is built; gone after the switch

A writer learns of a second index within `LEARNED_SECONDS`: who builds one waits so long before reading the
truth, so that no write falls between.
"""

import logging
import threading
from collections.abc import Mapping
from math import log2
from typing import Any, Final, Literal

from opensearchpy import OpenSearch

from ...errors import Conflict, NotFound, SteeltrapError
from ...model import FILTERABLE
from ...model.frozen import frozen
from ...ports import Clock, Deadline
from .client import Forbidden, Malformed
from .documents import MAPPED

Engine = Literal["lucene", "faiss"]
Similarity = Literal["scripted", "BM25"]
"""The similarity that chooses the candidates of the keyword leg."""

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

_ENCODER: Final[Mapping[Engine, Mapping[str, Any]]] = {
    "lucene": {"encoder": {"name": "sq", "parameters": {"bits": 7}}},
    "faiss": {},
}
"""How the graph holds a vector: Lucene's in a byte per dimension, faiss' whole. What it finds is scored whole."""


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
                **MAPPED,
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
                                "parameters": {"m": 16, "ef_construction": 128, **_ENCODER[engine]},
                            },
                        }
                    },
                },
            },
        },
    }


_log = logging.getLogger("steeltrap")

LEARNED_SECONDS: Final = 30.0
_SECONDS: Final = 30.0
_MISSING: Final = 404
_META: Final = ("version", "embedder", "dimension", "engine", "similarity", "filterable")


@frozen
class Built:
    """An index and what it was built for."""

    name: str
    version: int
    embedder: str
    dimension: int
    engine: str
    similarity: str
    filterable: Mapping[str, str]
    """The fields that a filter can ask for, and their kinds."""
    reached: str = ""
    """How far the building was when it was last told, "" before."""


class Indices:
    """Makes, names and switches the indices of one alias. Safe for threads."""

    def __init__(self, client: OpenSearch, alias: str, clock: Clock) -> None:
        self._of = client.indices
        self.clock = clock
        self.alias = alias
        self.next = f"{alias}-next"
        self._lock = threading.Lock()
        self._learned: tuple[float, tuple[str, ...]] | None = None

    def build(
        self, dimension: int, embedder: str, *, engine: Engine = "lucene", settings: Mapping[str, Any] | None = None
    ) -> str:
        """Make an index, empty; answers its name. The first is searched at once, a later one after `switch`.

        Where OpenSearch refuses scripts in an index, it is made without them. Raises Conflict while another one is
        being built.
        """
        if self._behind(self.next):
            raise Conflict("Another index is being built: switch to it, or drop it, first.")
        current = self._behind(self.alias)
        name = f"{self.alias}-{1 + max([0, *map(self._number, self._all())])}"
        alias = self.next if current else self.alias

        def make(similarity: Similarity) -> None:
            body = index_body(dimension, embedder, engine=engine, similarity=similarity, settings=settings)
            self._make(name, alias, body)

        try:
            make("scripted")
        except (Forbidden, Malformed) as refused:
            try:
                make("BM25")
            except SteeltrapError:
                raise refused from None
            _log.warning(
                "OpenSearch refuses scripted similarities: in %s its own BM25 chooses the candidates of a search by "
                "words. Scores stay the same.",
                name,
            )
        self.relearn()
        return name

    def _make(self, name: str, alias: str, body: Mapping[str, Any]) -> None:
        # Of two that match a name OpenSearch takes the one of higher priority, and refuses two of the same: indices
        # of `steeltrap-dev` match the pattern of `steeltrap` too.
        template = {"index_patterns": [f"{self.alias}-*"], "priority": len(self.alias), "template": body}
        self._of.put_index_template(name=self.alias, body=template, request_timeout=self.within(_SECONDS))
        self._of.create(index=name, body={"aliases": {alias: {}}}, request_timeout=self.within(_SECONDS))

    def switch(self) -> str | None:
        """Search the index that was built; answers the name of the one before. Raises NotFound when there is none."""
        new = next(iter(self._behind(self.next)), None)
        if new is None:
            raise NotFound("No index is being built.")
        old = self._behind(self.alias)
        actions: list[dict[str, Any]] = [{"remove": {"index": name, "alias": self.alias}} for name in old]
        actions += [{"remove": {"index": new, "alias": self.next}}, {"add": {"index": new, "alias": self.alias}}]
        self._of.update_aliases(body={"actions": actions}, request_timeout=self.within(_SECONDS))
        self.relearn()
        return old[0] if old else None

    def drop(self, name: str) -> None:
        """Remove an index that is not searched. Raises Conflict for the one that is."""
        if name in self._behind(self.alias):
            raise Conflict(f"{name} is the index that is searched.")
        self._of.delete(index=name, ignore=_MISSING, request_timeout=self.within(_SECONDS))
        self.relearn()

    def remove(self) -> None:
        """Remove every index of the alias, the one that is searched too, and the template."""
        for name in {*self._behind(self.alias), *self._behind(self.next)}:
            self._of.delete(index=name, ignore=_MISSING, request_timeout=self.within(_SECONDS))
        self._of.delete_index_template(name=self.alias, ignore=_MISSING, request_timeout=self.within(_SECONDS))
        self.relearn()

    def current(self) -> Built | None:
        """The index that is searched; None before the first."""
        return self._built(self.alias)

    def building(self) -> Built | None:
        """The index that is being built; None when there is none."""
        return self._built(self.next)

    def reach(self, built: Built, place: str) -> None:
        """Keep in the index that is being built how far that is."""
        meta = {key: getattr(built, key) for key in _META}
        body = {"_meta": {**meta, "reached": place}}
        self._of.put_mapping(index=built.name, body=body, request_timeout=self.within(_SECONDS))

    def write_set(self, deadline: Deadline | None = None) -> tuple[str, ...]:
        """The aliases to write to: the one that is searched, and the one that is being built."""
        with self._lock:
            learned = self._learned
        if learned is None or self.clock.monotonic() - learned[0] > LEARNED_SECONDS:
            both = (self.alias, self.next) if self._behind(self.next, deadline) else (self.alias,)
            learned = (self.clock.monotonic(), both)
            with self._lock:
                self._learned = learned
        return learned[1]

    def within(self, seconds: float) -> Deadline:
        """A deadline for what no call waits for."""
        return Deadline.after(seconds, self.clock)

    def refresh(self) -> None:
        """Make all that was written findable now."""
        for alias in self.write_set():
            self._of.refresh(index=alias, request_timeout=self.within(_SECONDS))

    def _built(self, alias: str) -> Built | None:
        answer = self._of.get_mapping(index=alias, ignore=_MISSING, request_timeout=self.within(_SECONDS))
        if "error" in answer:
            return None
        [(name, definition)] = answer.items()
        # An index that was made before there was a choice has scripts, and doesn't name its filterable fields.
        meta = {"similarity": "scripted", "filterable": {}} | definition["mappings"]["_meta"]
        return Built(name=name, reached=meta.get("reached", ""), **{key: meta[key] for key in _META})

    def _behind(self, alias: str, deadline: Deadline | None = None) -> list[str]:
        answer = self._of.get_alias(name=alias, ignore=_MISSING, request_timeout=deadline or self.within(_SECONDS))
        return [] if "error" in answer else sorted(answer)

    def _all(self) -> list[str]:
        return sorted(self._of.get_alias(index=f"{self.alias}-*", request_timeout=self.within(_SECONDS)))

    def _number(self, name: str) -> int:
        end = name.removeprefix(f"{self.alias}-")
        return int(end) if end.isdigit() else 0

    def relearn(self) -> None:
        """Ask again which indices to write to."""
        with self._lock:
            self._learned = None
