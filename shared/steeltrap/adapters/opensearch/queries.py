"""The bodies of a `_msearch`: two legs and the user's statistics in one request.

    keyword leg      the user's best by words ──rescored──> each hit's score is its exact cosine
    semantic leg     the nearest by vectors; each hit's score is its cosine
    statistics       how many there are, how long, how many have each token

Both legs bring each hit's packed field, which has the frequencies of the query's tokens, so both scores of
every candidate are known after one round trip. The keyword leg reads twice as many as it must bring, since
Lucene's choice uses numbers of the user's that are a moment old. The graph of vectors is walked more widely
than asked: over 10,000 documents of one user 400 steps find the 100 nearest but for one in 400, at a tenth
more time than 100 steps, which miss one in 35.
"""

from collections.abc import Sequence
from typing import Any, Final

from ...model import Embedding, Filter, Query
from ...ports import Probe
from .documents import has_direction, numbers
from .mapping import UNKNOWN, packed
from .terms import token_term
from .user_filter import UserFilter, conditions

WIDER: Final = 2
BREADTH: Final = 400
AROUND_BREADTH: Final = 100
UNKNOWN_READS: Final = 300
"""What the keyword leg reads of a user of whom nothing is known yet."""
WEIGHED: Final = 500
"""How many words of a query are weighed; OpenSearch takes no more than 1,024 clauses."""
_HARDLY: Final = 1e-3
_NEWEST: Final = {"max": {"field": "index_version"}}
MOST: Final = 10_000
"""OpenSearch's own limit of hits in an answer."""

Body = dict[str, Any]


def keyword_leg(allowed: UserFilter, query: Query, tokens: Sequence[str], known: tuple[int, float] | None) -> Body:
    """The best by words, rescored to their cosines where the query has an embedding.

    `known` are the user's documents and their average length, as they were a moment ago.
    """
    boost = packed(*(known or UNKNOWN))
    size = wide(query.per_leg) if known else max(UNKNOWN_READS, wide(query.per_leg))
    weighed = {"bool": {"should": _by_words(allowed.user, tokens, boost), "minimum_should_match": 1}}
    body = _hits(size, {"bool": {"filter": [allowed.admitted(query.candidates_filter)], "must": [weighed]}})
    if query.embedding is not None and has_direction(query.embedding):
        exact = {"query_weight": 0, "rescore_query_weight": 1, "rescore_query": cosine(query.embedding)}
        body["rescore"] = {"window_size": size, "query": exact}
    return body


def semantic_leg(allowed: UserFilter, query: Query, embedding: Embedding) -> Body:
    """The nearest by vectors, those without one last; for a vector without a direction any: all are equally near."""
    size = min(MOST, query.per_leg or MOST)
    admitted = allowed.admitted(query.candidates_filter)
    if not has_direction(embedding):
        return _hits(size, admitted)
    unplaced: Body = {"bool": {"filter": [admitted, {"term": {"directed": False}}]}}
    breadth = max(BREADTH, wide(query.per_leg))
    return _hits(size, {"bool": {"should": [nearest(embedding, breadth, admitted), unplaced]}})


def every_match(allowed: UserFilter, query: Query, tokens: Sequence[str], after: str | None) -> Body:
    """A block of all matches by id, behind an id. With an embedding everything that is admitted matches."""
    matching: Body = {"filter": [allowed.admitted(query.candidates_filter)]}
    if query.embedding is None:
        matching["filter"].append({"terms": {"tokens": [token_term(allowed.user, token) for token in tokens]}})
    elif has_direction(query.embedding):
        matching["should"] = [cosine(query.embedding)]
    body = _hits(MOST, {"bool": matching}) | {"sort": [{"id": "asc"}], "track_scores": True}
    return body if after is None else body | {"search_after": [after]}


def statistics(allowed: UserFilter, filter: Filter, tokens: Sequence[str]) -> Body:
    """Counts over all that the user sees, and the newest version of anything the user has."""
    counted: Body = {
        "length": {"sum": {"field": "length"}},
        "admitted": {"filter": allowed.admitted(filter)},
    }
    if tokens:
        having = [{"term": {"tokens": token_term(allowed.user, token)}} for token in tokens]
        counted["having"] = {"filters": {"filters": having}}
    return {
        "size": 0,
        "track_total_hits": False,
        "query": allowed.everything(),
        "aggs": {
            "newest": _NEWEST,
            "seen": {"filter": allowed.visible(filter), "aggs": counted},
        },
    }


def around(
    allowed: UserFilter, probe: Probe, size: int, *, floor: float | None = None, scope: str | None = None
) -> Body | None:
    """The documents nearest to any chunk of a probe; None for a probe without a direction.

    `floor` is a cosine; `scope` is the one that holds them directly.
    """
    without = [] if probe.leave_out is None else [probe.leave_out]
    seen = allowed.visible(Filter(), *conditions(Filter(scope=scope)), without=without)
    # A long text asks once for each chunk, so each may look less widely.
    breadth = max(size, AROUND_BREADTH // (1 + len(probe.embeddings) // 4))
    near = [nearest(embedding, breadth, seen) for embedding in probe.embeddings if has_direction(embedding)]
    if not near:
        return None
    body = _hits(size, near[0] if len(near) == 1 else {"dis_max": {"queries": near}})
    return body if floor is None else body | {"min_score": to_score(floor) - 1e-6}


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


def to_score(cosine: float) -> float:
    """OpenSearch's score, 0 to 1, for a cosine."""
    return (1 + cosine) / 2


def to_cosine(score: float) -> float:
    """The inverse; a document without vectors, which has no score, has the cosine 0."""
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
    told = {"stored_fields": "_none_", "docvalue_fields": ["id", "packed"]}
    return {"size": size, **told, "track_total_hits": False, "query": query}
