"""One alias of OpenSearch as the index of every user."""

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opensearchpy import OpenSearch

from ...errors import SteeltrapError
from ...model import Filter, Query
from ...ports import Deadline, Document, Indexed, IndexedCandidate, IndexedSurroundings, Probe, Tombstone
from ..exact.postings import query_digests
from . import queries
from .client import STALE, bulk, failure, parts, refusal
from .documents import has_direction, to_lines
from .indices import Indices
from .queries import Body, LookAround, UserFilter

_log = logging.getLogger("steeltrap")

BULK_BYTES: Final = 4 * 1024 * 1024
BODIES: Final = 100
_REMEMBERED: Final = 4096
_REFRESHED_SECONDS: Final = 30.0
_MISSING: Final = 404
_CHECK_SECONDS: Final = 5.0
_NEEDED: Final = ",".join(
    f"responses.{part}"
    for part in (
        *("hits.hits._score", "hits.hits.fields", "hits.hits.sort", "aggregations"),
        *("error.type", "status", "timed_out", "_shards.failed"),
    )
)


class OpenSearchIndex:
    """An `Index` behind an alias. Safe for threads; what it remembers of users only makes it choose better.

    `refresh_every`: after so many writes of one user they are made findable at once, sooner than the index's refresh
    interval would. None leaves all to the interval.
    """

    def __init__(self, client: OpenSearch, indices: Indices, *, refresh_every: int | None = None) -> None:
        self._client = client
        self._indices = indices
        self._refresh_every = refresh_every
        self._unrefreshed: Counter[str] = Counter()
        self._counted_since = 0.0
        self.alias = indices.alias
        self._known: OrderedDict[tuple[str, bool, bool], tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def search(
        self,
        user: str,
        query: Query,
        *,
        now: int,
        deadline: Deadline,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> Indexed:
        allowed = UserFilter(user=user, now=now, before=before, leave_out=tuple(leave_out))
        tokens = list(dict.fromkeys(query.tokens))
        totals = self._recall(user, query.filter)
        legs: dict[str, Body] = {}
        if query.per_leg is None:
            legs["all"] = queries.every_match(allowed, query, tokens, None)
        elif query.per_leg > 0:
            if tokens:
                legs["keyword"] = queries.keyword_leg(allowed, query, tokens, totals)
            if query.embedding is not None:
                legs["semantic"] = queries.semantic_leg(allowed, query, query.embedding, totals)
        bodies = [queries.statistics(allowed, query.filter, tokens), *legs.values()]
        try:
            statistics, *answers = self._ask(user, bodies, deadline)
        except SteeltrapError:
            self._forget(user, query.filter)  # to compare all of a user may have taken too long
            raise
        if (wrong := failure(statistics)) is not None:
            raise wrong
        by_leg, degraded = _what_answered(dict(zip(legs, answers, strict=True)))
        if query.per_leg is None:
            by_leg["all"] += self._rest(allowed, query, tokens, by_leg["all"], deadline)
        visible = statistics["aggregations"]["seen"]
        count, length = int(visible["doc_count"]), int(visible["length"]["value"])
        self._remember(user, query.filter, count, length)
        return Indexed(
            candidates=tuple(_candidates(by_leg, tokens, query)),
            stored=count,
            admitted=int(visible["admitted"]["doc_count"]),
            length=length,
            frequencies=tuple(bucket["doc_count"] for bucket in visible["having"]["buckets"]) if tokens else (),
            newest=queries.newest(statistics),
            degraded=degraded,
        )

    def look_around(
        self,
        user: str,
        probes: Sequence[Probe],
        *,
        now: int,
        floor: float,
        top_k: int,
        deadline: Deadline,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> list[IndexedSurroundings]:
        if not probes:
            return []
        allowed = UserFilter(user=user, now=now, before=before, leave_out=tuple(leave_out))
        asking = LookAround(allowed, probes, floor, top_k)
        return asking.read(self._ask(user, asking.bodies, deadline))

    def write(
        self, documents: Sequence[Document | Tombstone], deadline: Deadline, *, again: bool = False
    ) -> dict[int, SteeltrapError]:
        """As the port says; `again` writes what is there in the same version too."""
        wrong: dict[int, SteeltrapError] = {}
        first = 0
        aliases = self._indices.write_set(deadline)
        lines = [b"".join([to_lines(document, alias, again=again) for alias in aliases]) for document in documents]
        for block in _blocks(lines):
            try:
                users = [document.user for document in documents[first : first + len(block)]]
                refresh = self._count_writes(users)
                items = bulk(self._client, b"".join(block), len(block) * len(aliases), deadline, refresh=refresh)
                if refresh:
                    self._forget_writes(users)
            except SteeltrapError as error:
                if not first:
                    raise
                return wrong | dict.fromkeys(range(first, len(documents)), error)
            if any(item["status"] == _MISSING for item in items):
                self._indices.relearn()  # an index that was being built is searched by now, or given up
            for at, item in enumerate(items):
                if (refused := _refused(item)) is not None:
                    wrong[first + at // len(aliases)] = refused
            first += len(block)
        return wrong

    def check(self) -> None:
        """Raises Unavailable when no index is behind the alias, or a part of it doesn't answer."""
        self._client.search(
            index=self.alias,
            body={"size": 0},
            allow_partial_search_results=False,
            request_timeout=self._indices.within(_CHECK_SECONDS),
        )

    def close(self) -> None:
        self._client.close()

    def _ask(self, user: str, bodies: Sequence[Body], deadline: Deadline) -> list[Mapping[str, Any]]:
        """The parts of a `_msearch`, in order, over one user's shard."""
        address = {"routing": user, "preference": user, "allow_partial_search_results": False}
        header = {"index": self.alias, **address}
        answers: list[Mapping[str, Any]] = []
        for start in range(0, len(bodies), BODIES):
            within = {"timeout": f"{max(1, int(1000 * deadline.before()))}ms"}
            lines = [line for body in bodies[start : start + BODIES] for line in (header, body | within)]
            answer = self._client.msearch(body=lines, filter_path=_NEEDED, request_timeout=deadline)
            answers += parts(answer, "responses", len(lines) // 2)
        return answers

    def _rest(
        self,
        allowed: UserFilter,
        query: Query,
        tokens: Sequence[str],
        block: Sequence[Mapping[str, Any]],
        deadline: Deadline,
    ) -> list[Mapping[str, Any]]:
        """The matches after a full block."""
        rest: list[Mapping[str, Any]] = []
        while len(block) == queries.MOST:
            body = queries.every_match(allowed, query, tokens, block[-1]["sort"][0])
            [part] = self._ask(allowed.user, [body], deadline)
            if (wrong := failure(part)) is not None:
                raise wrong
            block = queries.hits(part)
            rest += block
        return rest

    def _count_writes(self, users: Sequence[str]) -> bool:
        """Count a write of these users' documents; whether one of them now has too many that can't be found yet."""
        if self._refresh_every is None:
            return False
        now = self._indices.clock.monotonic()
        with self._lock:
            if now - self._counted_since > _REFRESHED_SECONDS:
                self._unrefreshed.clear()  # OpenSearch has refreshed all but the latest meanwhile
                self._counted_since = now
            self._unrefreshed.update(users)
            return any(self._unrefreshed[user] >= self._refresh_every for user in users)

    def _forget_writes(self, users: Sequence[str]) -> None:
        with self._lock:
            for user in users:
                del self._unrefreshed[user]  # of a Counter, which has it or not

    def _recall(self, user: str, filter: Filter) -> tuple[int, float] | None:
        with self._lock:
            return self._known.get(_seen_by(user, filter))

    def _forget(self, user: str, filter: Filter) -> None:
        with self._lock:
            self._known.pop(_seen_by(user, filter), None)

    def _remember(self, user: str, filter: Filter, documents: int, length: int) -> None:
        with self._lock:
            key = _seen_by(user, filter)
            self._known[key] = (documents, length / max(1, documents))
            self._known.move_to_end(key)
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def _seen_by(user: str, filter: Filter) -> tuple[str, bool, bool]:
    """The user, and which of their documents are counted: those of one conversation are not all."""
    return user, filter.include_turns, filter.turns_of is not None


def _what_answered(legs: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, list[Any]], str | None]:
    """The hits of the legs that answered and a word on the one that did not. Raises when none did."""
    wrong = {leg: error for leg, part in legs.items() if (error := failure(part)) is not None}
    if wrong and len(wrong) == len(legs):
        raise next(iter(wrong.values()))
    hits_by_leg = {leg: queries.hits(part) for leg, part in legs.items() if leg not in wrong}
    if not wrong:
        return hits_by_leg, None
    [(leg, error)] = wrong.items()
    _log.warning("the index's %s leg failed: %s", leg, error.message)
    return hits_by_leg, f"the {leg} search failed ({error.message})"


def _candidates(
    by_leg: Mapping[str, Sequence[Mapping[str, Any]]], tokens: Sequence[str], query: Query
) -> list[IndexedCandidate]:
    digests = query_digests(tokens)
    scored = query.embedding is not None and has_direction(query.embedding)
    level = None if query.embedding is None else 0.0
    by_id: dict[str, IndexedCandidate] = {}
    for hits in by_leg.values():
        for hit in hits:
            id = queries.identity(hit)
            if id not in by_id:
                by_id[id] = queries.candidate(hit, digests, scored=scored, level=level)
    return list(by_id.values())


def _blocks(lines: Sequence[bytes]) -> list[list[bytes]]:
    """Documents in requests of a bounded size; one that is larger by itself goes alone."""
    blocks: list[list[bytes]] = []
    room = 0
    for line in lines:
        if not blocks or len(line) > room:
            blocks.append([])
            room = BULK_BYTES
        blocks[-1].append(line)
        room -= len(line)
    return blocks


def _refused(item: Mapping[str, Any]) -> SteeltrapError | None:
    status = int(item["status"])
    if status < 300 or status == STALE:
        return None
    return refusal(status, str(item.get("error", {}).get("type", "")))
