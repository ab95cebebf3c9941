"""The bodies of a `_msearch`, what each may look at, and what came back as the port's own types.

Every query in this package begins with a `UserFilter`, and a `UserFilter` begins with its user.

    keyword leg      the user's best by words ──rescored──> each hit's score is its exact cosine
    semantic leg     the nearest by vectors; each hit's score is its cosine
    statistics       how many there are, how long, how many have each token

Both legs bring each hit's packed field, which has the frequencies of the query's tokens, so both scores of
every candidate are known after one round trip. The keyword leg reads twice as many as it must bring, since
Lucene's choice uses numbers of the user's that are a moment old. The graph of vectors is walked more widely
than asked, and what it brings is scored by the whole vectors: Lucene's graph has a byte per dimension of them.

All vectors of a user who has few are compared. Else the nearest come by Lucene's graph with the user's filter
inside, which is approximate.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...model import FLAGS, PROJECTS, TEXTS, TIMES, Embedding, Filter, Query, to_micros
from ...model.frozen import frozen
from ...ports import IndexedCandidate, IndexedNeighbour, IndexedSurroundings, Probe
from ...text.matching import compared, fold_category
from . import documents
from .client import failure
from .documents import (
    document_id,
    exact,
    has_direction,
    metadata_term,
    numbers,
    present,
    tag_term,
    token_term,
    valid,
)
from .indices import UNKNOWN, packed

Clause = dict[str, Any]


@frozen
class UserFilter:
    """One user's documents as they are at `now` (microseconds), those written before `before`, without some."""

    user: str
    now: int
    before: int | None = None
    leave_out: tuple[str, ...] = ()

    def everything(self) -> Clause:
        """All of the user's documents, tombstones and what has expired too."""
        return _all_of(self._bounds())

    def visible(self, filter: Filter, *more: Clause, without: Sequence[str] = ()) -> Clause:
        """The documents that the user sees, turns and what is no longer current where the filter includes them, and
        nothing else of it."""
        hidden_ids = [*self.leave_out, *without]
        clauses = [*self._bounds(), *valid(filter, self.now), *_without("turn", filter), *more]
        if not hidden_ids:
            return _all_of(clauses)
        hidden = {"ids": {"values": [document_id(self.user, id) for id in hidden_ids]}}
        return {"bool": {"filter": clauses, "must_not": [hidden]}}

    def admitted(self, filter: Filter) -> Clause:
        """The documents that the user sees and the whole filter lets through."""
        return self.visible(filter, *conditions(filter))

    def _bounds(self) -> list[Clause]:
        of_user: list[Clause] = [{"term": {"user": self.user}}]
        return of_user if self.before is None else [*of_user, {"range": {"index_version": {"lt": self.before}}}]


def conditions(filter: Filter) -> list[Clause]:
    """The clauses that a filter adds, turns aside."""
    terms = {name: compared(filter, name) for name in TEXTS}
    terms["within" if filter.include_child_scopes else "scope"] = filter.scope
    clauses: list[Clause] = [{"term": {name: exact(value)}} for name, value in present(terms.items())]
    for name, flag in present((name, getattr(filter, name)) for name in FLAGS):
        clauses.append({"term": {name: flag}})
    for name in TIMES:
        # An index that was made before days without a time can't tell them. So the wider bounds are asked for, and
        # what was found is looked at again.
        ends = zip(("gte", "lt"), (min, max), filter.between(name), filter.between(name, days=True), strict=True)
        if bounds := {
            bound: wider(to_micros(time), to_micros(day))
            for bound, wider, time, day in ends
            if time is not None and day is not None
        }:
            clauses.append({"range": {name: bounds}})
    if filter.project is not None:
        elsewhere: Clause = {"bool": {"must_not": [{"term": {"within": exact(PROJECTS)}}]}}
        clauses.append(_any_of([elsewhere, {"term": {"within": exact(filter.project)}}]))
    if filter.categories:
        clauses.append({"terms": {"category": [exact(fold_category(category)) for category in filter.categories]}})
    if not filter.episodes:
        clauses += _without("episode", filter)
    clauses += [{"term": {"tags": tag_term(tag)}} for tag in filter.tags]
    clauses += [{"term": {"metadata": metadata_term(key, value)}} for key, value in filter.metadata.items()]
    return clauses


