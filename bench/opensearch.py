"""Figures of an index in OpenSearch by two forms of documents, and by two ways to the nearest vectors.

Documents go to the indices directly, so neither DynamoDB nor the stream is in the figures. Both indices get the same
documents, a block each in turn, and are asked the same questions in turn, so that a busy moment is in both. All users
are in one shard: small ones with the same number of memories each, and one with ten times as many.

    nested      each vector is in a nested document, as steeltrap's index has it
    unnested    the vector is in a field of the memory's own document, which would do for a memory with one
"""

import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from statistics import mean
from typing import Any, Final, TypeVar, cast
from uuid import uuid4

from steeltrap.model import Embedding, Memory, Query, UserRef, to_micros
from steeltrap.ports import Deadline, Document, Embedder
from steeltrap.runtime import SystemClock, aws
from steeltrap.runtime import local as runtime
from steeltrap.settings import read_settings
from steeltrap.stores.opensearch import Indices, OpenSearch, OpenSearchIndex, queries
from steeltrap.text.words import tokens

from .corpus import Corpus
from .report import milliseconds

TITLES: Final = {
    "memories": "memories in each index",
    "forms": "by form of the documents; ratio: unnested / nested",
}

_LARGER: Final = 10
_QUESTIONS: Final = 40
_BLOCK: Final = 1_000
"""As many documents as a rebuild writes at once, about 4 MB."""
_SECONDS: Final = 120.0
_SETTLED_SECONDS: Final = 1800.0
_TRIES: Final = 5
"""How often each question is asked; the least time counts."""
_NESTED: Final = "chunks.embedding"

Report = Callable[[str], None]
_Key = TypeVar("_Key", bound=Hashable)


class _UnnestedIndices(Indices):
    def _make(self, name: str, alias: str, body: Mapping[str, Any]) -> None:
        fields = dict(body["mappings"]["properties"])
        fields |= fields.pop("chunks")["properties"]
        super()._make(name, alias, {**body, "mappings": {**body["mappings"], "properties": fields}})


class _UnnestedClient:
    """A client that writes and asks for what is nested as if it were not."""

    def __init__(self, client: OpenSearch) -> None:
        self._to = client

    def bulk(self, *, body: bytes, **options: Any) -> Any:
        # A document has one chunk, at its end.
        lines = body.replace(b'"chunks":[{"embedding":', b'"embedding":').replace(b"]}]}\n", b"]}\n")
        return self._to.bulk(body=lines, **options)

    def search(self, *, body: Any, **options: Any) -> Any:
        return self._to.search(body=_unnested(body), **options)

    def msearch(self, *, body: Any, **options: Any) -> Any:
        return self._to.msearch(body=_unnested(body), **options)


def _unnested(part: Any) -> Any:
    if isinstance(part, list) and not isinstance(part[0], float):
        return [_unnested(each) for each in part]
    if isinstance(part, dict):
        if "nested" in part:
            return _unnested(part["nested"]["query"])
        return {"embedding" if key == _NESTED else key: _unnested(value) for key, value in part.items()}
    return "embedding" if part == _NESTED else part


@dataclass(frozen=True)
class _Side:
    """An index of one form, the client for its documents, and the one for all else."""

    client: OpenSearch
    admin: OpenSearch
    indices: Indices
    index: OpenSearchIndex


def _side(form: str, client: OpenSearch) -> _Side:
    is_nested = form == "nested"
    name = f"steeltrap-bench-{os.getpid()}-{form}"
    indices = (Indices if is_nested else _UnnestedIndices)(client, name, SystemClock())
    own = client if is_nested else cast(OpenSearch, _UnnestedClient(client))
    return _Side(own, client, indices, OpenSearchIndex(own, indices))


