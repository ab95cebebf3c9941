"""The typed clients themselves, as the story sees them."""

from dataclasses import dataclass

from integrations.seams import Seam
from steeltrap.client import AsyncClient, Client


@dataclass(frozen=True)
class SyncClient:
    client: Client

    def save(self, text: str) -> str:
        return self.client.core.save(content=text)["id"]

    def find(self, query: str) -> list[str]:
        return [hit["content"] for hit in self.client.core.search(query=query)["results"]]

    def correct(self, key: str, text: str) -> None:
        self.client.core.update(id=key, content=text)

    def forget(self, key: str) -> None:
        assert self.client.core.forget(id=key)["forgotten"] == [key]


@dataclass(frozen=True)
class InLoop:
    client: AsyncClient
    seam: Seam

    def save(self, text: str) -> str:
        return self.seam.run(self.client.core.save(content=text))["id"]

    def find(self, query: str) -> list[str]:
        return [hit["content"] for hit in self.seam.run(self.client.core.search(query=query))["results"]]

    def correct(self, key: str, text: str) -> None:
        self.seam.run(self.client.core.update(id=key, content=text))

    def forget(self, key: str) -> None:
        assert self.seam.run(self.client.core.forget(id=key))["forgotten"] == [key]


def sync_client(seam: Seam, user: str) -> SyncClient:
    return SyncClient(seam.client(user))


def async_client(seam: Seam, user: str) -> InLoop:
    return InLoop(seam.async_client(user), seam)
