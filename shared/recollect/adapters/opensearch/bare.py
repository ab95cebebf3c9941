"""The least that finds anything by both legs, and opensearch-py's own bulk: what benchmarks hold ours against."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from opensearchpy import OpenSearch, helpers

from ...model import Embedding
from ...ports import Document, Tombstone
from .documents import numbers, to_lines
from .indices import Indices
from .terms import document_id, token_term
from .wire import Wire

_HITS: Final = 100
_SECONDS: Final = 60.0


class Bare:
    """Requests as anybody would write them over the index that is searched."""

    def __init__(self, client: OpenSearch, alias: str) -> None:
        self._client = client
        self._alias = alias

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

    def bulk(self, documents: Sequence[Document | Tombstone], dimension: int) -> None:
        """Write documents to an index of the same form by opensearch-py's helper, and make them findable."""
        other = Indices(Wire(self._client), f"bulk-{self._alias}")
        name = other.build(dimension, "bulk")
        try:
            helpers.bulk(self._client, (_action(document, name) for document in documents), request_timeout=_SECONDS)
            self._client.indices.refresh(index=name)
        finally:
            other.remove()


def _action(document: Document | Tombstone, index: str) -> dict[str, Any]:
    fields = json.loads(to_lines(document, index).splitlines()[1])
    return {"_index": index, "_id": document_id(document.user, document.id), "routing": document.user, **fields}