def measure(size: int, users: int, report: Report) -> dict[str, Any]:
    """Figures for `users` small users of `size` memories each, and a large one. `report` gets a line of progress."""
    settings = read_settings()
    embedder = runtime.open_embedder(settings)
    small = [UserRef(f"small {number}").key for number in range(users)]
    large = UserRef("large").key
    sizes = {**dict.fromkeys(small, size), large: size * _LARGER}
    with closing(aws.open_index(settings)) as client, _sides(client, embedder) as sides:
        forms: dict[str, dict[str, float]] = {}
        for form, seconds in _written(sides, sizes, embedder, report).items():
            forms[form] = {"written_per_s": round(sum(sizes.values()) / seconds)}
        report("Waiting for merges.\n")
        for form, side in sides.items():
            forms[form] |= _kept(side)
        asked = _questions(embedder)
        for form, figure in _searched(sides, small, asked).items():
            forms[form]["search_p50_ms"] = figure
        for name, user in (("small", small[0]), ("large", large)):
            for form, figures in _nearest(sides, user, [embedding for _, embedding in asked]).items():
                forms[form] |= {f"{name}_{key}": each for key, each in figures.items()}
    return {"memories": sum(sizes.values()), "forms": _compared(forms["nested"], forms["unnested"])}


def _compared(nested: Mapping[str, float], unnested: Mapping[str, float]) -> dict[str, dict[str, float]]:
    return {
        key: {"nested": value, "unnested": unnested[key], "ratio": round(unnested[key] / value, 3) if value else 1.0}
        for key, value in nested.items()
    }


@contextmanager
def _sides(client: OpenSearch, embedder: Embedder) -> Iterator[dict[str, _Side]]:
    sides = {form: _side(form, client) for form in ("nested", "unnested")}
    one_node = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s"}
    try:
        for side in sides.values():
            side.indices.build(embedder.dimension, embedder.name, settings=one_node)
        yield sides
    finally:
        for side in sides.values():
            side.indices.remove()


def _documents(user: str, part: int, count: int, embedder: Embedder, corpus: Corpus) -> list[Document]:
    now = datetime.now(UTC)
    texts = list(corpus.texts(count, part=part))
    vectors = embedder.embed(texts, purpose="document", timeout=_SECONDS)
    return [
        Document(
            user=user,
            index_version=version,
            memory=Memory(id=str(uuid4()), content=text, created_at=now, updated_at=now),
            tokens=tuple(tokens(text)),
            embeddings=(vector,),
        )
        for version, (text, vector) in enumerate(zip(texts, vectors, strict=True), 1)
    ]


def _questions(embedder: Embedder) -> list[tuple[str, Embedding]]:
    corpus = Corpus()
    questions = corpus.questions(list(corpus.texts(_QUESTIONS)), _QUESTIONS)
    return list(zip(questions, embedder.embed(questions, purpose="query", timeout=_SECONDS), strict=True))


def _written(
    sides: Mapping[str, _Side], sizes: Mapping[str, int], embedder: Embedder, report: Report
) -> dict[str, float]:
    """Seconds that each index took to take all documents."""
    corpus = Corpus()
    seconds = dict.fromkeys(sides, 0.0)
    written, total = 0, sum(sizes.values())
    for part, (user, count) in enumerate(sizes.items()):
        documents = _documents(user, part, count, embedder, corpus)
        for start in range(0, count, _BLOCK):
            block = documents[start : start + _BLOCK]
            for form, side in sides.items():
                began = time.perf_counter()
                refused = side.index.write(block, Deadline.after(_SECONDS, SystemClock()))
                seconds[form] += time.perf_counter() - began
                for error in refused.values():
                    raise error
        written += count
        rates = ", ".join(f"{form} {written / each:,.0f}/s" for form, each in seconds.items())
        report(f"\r{written:,} of {total:,} memories written: {rates}")
    report("\n")
    return seconds


