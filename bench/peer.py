"""The peer: LangGraph's SqliteStore, with the same embedder, searched by vectors alone."""

from array import array
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from steeltrap.errors import Unavailable
from steeltrap.model import Caller
from steeltrap.ports import Embedder

_BLOCK: Final = 500
_SECONDS: Final = 600.0


class LangGraph:
    """Memories as LangGraph keeps them: one database, one namespace per user."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        """Open a new database. Raises Unavailable when the package isn't installed."""
        try:
            from langgraph.store.base import PutOp
            from langgraph.store.sqlite import SqliteStore
        except ImportError:
            raise _missing("langgraph-checkpoint-sqlite is not installed") from None
        self._put = PutOp
        self._connection = _connect(path)
        index: Any = {"dims": embedder.dimension, "embed": _embed_by(embedder), "fields": ["text"]}
        self._store = SqliteStore(self._connection, index=index)
        self._store.setup()

    def load(self, caller: Caller, texts: Sequence[str]) -> None:
        """Save many at once."""
        space = (caller.user.user_id,)
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            self._store.batch([self._put(space, str(uuid4()), {"text": text}) for text in block])

    def save(self, caller: Caller, text: str) -> None:
        """Save one, as durably as the peer does it."""
        self._store.put((caller.user.user_id,), str(uuid4()), {"text": text})

    def search(self, caller: Caller, query: str) -> list[Any]:
        """The ten nearest."""
        return list(self._store.search((caller.user.user_id,), query=query, limit=10))

    def close(self) -> None:
        self._connection.close()


def _connect(path: Path) -> Any:
    """As the peer's own `from_conn_string` connects, by a sqlite3 that can load extensions."""
    import sqlite3

    driver: Any = sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        try:
            driver = import_module("pysqlite3.dbapi2")
        except ImportError:
            what = "this Python's sqlite3 can't load extensions, and pysqlite3-binary is not installed"
            raise _missing(what) from None
    return driver.connect(str(path), check_same_thread=False, isolation_level=None)


def _embed_by(embedder: Embedder) -> Any:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors = embedder.embed(list(texts), purpose="document", timeout=_SECONDS)
        return [array("f", vector).tolist() for vector in vectors]

    return embed


def _missing(what: str) -> Unavailable:
    return Unavailable(
        f"{what}: run `pip install --group bench` in the project's folder, or leave out --against.",
        retryable=False,
        part="peer",
    )
