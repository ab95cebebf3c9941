"""A baseline: the same questions and documents sent to OpenSearch without steeltrap."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from steeltrap.model import Caller, Embedding
from steeltrap.ports import Document, Embedder, Tombstone
from steeltrap.text.words import query_tokens

_SECONDS: Final = 60.0
_ROUNDS: Final = 3


class _Requests(Protocol):
    def search(self, user: str, tokens: Sequence[str], embedding: Embedding) -> Any: ...
    def bulk(self, documents: Sequence[Document | Tombstone], dimension: int) -> float: ...
    def ours(self, documents: Sequence[Document | Tombstone], dimension: int) -> float: ...


class IndexBaseline:
    """Sends the least requests that give both legs. `documents` returns the documents of a user."""

    def __init__(
        self, requests: _Requests, embedder: Embedder, documents: Callable[[str], Sequence[Document | Tombstone]]
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
