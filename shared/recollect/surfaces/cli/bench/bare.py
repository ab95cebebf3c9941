"""What the index of the cloud does by itself: the same questions and documents without recollect."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from ....engine.analysis import query_tokens
from ....model import Caller, Embedding
from ....ports import Document, Embedder, Tombstone, UserRef

_SECONDS: Final = 60.0


class _Bare(Protocol):
    def search(self, user: str, tokens: Sequence[str], embedding: Embedding) -> Any: ...
    def bulk(self, documents: Sequence[Document | Tombstone], dimension: int) -> None: ...


class BareIndex:
    """Asks the index as anybody would; `documents` has a user's."""

    def __init__(
        self, bare: _Bare, embedder: Embedder, documents: Callable[[str], Sequence[Document | Tombstone]]
    ) -> None:
        self._bare = bare
        self._embedder = embedder
        self._documents = documents

    def search(self, caller: Caller, question: str) -> None:
        """Both legs in one request."""
        [embedding] = self._embedder.embed([question], purpose="query", timeout=_SECONDS)
        self._bare.search(_key(caller), query_tokens(question), embedding)

    def bulk(self, callers: Sequence[Caller]) -> float:
        """Seconds that the client's own helper takes for all their documents."""
        documents = [document for caller in callers for document in self._documents(_key(caller))]
        began = time.perf_counter()
        self._bare.bulk(documents, self._embedder.dimension)
        return time.perf_counter() - began


def _key(caller: Caller) -> str:
    return UserRef(user_id=caller.user_id, tenant=caller.tenant).key
