"""Times of an index in OpenSearch: it is written, and asked for the nearest vectors, each in two ways.

Documents go to the index directly, so neither DynamoDB nor the stream is in the figures. All users are in one shard:
small ones with the same number of memories each, and one with ten times as many.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from steeltrap.model import Embedding, Memory, Query, UserRef, to_micros
from steeltrap.ports import Deadline, Document, Embedder
from steeltrap.runtime import aws
from steeltrap.runtime import local as runtime
from steeltrap.runtime.clock import SystemClock
from steeltrap.settings import read_settings
from steeltrap.stores.dynamodb.searching import REFRESH_EVERY
from steeltrap.stores.opensearch import Indices, OpenSearch, OpenSearchIndex, queries
from steeltrap.text.words import tokens

from .corpus import Corpus
from .report import milliseconds

TITLES: Final = {
    "memories": "memories in the index",
    "written_1s": "documents written per second, refreshed every second",
    "written_30s": f"documents written per second, refreshed every 30 seconds and after {REFRESH_EVERY} of one user",
    "small_graph_p50_ms": "nearest of a small user's, by the graph, p50 ms",
    "small_compared_p50_ms": "nearest of a small user's, all compared, p50 ms",
    "small_graph_recall": "share of the 100 nearest that the graph finds, small user",
    "large_graph_p50_ms": "nearest of the large user's, by the graph, p50 ms",
    "large_compared_p50_ms": "nearest of the large user's, all compared, p50 ms",
    "large_graph_recall": "share of the 100 nearest that the graph finds, large user",
}

_LARGER: Final = 10
_QUESTIONS: Final = 40
_BLOCK: Final = 100
"""As many documents as the indexer gets from the stream at once."""
_SECONDS: Final = 120.0


def measure(size: int, users: int) -> dict[str, Any]:
    """Figures for `users` small users of `size` memories each, and a large one."""
    settings = read_settings()
    embedder = runtime.open_embedder(settings)
    small = [UserRef(f"small {number}").key for number in range(users)]
    large = UserRef("large").key
    sizes = {**dict.fromkeys(small, size), large: size * _LARGER}
    with closing(aws.open_index(settings)) as client:
        parts = [list(_documents(user, part, count, embedder)) for part, (user, count) in enumerate(sizes.items())]
        documents = [document for part in parts for document in part]
        with _index(client, embedder, "1s") as indices:
            before = _written(OpenSearchIndex(client, indices), documents)
        with _index(client, embedder, "30s") as indices:
            after = _written(OpenSearchIndex(client, indices, refresh_every=REFRESH_EVERY), documents)
            indices.refresh()
            asked = _questions(embedder)
            figures: dict[str, Any] = {"memories": len(documents), "written_1s": before, "written_30s": after}
            for name, user in (("small", small[0]), ("large", large)):
                figures |= {f"{name}_{key}": each for key, each in _nearest(client, indices, user, asked).items()}
            return figures


@contextmanager
def _index(client: OpenSearch, embedder: Embedder, refresh: str) -> Iterator[Indices]:
    indices = Indices(client, f"steeltrap-bench-{os.getpid()}", SystemClock())
    one_node = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": refresh}
    indices.build(embedder.dimension, embedder.name, settings=one_node)
    try:
        yield indices
    finally:
        indices.remove()


def _documents(user: str, part: int, count: int, embedder: Embedder) -> Iterator[Document]:
    now = datetime.now(UTC)
    texts = list(Corpus().texts(count, part=part))
    vectors = embedder.embed(texts, purpose="document", timeout=_SECONDS)
    for version, (text, vector) in enumerate(zip(texts, vectors, strict=True), 1):
        memory = Memory(id=str(uuid4()), content=text, created_at=now, updated_at=now)
        yield Document(
            user=user, index_version=version, memory=memory, tokens=tuple(tokens(text)), embeddings=(vector,)
        )


def _questions(embedder: Embedder) -> Sequence[Embedding]:
    corpus = Corpus()
    questions = corpus.questions(list(corpus.texts(_QUESTIONS)), _QUESTIONS)
    return embedder.embed(questions, purpose="query", timeout=_SECONDS)


def _written(index: OpenSearchIndex, documents: Sequence[Document]) -> int:
    began = time.perf_counter()
    for start in range(0, len(documents), _BLOCK):
        refused = index.write(documents[start : start + _BLOCK], Deadline.after(_SECONDS, SystemClock()))
        for error in refused.values():
            raise error
    return round(len(documents) / (time.perf_counter() - began))


def _nearest(client: OpenSearch, indices: Indices, user: str, asked: Sequence[Embedding]) -> dict[str, float]:
    """Both ways in turn for each question, so that a busy moment is in both."""
    allowed = queries.UserFilter(user=user, now=to_micros(datetime.now(UTC)))
    ways: Mapping[str, Callable[[Query, Embedding], queries.Body]] = {
        "graph": lambda query, embedding: queries.semantic_leg(allowed, query, embedding),
        "compared": lambda query, embedding: queries.semantic_leg(allowed, query, embedding, (0, 0.0)),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    found = wanted = 0
    for embedding in asked:
        ids: dict[str, set[str]] = {}
        for name, body in ways.items():
            query = body(Query(embedding=embedding), embedding)
            began = time.perf_counter()
            answer = client.search(
                index=indices.alias, body=query, routing=user, request_timeout=Deadline.after(_SECONDS, SystemClock())
            )
            times[name].append(time.perf_counter() - began)
            ids[name] = {queries.identity(hit) for hit in queries.hits(answer)}
        found += len(ids["graph"] & ids["compared"])
        wanted += len(ids["compared"])
    figures = {f"{name}_p50_ms": milliseconds(each, 0.5) for name, each in times.items()}
    return {**figures, "graph_recall": round(found / wanted, 4)}