def _without(kind: str, filter: Filter) -> list[Clause]:
    """Documents that are not of a kind, and those that are where the filter includes what was said."""
    others: Clause = {"term": {kind: False}}
    if not filter.include_turns:
        return [others]
    if filter.turns_of is None:
        return []
    turns: Clause = {"term": {"conversation_id": exact(filter.turns_of)}}
    return [_any_of([others, turns])]


def _any_of(clauses: list[Clause]) -> Clause:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _all_of(clauses: list[Clause]) -> Clause:
    return {"bool": {"filter": clauses}}


WIDER: Final = 2
BREADTH: Final = 400
AROUND_BREADTH: Final = 100
COMPARED: Final = 10_000
"""The most vectors of a user that are all compared, in place of a walk through the graph of everybody's."""
_CHUNK_TOKENS: Final = 100
"""Tokens of a full chunk, about: each chunk has a vector."""
UNKNOWN_READS: Final = 300
"""The statistics that the keyword leg takes for a user of whom nothing is known yet."""
WEIGHED: Final = 500
"""How many words of a query are weighed; OpenSearch takes no more than 1,024 clauses."""
_HARDLY: Final = 1e-3
_NEWEST: Final = {"max": {"field": "index_version"}}
MOST: Final = 10_000
"""OpenSearch's own limit of hits in an answer."""

Body = dict[str, Any]


def keyword_leg(allowed: UserFilter, query: Query, tokens: Sequence[str], totals: tuple[int, float] | None) -> Body:
    """The best by words, rescored to their cosines where the query has an embedding.

    `totals`: the number of the user's documents and their average length, as they were a moment ago.
    """
    boost = packed(*(totals or UNKNOWN))
    size = wide(query.per_leg) if totals else max(UNKNOWN_READS, wide(query.per_leg))
    weighed = {"bool": {"should": _by_words(allowed.user, tokens, boost), "minimum_should_match": 1}}
    body = _hits(size, {"bool": {"filter": [allowed.admitted(query.candidates_filter)], "must": [weighed]}})
    if query.embedding is not None and has_direction(query.embedding):
        body |= _rescored([query.embedding], size)
    return body


def semantic_leg(
    allowed: UserFilter, query: Query, embedding: Embedding, totals: tuple[int, float] | None = None
) -> Body:
    """The nearest by vectors, those without one last; for a vector without a direction any: all are equally near.

    `totals` as for the keyword leg. Those of a user who has no more than about `COMPARED` are all compared.
    """
    size = min(MOST, query.per_leg or MOST)
    admitted = allowed.admitted(query.candidates_filter)
    if not has_direction(embedding):
        return _hits(size, admitted)
    if totals is not None and totals[0] * max(1.0, totals[1] / _CHUNK_TOKENS) <= COMPARED:
        return _hits(size, {"bool": {"filter": [admitted], "should": [cosine(embedding)]}})
    unplaced: Body = {"bool": {"filter": [admitted, {"term": {"directed": False}}]}}
    breadth = max(BREADTH, wide(query.per_leg))
    by_graph = _hits(size, {"bool": {"should": [nearest(embedding, breadth, admitted), unplaced]}})
    return by_graph | _rescored([embedding], breadth)


def every_match(allowed: UserFilter, query: Query, tokens: Sequence[str], after: str | None) -> Body:
    """A block of all matches by id, after an id. With an embedding everything that is admitted matches."""
    matching: Body = {"filter": [allowed.admitted(query.candidates_filter)]}
    if query.embedding is None:
        matching["filter"].append({"terms": {"tokens": [token_term(allowed.user, token) for token in tokens]}})
    elif has_direction(query.embedding):
        matching["should"] = [cosine(query.embedding)]
    body = _hits(MOST, {"bool": matching}) | {"sort": [{"id": "asc"}], "track_scores": True}
    return body if after is None else body | {"search_after": [after]}


