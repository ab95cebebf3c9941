"""Searches of notes: the best passage of a long note, and the notes that were about the query before an update.

A module of its own: no other search needs it.
"""

from collections.abc import Sequence
from typing import Final

from ..errors import INDEX_FAILURES
from ..model import Embedding, Filter, Hit, Memory, to_micros
from ..ranking.choosing import subject
from ..text.matching import admits
from ..text.sentences import chunks, passage
from ..text.vectors import calibrated, nearest
from ..text.words import query_tokens, tokens
from .call import Call
from .reading import latest_writes

_LATEST: Final = 100
"""Writes, the latest ones, among which updated notes are looked for."""
_MOST_CHANGED: Final = 20
"""Updated notes whose earlier text is read."""


def passages(call: Call, query: str, memories: Sequence[Memory]) -> list[str]:
    """The text of each memory, or its best chunk if it has several."""
    spans = {memory.id: pieces for memory in memories if len(pieces := chunks(memory.content)) > 1}
    if not spans:
        return [memory.content for memory in memories]
    query_vector, vectors = _vectors(call, query, list(spans))
    return [
        _best(call, query, spans[memory.id], query_vector, vectors.get(memory.id, ()))
        if memory.id in spans
        else memory.content
        for memory in memories
    ]


def _vectors(call: Call, query: str, ids: Sequence[str]) -> tuple[Embedding, dict[str, tuple[Embedding, ...]]]:
    """The query's vector and those of the chunks; none where the index fails, since words can do without."""
    try:
        return call.embed([query], "query")[0], call.space.embeddings(ids)
    except INDEX_FAILURES:
        return b"", {}


def _best(call: Call, query: str, spans: Sequence[str], query_vector: Embedding, vectors: Sequence[Embedding]) -> str:
    words = frozenset(query_tokens(query))
    words_of_spans = [words & frozenset(tokens(span)) for span in spans]
    # A word that every chunk has tells them apart no better than one that none has.
    word_weights = {
        word: 1 / sum(word in of_span for of_span in words_of_spans) for of_span in words_of_spans for word in of_span
    }
    whole = sum(word_weights.values()) or 1.0
    weight = call.rules.ranking.vector
    scores = [(1 - weight) * sum(word_weights[word] for word in sorted(of_span)) / whole for of_span in words_of_spans]
    if len(vectors) == len(spans):
        for place, vector in enumerate(vectors):
            scores[place] += weight * calibrated(nearest(query_vector, [vector]), call.embedder.unrelated)
    return passage(spans, scores.index(max(scores)))


def by_earlier_text(call: Call, query: str, filter: Filter, limit: int) -> list[Hit]:
    """Notes updated lately whose text before the update has every word of the query's subject, newest first.

    A correction may share no word with what it corrects: "User's name is Shantanu" became "User prefers SG", and is
    still the answer for "name".
    """
    about = subject(query)
    latest = latest_writes(call.space, _LATEST) if about else []
    updated_notes = [memory for memory in latest if memory.version > 1 and admits(filter, memory, call.now())]
    score = 1 - call.rules.ranking.vector
    hits = []
    for memory in call.in_time(updated_notes[:_MOST_CHANGED]):
        earlier = call.space.revisions(memory.id, after=memory.version - 2, limit=1)
        if earlier and about.issubset(tokens(earlier[0].memory.content)):
            hits.append(Hit(memory=memory, score=round(score, 4)))
    return sorted(hits, key=lambda hit: (-to_micros(hit.memory.created_at), hit.memory.id))[:limit]
