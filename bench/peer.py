"""A store of LangGraph, used as an agent uses it, and the peer: its SqliteStore with the same embedder.

The peer searches by vectors alone.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from steeltrap.errors import Unavailable
from steeltrap.model import Caller
from steeltrap.ports import Embedder

_BLOCK: Final = 500
_SECONDS: Final = 600.0
_LIMIT: Final = 10


class LangGraph:
    """Memories in a `BaseStore`: one namespace per user."""

    def __init__(self, store: Any) -> None:
        from langgraph.store.base import PutOp

        self._put = PutOp
        self._store = store

    def load(self, caller: Caller, texts: Sequence[str]) -> None:
        """Save many at once, under random keys."""
        self.load_named(caller, {str(uuid4()): text for text in texts})

    def load_named(self, caller: Caller, texts: Mapping[str, str]) -> None:
        """Save many at once, each under its key."""
        ops = [self._put((caller.user.user_id,), key, {"text": text}) for key, text in texts.items()]
        for start in range(0, len(ops), _BLOCK):
            self._store.batch(ops[start : start + _BLOCK])

    def save(self, caller: Caller, text: str) -> None:
        """Save one, as durably as the store does it."""
        self._store.put((caller.user.user_id,), str(uuid4()), {"text": text})

    def search(self, caller: Caller, query: str) -> list[str]:
        """The keys of the ten nearest, best first."""
        return [item.key for item in self._store.search((caller.user.user_id,), query=query, limit=_LIMIT)]


@contextmanager
def sqlite_peer(path: Path, embedder: Embedder) -> Iterator[LangGraph]:
    """LangGraph's SqliteStore over a new database. Raises Unavailable when the package isn't installed."""
    try:
        from langgraph.store.sqlite import SqliteStore
    except ImportError:
        raise _missing("langgraph-checkpoint-sqlite is not installed") from None
    connection = _connect(path)
    try:
        index: Any = {"dims": embedder.dimension, "embed": _embed_by(embedder), "fields": ["text"]}
        store = SqliteStore(connection, index=index)
        store.setup()
        yield LangGraph(store)
    finally:
        connection.close()


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
        f"{what}: run `pip install --group bench` in the project's folder.",
        retryable=False,
        part="peer",
    )