def _kept(side: _Side) -> dict[str, float]:
    """The size of an index once its merges have ended, and how long OpenSearch worked for it."""
    indices = side.indices
    indices.refresh()
    deadline = Deadline.after(_SETTLED_SECONDS, SystemClock())
    while True:
        side.admin.indices.flush(index=indices.alias, request_timeout=indices.within(_SECONDS))
        answer = side.admin.indices.stats(index=indices.alias, request_timeout=indices.within(_SECONDS))
        figures = answer["_all"]["primaries"]
        if not figures["merges"]["current"]:
            work = (
                figures["indexing"]["index_time_in_millis"],
                *(figures[kind]["total_time_in_millis"] for kind in ("refresh", "merges", "flush")),
            )
            return {
                "disk_mb": round(figures["store"]["size_in_bytes"] / 1e6, 1),
                "lucene_documents": figures["docs"]["count"],
                "work_s": round(sum(work) / 1000, 1),
            }
        deadline.before()
        time.sleep(1)


def _searched(
    sides: Mapping[str, _Side], users: Sequence[str], asked: Sequence[tuple[str, Embedding]]
) -> dict[str, float]:
    """The time of a search by words and vectors of a user whose size is known, p50 in milliseconds."""
    times: dict[str, list[float]] = {form: [] for form in sides}
    now = to_micros(datetime.now(UTC))
    for number, (question, embedding) in enumerate(asked):
        user = users[number * len(users) // len(asked)]
        query = Query(tokens=tuple(tokens(question)), embedding=embedding)

        def search(side: _Side, user: str = user, query: Query = query) -> Any:
            return side.index.search(user, query, now=now, deadline=Deadline.after(_SECONDS, SystemClock()))

        for side in sides.values():
            search(side)
        for form, (seconds, _) in _least({form: partial(search, side) for form, side in sides.items()}).items():
            times[form].append(seconds)
    return {form: milliseconds(each, 0.5) for form, each in times.items()}


def _nearest(sides: Mapping[str, _Side], user: str, asked: Sequence[Embedding]) -> dict[str, dict[str, float]]:
    """Each index is asked in two ways: by the graph, and by comparing all."""
    allowed = queries.UserFilter(user=user, now=to_micros(datetime.now(UTC)))
    totals = {"graph": None, "compared": (0, 0.0)}
    times: dict[tuple[str, str], list[float]] = {(form, way): [] for form in sides for way in totals}
    recalls: dict[str, list[float]] = {form: [] for form in sides}

    def search(side: _Side, body: queries.Body) -> Any:
        timeout = Deadline.after(_SECONDS, SystemClock())
        return side.client.search(index=side.indices.alias, body=body, routing=user, request_timeout=timeout)

    for embedding in asked:
        query = Query(embedding=embedding)
        ways = {way: queries.semantic_leg(allowed, query, embedding, known) for way, known in totals.items()}
        least = _least({(form, way): partial(search, sides[form], ways[way]) for form, way in times})
        ids = {each: set(map(queries.identity, queries.hits(answer))) for each, (_, answer) in least.items()}
        for each, (seconds, _) in least.items():
            times[each].append(seconds)
        for form, shares in recalls.items():
            wanted = ids[form, "compared"]
            shares.append(len(ids[form, "graph"] & wanted) / len(wanted))
    return {
        form: {f"{way}_p50_ms": milliseconds(times[form, way], 0.5) for way in totals}
        | {"graph_recall": round(mean(recalls[form]), 4)}
        for form in sides
    }


def _least(requests: Mapping[_Key, Callable[[], Any]]) -> dict[_Key, tuple[float, Any]]:
    """The least time of each request and its answer. They take turns, so that a busy moment is in all."""
    least: dict[_Key, tuple[float, Any]] = {}
    for _ in range(_TRIES):
        for key, ask in requests.items():
            began = time.perf_counter()
            answer = ask()
            seconds = time.perf_counter() - began
            if key not in least or seconds < least[key][0]:
                least[key] = seconds, answer
    return least