def statistics(allowed: UserFilter, filter: Filter, tokens: Sequence[str]) -> Body:
    """Counts over all that the user sees, and the newest version of anything the user has."""
    aggregations: Body = {
        "length": {"sum": {"field": "length"}},
        "admitted": {"filter": allowed.admitted(filter)},
    }
    if tokens:
        having = [{"term": {"tokens": token_term(allowed.user, token)}} for token in tokens]
        aggregations["having"] = {"filters": {"filters": having}}
    return {
        "size": 0,
        "track_total_hits": False,
        "query": allowed.everything(),
        "aggs": {
            "newest": _NEWEST,
            "seen": {"filter": allowed.visible(filter), "aggs": aggregations},
        },
    }


def around(allowed: UserFilter, probe: Probe, size: int, *, scope: str | None = None) -> Body | None:
    """The documents nearest to any chunk of a probe; None for a probe without a direction.

    `scope` is the one that holds them directly.
    """
    without = [] if probe.leave_out is None else [probe.leave_out]
    visible = allowed.visible(Filter(), *conditions(Filter(scope=scope)), without=without)
    # A long text asks once for each chunk, so each may look less widely.
    breadth = max(size, AROUND_BREADTH // (1 + len(probe.embeddings) // 4))
    embeddings = [embedding for embedding in probe.embeddings if has_direction(embedding)]
    if not embeddings:
        return None
    near = _best([nearest(embedding, breadth, visible) for embedding in embeddings])
    return _hits(size, near) | _rescored(embeddings, breadth)


def anyone(allowed: UserFilter, size: int) -> Body:
    """Some of the user's memories, whichever come first, and the newest version of anything the user has."""
    hits = _hits(size, allowed.everything()) | {"post_filter": allowed.visible(Filter())}
    return hits | {"aggs": {"newest": _NEWEST}}


def nearest(embedding: Embedding, count: int, admitted: Body) -> Body:
    """The documents with the nearest chunks, one hit per document."""
    knn = {"vector": numbers(embedding), "k": count, "filter": admitted}
    return {"nested": {"path": "chunks", "score_mode": "max", "query": {"knn": {"chunks.embedding": knn}}}}


def cosine(embedding: Embedding) -> Body:
    """A score for each document: its nearest chunk's, computed without the graph."""
    params = {"field": "chunks.embedding", "query_value": numbers(embedding), "space_type": "cosinesimil"}
    script = {"lang": "knn", "source": "knn_score", "params": params}
    exact = {"script_score": {"query": {"match_all": {}}, "script": script}}
    return {"nested": {"path": "chunks", "score_mode": "max", "query": exact}}


def _rescored(embeddings: Sequence[Embedding], count: int) -> Body:
    """The best `count` of each shard with their exact cosines as scores, and in their order."""
    exact = _best([cosine(embedding) for embedding in embeddings])
    query = {"query_weight": 0, "rescore_query_weight": 1, "rescore_query": exact}
    return {"rescore": {"window_size": count, "query": query}}


def _best(scored: Sequence[Body]) -> Body:
    """A document's best score by some queries."""
    return scored[0] if len(scored) == 1 else {"dis_max": {"queries": scored}}


def to_cosine(score: float) -> float:
    """The cosine for OpenSearch's score, 0 to 1; a document without vectors, which has no score, has the cosine 0."""
    return 2 * score - 1 if score > 0 else 0.0


def wide(per_leg: int | None) -> int:
    """How many hits a leg reads."""
    return MOST if per_leg is None else max(1, min(MOST, WIDER * per_leg))


def _by_words(user: str, tokens: Sequence[str], boost: int) -> list[Body]:
    """A clause for each token; of very many the longest, which are the rarest, are weighed and the rest just match."""
    weighed = sorted(tokens, key=len, reverse=True)
    terms = [token_term(user, token) for token in weighed]
    clauses: list[Body] = [{"term": {"tokens": {"value": term, "boost": boost}}} for term in terms[:WEIGHED]]
    if rest := terms[WEIGHED:]:
        clauses.append({"terms": {"tokens": rest, "boost": _HARDLY}})
    return clauses


def _hits(size: int, query: Body) -> Body:
    # Stored fields are unpacked block by block, even for `_id` alone: without them a request takes half the time.
    fields = {"stored_fields": "_none_", "docvalue_fields": ["id", "packed"]}
    return {"size": size, **fields, "track_total_hits": False, "query": query}


Answer = Mapping[str, Any]


def hits(answer: Answer) -> list[dict[str, Any]]:
    """The hits of one part; a part without any has lost the whole branch on the way."""
    entries: list[dict[str, Any]] = answer.get("hits", {}).get("hits", [])
    return entries


def identity(hit: Mapping[str, Any]) -> str:
    """The memory's id."""
    id: str = hit["fields"]["id"][0]
    return id


def candidate(
    hit: Mapping[str, Any], digests: Sequence[bytes], *, scored: bool, level: float | None
) -> IndexedCandidate:
    """A hit of either leg. Its score tells its cosine if `scored`; else that is `level`."""
    values = documents.unpack(hit["fields"]["packed"][0], digests)
    return IndexedCandidate(
        id=identity(hit),
        index_version=values.index_version,
        created=values.created,
        cosine=to_cosine(hit["_score"] or 0.0) if scored else level,
        frequencies=values.frequencies,
        length=values.length,
        pinned=values.pinned,
        surprise=values.surprise,
        importance=values.importance,
        conversation=values.conversation,
        position=values.position,
        speaker=values.speaker,
        chunks=values.chunks,
        traits=values.traits,
        occurred=values.occurred,
    )


def neighbours(entries: Iterable[Mapping[str, Any]], *, unrelated: bool = False) -> tuple[IndexedNeighbour, ...]:
    """Hits nearest first, then newest, then by id. What was not compared (`unrelated`) has the cosine 0."""
    near = []
    for hit in entries:
        values = documents.unpack(hit["fields"]["packed"][0], ())
        cosine = 0.0 if unrelated else to_cosine(hit["_score"])
        near.append(IndexedNeighbour(identity(hit), cosine, values.created, values.index_version))
    return tuple(sorted(near, key=lambda n: (-n.cosine, -n.created, n.id)))


def newest(statistics: Answer) -> int | None:
    """The highest index version of what the user has. It comes as a float, which holds microseconds until 2255."""
    value = statistics["aggregations"]["newest"].get("value")
    return None if value is None else int(value)


_ROOM: Final = 12
"""How many more neighbours are answered than asked for: the store knows of some that have changed."""


class LookAround:
    """The bodies of one request, and how to read what they bring."""

    def __init__(self, allowed: UserFilter, probes: Sequence[Probe], floor: float, top_k: int) -> None:
        self.bodies: list[Body] = [anyone(allowed, _ROOM)]
        self._probes = probes
        self._floor = floor
        self._wanted = top_k + _ROOM
        self._places = [self._place(allowed, probe) for probe in probes]

    def read(self, parts: Sequence[Mapping[str, Any]]) -> list[IndexedSurroundings]:
        """The surroundings of each probe. Raises what kept a part from answering."""
        for part in parts:
            if (wrong := failure(part)) is not None:
                raise wrong
        some = neighbours(hits(parts[0]), unrelated=True)
        results = []
        for probe, place in zip(self._probes, self._places, strict=True):
            anywhere, near = (() if at is None else neighbours(hits(parts[at])) for at in place)
            if not anywhere:
                # Nothing has a direction, here or there: all are equally far.
                anywhere = tuple(n for n in some if n.id != probe.leave_out)
            close = tuple(n for n in near if n.cosine >= self._floor)[: self._wanted]
            results.append(IndexedSurroundings(anywhere=anywhere, near=close, newest=newest(parts[0])))
        return results

    def _place(self, allowed: UserFilter, probe: Probe) -> tuple[int | None, int | None]:
        """Where the two answers for a probe will stand; without a scope one search answers both questions."""
        if probe.scope is None:
            at = self._add(around(allowed, probe, self._wanted))
            return at, at
        anywhere = self._add(around(allowed, probe, _ROOM))
        return anywhere, self._add(around(allowed, probe, self._wanted, scope=probe.scope))

    def _add(self, body: Body | None) -> int | None:
        if body is None:
            return None
        self.bodies.append(body)
        return len(self.bodies) - 1
