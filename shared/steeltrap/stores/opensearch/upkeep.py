"""Looking after the index behind an alias: creating it, rebuilding it beside the one in use, telling what it holds."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from opensearchpy import OpenSearch

from ...errors import IndexUnavailable, SteeltrapError
from ...model import FILTERABLE
from ...ports import Clock, Deadline, Document, Held, Tombstone
from .client import STALE, bulk, refusal
from .documents import LONG_AGO
from .index import OpenSearchIndex
from .indices import LEARNED_SECONDS, VERSION, Built, Engine, Indices

_SECONDS: Final = 60.0
_BLOCK: Final = 10_000
_DROPPED_AT_ONCE: Final = 1_000
_MISSING: Final = 404

Hit = Mapping[str, Any]


class OpenSearchUpkeep:
    """An `IndexUpkeep` for vectors of one embedder. `settings` are index settings that go on top."""

    learned_seconds: float = LEARNED_SECONDS

    def __init__(
        self,
        client: OpenSearch,
        alias: str,
        clock: Clock,
        *,
        embedder: str,
        dimension: int,
        engine: Engine = "lucene",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._client = client
        self._indices = Indices(client, alias, clock)
        self._new = OpenSearchIndex(client, _NewOnly(client, alias, clock))
        self._searched = OpenSearchIndex(client, _SearchedOnly(client, alias, clock))
        self._embedder = embedder
        self._dimension = dimension
        self._engine: Engine = engine
        self._settings = settings

    def create(self) -> bool:
        if self._indices.current() is not None:
            return False
        self._build()
        return True

    def unfit(self) -> str | None:
        index = self._indices.current()
        if index is None or self._fits(index):
            return None
        if self._is_alike(index):
            names = ", ".join(sorted(_unfiltered(index)))
            return f"The index {index.name} was made before memories could be filtered by {names}."
        return (
            f"The index {index.name} was made for {index.embedder} ({index.dimension} dimensions, {index.engine}, form "
            f"{index.version}), the settings say {self._embedder} ({self._dimension}, {self._engine}, form {VERSION})."
        )

    def begin(self) -> str:
        self.create()
        index = self._indices.building()
        if index is not None and self._fits(index):
            return index.reached
        if index is not None:
            self._indices.drop(index.name)
        self._build()
        return ""

    def build(self, documents: Sequence[Document | Tombstone]) -> dict[int, SteeltrapError]:
        return self._new.write(documents, self._indices.within(_SECONDS))

    def reached(self, place: str) -> None:
        index = self._indices.building()
        if index is None:
            raise IndexUnavailable(
                "The index that was being built is gone", advice="start again", retryable=False, part="index"
            )
        self._indices.reach(index, place)

    def switch(self) -> None:
        self._indices.refresh()  # so that it is whole from the first search on
        before = self._indices.switch()
        if before is not None:
            self._indices.drop(before)

    def mend(self, documents: Sequence[Document | Tombstone]) -> dict[int, SteeltrapError]:
        return self._searched.write(documents, self._indices.within(_SECONDS), again=True)

    def held(self, user: str) -> dict[str, Held]:
        by_id: dict[str, Held] = {}
        body: dict[str, Any] = {
            "size": _BLOCK,
            "query": {"bool": {"filter": [{"term": {"user": user}}]}},
            "docvalue_fields": ["id", "index_version", "expires_at"],
            "sort": [{"id": "asc"}],
        }
        while True:
            hits = self._search(body, routing=user)["hits"]["hits"]
            for hit in hits:
                fields = {name: values[0] for name, values in hit["fields"].items()}
                by_id[fields["id"]] = Held(fields["index_version"], fields["expires_at"] != LONG_AGO)
            if len(hits) < _BLOCK:
                return by_id
            body["search_after"] = hits[-1]["sort"]

    def refresh(self) -> None:
        self._client.indices.refresh(index=self._indices.alias, request_timeout=self._indices.within(_SECONDS))

    def count(self, *, before: int) -> int:
        live = [{"range": {"index_version": {"lt": before}}}, {"range": {"expires_at": {"gt": LONG_AGO}}}]
        body = {"size": 0, "track_total_hits": True, "query": {"bool": {"filter": live}}}
        return int(self._search(body)["hits"]["total"]["value"])

    def drop_tombstones(self, *, before: int, find_stored: Callable[[str, Sequence[str]], Collection[str]]) -> int:
        old = [{"term": {"expires_at": LONG_AGO}}, {"range": {"index_version": {"lt": before}}}]
        body: dict[str, Any] = {
            "size": _DROPPED_AT_ONCE,
            "query": {"bool": {"filter": old}},
            "docvalue_fields": ["id", "index_version"],
            "sort": [{"index_version": "asc"}, {"id": "asc"}],
        }
        dropped = 0
        while hits := self._search(body)["hits"]["hits"]:
            dropped += self._drop(_unknown(hits, find_stored))
            body["search_after"] = hits[-1]["sort"]
        return dropped

    def _drop(self, tombstones: Sequence[Hit]) -> int:
        """Delete tombstones that nothing has taken the place of; how many were there."""
        if not tombstones:
            return 0
        lines = "".join(_deletion(hit, self._indices.alias) for hit in tombstones).encode()
        results = bulk(self._client, lines, len(tombstones), self._indices.within(_SECONDS))
        for one in results:
            if one["status"] >= 300 and one["status"] not in (STALE, _MISSING):
                raise refusal(one["status"], one.get("error", {}).get("type", ""))
        return sum(one["status"] < 300 for one in results)

    def _search(self, body: Mapping[str, Any], **where: str) -> Any:
        return self._client.search(
            index=self._indices.alias,
            body=body,
            allow_partial_search_results=False,
            request_timeout=self._indices.within(_SECONDS),
            **where,
        )

    def _build(self) -> None:
        self._indices.build(self._dimension, self._embedder, engine=self._engine, settings=self._settings)

    def _fits(self, built: Built) -> bool:
        return self._is_alike(built) and not _unfiltered(built)

    def _is_alike(self, built: Built) -> bool:
        settings = (VERSION, self._embedder, self._dimension, self._engine)
        return (built.version, built.embedder, built.dimension, built.engine) == settings


def _unfiltered(built: Built) -> set[str]:
    """The fields that this version filters by, and the index does not."""
    return {name for name, kind in FILTERABLE.items() if built.filterable.get(name) != kind}


def _unknown(hits: Sequence[Hit], find_stored: Callable[[str, Sequence[str]], Collection[str]]) -> list[Hit]:
    by_user: defaultdict[str, dict[str, Hit]] = defaultdict(dict)
    for hit in hits:
        by_user[hit["_routing"]][hit["fields"]["id"][0]] = hit
    unknown: list[Hit] = []
    for user, of_user in by_user.items():
        stored_ids = find_stored(user, list(of_user))
        unknown += [hit for id, hit in of_user.items() if id not in stored_ids]
    return unknown


def _deletion(hit: Hit, alias: str) -> str:
    """The line of a `_bulk` request that deletes what a search found, unless something newer is there."""
    address = {
        "_index": alias,
        "_id": hit["_id"],
        "routing": hit["_routing"],
        "version": hit["fields"]["index_version"][0] + 1,
        "version_type": "external",
    }
    return f"{json.dumps({'delete': address})}\n"


class _NewOnly(Indices):
    """Writes to the index that is being built, and to no other."""

    def write_set(self, deadline: Deadline | None = None) -> tuple[str, ...]:
        return (self.next,)


class _SearchedOnly(Indices):
    """Writes to the index that is searched, and to no other."""

    def write_set(self, deadline: Deadline | None = None) -> tuple[str, ...]:
        return (self.alias,)
