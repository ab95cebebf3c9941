"""The baseline for OpenSearch, the same questions and documents without steeltrap: the least request with both legs,
and the bulk helper of opensearch-py."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection, helpers

from steeltrap.model import Caller, Embedding
from steeltrap.ports import Document, Embedder, Tombstone
from steeltrap.runtime import SystemClock
from steeltrap.stores.opensearch.client import CONNECTIONS, SERVICE, connect_index
from steeltrap.stores.opensearch.documents import document_id, numbers, to_lines, token_term
from steeltrap.stores.opensearch.index import OpenSearchIndex
from steeltrap.stores.opensearch.indices import Indices
from steeltrap.text.words import query_tokens

_HITS: Final = 100
_SECONDS: Final = 60.0
_ROUNDS: Final = 3


class Requests:
    """Requests over the index that steeltrap searches, as anybody would write them."""

    def __init__(self, url: str, alias: str, signing: Mapping[str, Any]) -> None:
        auth = Urllib3AWSV4SignerAuth(**signing, service=SERVICE) if signing else None
        self._client = OpenSearch(
            hosts=[url], connection_class=Urllib3HttpConnection, http_auth=auth, pool_maxsize=CONNECTIONS, max_retries=0
        )
        self._alias = alias
        self._ours = connect_index(url, **signing)
        self._beside = Indices(self._ours, f"bulk-{alias}", SystemClock())

    def search(self, user: str, tokens: Iterable[str], embedding: Embedding) -> Any:
        """A hundred of a user's documents by words and a hundred by vectors, ids and scores only, in one request."""
        own = {"term": {"user": user}}
        words = " ".join(token_term(user, token) for token in tokens)
        knn = {"vector": numbers(embedding), "k": _HITS, "filter": own}
        legs: list[Any] = [
            {"bool": {"filter": [own], "must": [{"match": {"tokens": words}}]}},
            {"nested": {"path": "chunks", "score_mode": "max", "query": {"knn": {"chunks.embedding": knn}}}},
        ]
        header = json.dumps({"index": self._alias, "routing": user})
        lines = [f"{header}\n{json.dumps({'size': _HITS, '_source': False, 'query': leg})}\n" for leg in legs]
        return self._client.msearch(body="".join(lines))

    def bulk(self, documents: Sequence[Document | Tombstone], dimension: int) -> float:
        """Seconds of opensearch-py's helper for writing documents to an index of the same form and finding them."""
        actions = [_action(document) for document in documents]

        def write(index: str) -> None:
            helpers.bulk(self._client, actions, index=index, request_timeout=_SECONDS)

        return self._timed(write, dimension)

    def ours(self, documents: Sequence[Document | Tombstone], dimension: int) -> float:
        """The same by our own index."""

        def write(index: str) -> None:
            refused = OpenSearchIndex(self._ours, self._beside).write(documents, self._beside.within(_SECONDS))
            for error in refused.values():
                raise error

        return self._timed(write, dimension)

    def _timed(self, write: Callable[[str], None], dimension: int) -> float:
        index = self._beside.build(dimension, "bulk")
        try:
            began = time.perf_counter()
            write(index)
            self._client.indices.refresh(index=index)
            return time.perf_counter() - began
        finally:
            self._beside.remove()


def _action(document: Document | Tombstone) -> dict[str, Any]:
    fields = json.loads(to_lines(document, "").splitlines()[1])
    return {"_id": document_id(document.user, document.id), "routing": document.user, **fields}


class IndexBaseline:
    """Sends the least requests that give both legs. `documents` returns the documents of a user."""

    def __init__(
        self, requests: Requests, embedder: Embedder, documents: Callable[[str], Sequence[Document | Tombstone]]
    ) -> None:
        self._requests = requests
        self._embedder = embedder
        self._documents = documents

    def search(self, caller: Caller, question: str) -> None:
        """Search both legs in one request. The question is embedded as steeltrap embeds it."""
        [embedding] = self._embedder.embed([question], purpose="query", timeout=_SECONDS)
        self._requests.search(_key(caller), query_tokens(question), embedding)

    def bulk(self, callers: Sequence[Caller]) -> tuple[float, float]:
        """Documents written per second: by steeltrap, and by the bulk helper of opensearch-py."""
        documents = [document for caller in callers for document in self._documents(_key(caller))]
        dimension = self._embedder.dimension
        times = [
            (self._requests.ours(documents, dimension), self._requests.bulk(documents, dimension))
            for _ in range(_ROUNDS)
        ]
        ours, theirs = (min(each) for each in zip(*times, strict=True))
        return len(documents) / ours, len(documents) / theirs


def _key(caller: Caller) -> str:
    return caller.user.key
