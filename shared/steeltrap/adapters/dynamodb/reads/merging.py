"""What the index found and the latest writes as one answer: one set of statistics, one score, one cut. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from heapq import nsmallest
from typing import Final

from ....model import (
    NO_TERMS,
    Candidate,
    Candidates,
    Filter,
    Matches,
    Neighbour,
    Query,
    Surroundings,
    from_micros,
    to_micros,
)
from ....ports import Document, Indexed, IndexedCandidate, IndexedNeighbour, IndexedSurroundings, Probe
from ....ranking import weights
from ....text.matching import admits, in_time, sees
from ....text.vectors import nearest
from ....text.words import Trait, traits
from .overlay import Recent

_ANYTHING: Final = Filter()


def matches(query: Query, indexed: Indexed, recent: Recent, now: int) -> Matches:
    """The best of each leg, with true scores in both by the statistics of all that the user sees."""
    tokens = tuple(dict.fromkeys(query.tokens))
    at = from_micros(now)
    seen = [d for d in recent.documents.values() if sees(query.filter, d.memory, at)]
    admitted = sum(admits(query.filter, d.memory, at) for d in seen)
    candidates = [d for d in recent.documents.values() if admits(query.candidates_filter, d.memory, at)]
    counted = {d.id: Counter(d.tokens) for d in (*seen, *candidates)} if tokens else {}
    scorer = _Scorer(query, tokens, indexed, [(len(d.tokens), counted.get(d.id, Counter())) for d in seen])
    found = [c for c in indexed.candidates if not recent.has(c.id) and _on_days(query.candidates_filter, c)]
    found += [_candidate(d, query, tokens, counted.get(d.id, Counter())) for d in candidates]
    rows = list(_cut([scorer.scored(c) for c in found], query))
    return Matches(
        candidates=Candidates.of(rows, documents=scorer.documents, frequencies=scorer.frequencies),
        stored=indexed.stored + len(seen),
        admitted=indexed.admitted + admitted,
    )


def frequencies(query: Query, indexed: Indexed, recent: Recent, now: int) -> dict[str, int]:
    """How many of the memories that the user sees have each distinct token of a query."""
    tokens = tuple(dict.fromkeys(query.tokens))
    at = from_micros(now)
    seen = Counter(t for d in recent.documents.values() if sees(query.filter, d.memory, at) for t in set(d.tokens))
    having = indexed.frequencies or (0,) * len(tokens)
    return {token: count + seen[token] for token, count in zip(tokens, having, strict=True)}


def surroundings(
    probe: Probe, indexed: IndexedSurroundings, recent: Recent, *, now: int, floor: float, top_k: int
) -> Surroundings:
    """The nearest memory anywhere, and those near enough in the probe's scope."""
    at = from_micros(now)
    around = [
        (IndexedNeighbour(d.id, _cosine(probe, d), to_micros(d.memory.created_at), d.index_version), d.memory.scope)
        for d in recent.documents.values()
        if sees(_ANYTHING, d.memory, at) and d.id != probe.leave_out
    ]
    anywhere = [n for n in indexed.anywhere if not recent.has(n.id)] + [n for n, _ in around]
    near = [n for n in indexed.near if not recent.has(n.id)]
    near += [n for n, scope in around if n.cosine >= floor and probe.scope in (None, scope)]
    [*first] = nsmallest(1, anywhere, key=_nearest_first)
    return Surroundings(
        nearest=Neighbour(first[0].id, first[0].cosine) if first else None,
        near=tuple(Neighbour(n.id, n.cosine) for n in nsmallest(top_k, near, key=_nearest_first)),
    )


class _Scorer:
    """BM25 by the statistics of the indexed documents and of those written since."""

    def __init__(
        self, query: Query, tokens: Sequence[str], indexed: Indexed, recent: Sequence[tuple[int, Counter[str]]]
    ) -> None:
        self._by_term = query.by_term or bool(query.during)
        self.documents = documents = indexed.stored + len(recent)
        length = indexed.length + sum(length for length, _ in recent)
        having = indexed.frequencies or (0,) * len(tokens)
        self._average = max(1.0, length / max(1, documents))
        self._tokens = tokens
        self.frequencies = {
            token: count + sum(1 for _, counts in recent if token in counts)
            for token, count in zip(tokens, having, strict=True)
        }
        self._idf = [weights.idf(count, documents) for count in self.frequencies.values()]

    def scored(self, found: IndexedCandidate) -> Candidate:
        """A candidate with its BM25 score, and what each token adds to it where that is asked for."""
        terms = [
            float(weights.term_score(count, found.length, self._average, idf)) if count else 0.0
            for count, idf in zip(found.frequencies, self._idf, strict=True)
        ]
        return Candidate(
            id=found.id,
            cosine=found.cosine,
            bm25=sum(terms) if self._tokens else None,
            created=found.created,
            pinned=found.pinned,
            surprise=found.surprise,
            terms={i: score for i, score in enumerate(terms) if score} if self._by_term else NO_TERMS,
            conversation=None if found.conversation is None else _number(found.conversation),
            position=found.position,
            speaker=found.speaker,
            importance=found.importance,
            chunks=found.chunks,
            traits=found.traits,
            occurred=found.occurred,
        )


def _on_days(filter: Filter, found: IndexedCandidate) -> bool:
    """Whether a filter's days hold for a candidate; the index asks for wider ones."""
    if filter.first_day is filter.end_day is None or found.occurred is None:
        return True
    at = from_micros(found.occurred)
    return in_time(filter, "occurred_at", at.date() if found.traits & Trait.DAY else at)


def _candidate(d: Document, query: Query, tokens: Sequence[str], counts: Counter[str]) -> IndexedCandidate:
    memory = d.memory
    return IndexedCandidate(
        id=memory.id,
        index_version=d.index_version,
        created=to_micros(memory.created_at),
        cosine=None if query.embedding is None else nearest(query.embedding, d.embeddings),
        frequencies=tuple(counts[token] for token in tokens),
        length=len(d.tokens),
        pinned=memory.pinned,
        surprise=memory.surprise,
        importance=None if memory.importance is None else memory.importance.score,
        conversation=memory.conversation_id,
        position=d.position,
        speaker=d.speaker,
        chunks=max(1, len(d.embeddings)),
        traits=traits(memory),
        occurred=None if memory.occurred_at is None else to_micros(memory.occurred_at),
    )


def _cut(scored: Sequence[Candidate], query: Query) -> Iterable[Candidate]:
    """The best of each leg; of those that tie for the last place the newest, then by id."""
    by_words = [c for c in scored if c.bm25]
    if query.per_leg is not None:
        by_words = nsmallest(query.per_leg, by_words, key=lambda c: (-(c.bm25 or 0.0), -c.created, c.id))
    if query.embedding is None:
        return by_words
    by_meaning = list(scored)
    if query.per_leg is not None:
        by_meaning = nsmallest(query.per_leg, scored, key=lambda c: (-(c.cosine or 0.0), -c.created, c.id))
    return {c.id: c for c in (*by_meaning, *by_words)}.values()


def _cosine(probe: Probe, document: Document) -> float:
    return max((nearest(vector, document.embeddings) for vector in probe.embeddings), default=0.0)


def _nearest_first(neighbour: IndexedNeighbour) -> tuple[float, int, str]:
    return (-neighbour.cosine, -neighbour.created, neighbour.id)


def _number(conversation: str) -> int:
    return int.from_bytes(blake2b(conversation.encode(), digest_size=6).digest(), "big")
