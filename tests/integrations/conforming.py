"""Adapters of the conformance suite: steeltrap over its client, and LangGraph's stores."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from memory_store_conformance import Conflict, Item

from integrations.seams import Seam
from steeltrap.errors import Conflict as VersionConflict
from steeltrap.errors import NotFound


@dataclass
class Steeltrap:
    """The toolset `core` through one client per user."""

    seam: Seam

    def save(self, user: str, text: str, *, lifetime: float | None = None) -> str:
        more = {} if lifetime is None else {"ttl_seconds": int(lifetime)}
        return str(self.seam.client(user).core.save(content=text, **more)["id"])

    def get(self, user: str, key: str) -> Item | None:
        try:
            return _item(self.seam.client(user).core.get(id=key))
        except NotFound:
            return None

    def search(self, user: str, query: str, *, limit: int = 10) -> list[Item]:
        return [_item(hit) for hit in self.seam.client(user).core.search(query=query, limit=limit)["results"]]

    def page(self, user: str, *, limit: int, offset: int = 0) -> list[Item]:
        answer = self.seam.client(user).core.list(limit=limit, offset=offset)
        return [_item(memory) for memory in answer["memories"]]

    def edit(self, user: str, key: str, text: str, *, version: int) -> None:
        try:
            self.seam.client(user).core.update(id=key, content=text, version=version)
        except VersionConflict as error:
            raise Conflict(str(error)) from error

    def delete(self, user: str, key: str) -> None:
        self.seam.client(user).core.delete(id=key)

    def close(self) -> None:
        self.seam.store.is_broken = True


def _item(memory: Any) -> Item:
    return Item(key=memory["id"], text=memory["content"], version=memory.get("version", 0))


def namespace(user: str) -> tuple[str]:
    """The user's namespace. LangGraph refuses periods in its parts, so they are escaped."""
    return (quote(user, safe="").replace(".", "%2E"),)


@dataclass
class LangGraph:
    """A BaseStore of LangGraph: one namespace per user, random keys."""

    store: Any
    connection: Any = None

    def save(self, user: str, text: str, *, lifetime: float | None = None) -> str:
        key = str(uuid4())
        more = {} if lifetime is None else {"ttl": lifetime / 60}
        self.store.put(namespace(user), key, {"text": text}, **more)
        return key

    def get(self, user: str, key: str) -> Item | None:
        row = self.store.get(namespace(user), key)
        return None if row is None else Item(key=key, text=row.value["text"])

    def search(self, user: str, query: str, *, limit: int = 10) -> list[Item]:
        rows = self.store.search(namespace(user), query=query, limit=limit)
        return [Item(key=row.key, text=row.value["text"]) for row in rows]

    def page(self, user: str, *, limit: int, offset: int = 0) -> list[Item]:
        rows = self.store.search(namespace(user), limit=limit, offset=offset)
        return [Item(key=row.key, text=row.value["text"]) for row in rows]

    def edit(self, user: str, key: str, text: str, *, version: int) -> None:
        if self.store.get(namespace(user), key) is None:
            raise KeyError(key)
        self.store.put(namespace(user), key, {"text": text})

    def delete(self, user: str, key: str) -> None:
        self.store.delete(namespace(user), key)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
