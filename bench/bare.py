"""What the index of the cloud does by itself with the same questions and documents."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from steeltrap.model import Caller, Embedding
from steeltrap.ports import Document, Embedder, Tombstone
from steeltrap.rules.analysis import query_tokens

_SECONDS: Final = 60.0
_ROUNDS: Final = 3


class _Bare(Protocol):
    def search(self, user: str, tokens: Sequence[str], embedding: Embedding) -> Any: ...
    def bulk(self, documents: Sequence[Document | Tombstone], dimension: int) -> float: ...
    def ours(self, documents: Sequence[Document | Tombstone], dimension: int) -> float: ...


class BareIndex:
    """Asks the index as anybody would; `documents` has a user's."""

    def __init__(
        self, bare: _Bare, embedder: Embedder, documents: Callable[[str], Sequence[Document | Tombstone]]
    ) -> None:
        self._bare = bare
        self._embedder = embedder
        self._documents = documents

    def search(self, caller: Caller, question: str) -> None:
        """Both legs in one request; the question is embedded as ours is."""
        [embedding] = self._embedder.embed([question], purpose="query", timeout=_SECONDS)
        self._bare.search(_key(caller), query_tokens(question), embedding)

    def bulk(self, callers: Sequence[Caller]) -> tuple[float, float]:
        """A second, how many of their documents are written: by us, and by the client's own helper."""
        documents = [document for caller in callers for document in self._documents(_key(caller))]
        dimension = self._embedder.dimension
        times = [(self._bare.ours(documents, dimension), self._bare.bulk(documents, dimension)) for _ in range(_ROUNDS)]
        ours, theirs = (min(each) for each in zip(*times, strict=True))
        return len(documents) / ours, len(documents) / theirs


def _key(caller: Caller) -> str:
    return caller.user.key
