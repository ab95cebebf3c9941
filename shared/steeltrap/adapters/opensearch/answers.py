"""What came back, as the port's own types."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...ports import IndexedCandidate, IndexedNeighbour
from . import packed
from .queries import to_cosine

Answer = Mapping[str, Any]


def hits(answer: Answer) -> list[dict[str, Any]]:
    """The hits of one part; a part without any has lost the whole branch on the way."""
    found: list[dict[str, Any]] = answer.get("hits", {}).get("hits", [])
    return found


def identity(hit: Mapping[str, Any]) -> str:
    """The memory's id."""
    id: str = hit["fields"]["id"][0]
    return id


def candidate(
    hit: Mapping[str, Any], digests: Sequence[bytes], *, scored: bool, level: float | None
) -> IndexedCandidate:
    """A hit of either leg. Its score tells its cosine if `scored`; else that is `level`."""
    read = packed.read(hit["fields"]["packed"][0], digests)
    return IndexedCandidate(
        id=identity(hit),
        index_version=read.index_version,
        created=read.created,
        cosine=to_cosine(hit["_score"] or 0.0) if scored else level,
        frequencies=read.frequencies,
        length=read.length,
        pinned=read.pinned,
        surprise=read.surprise,
        importance=read.importance,
        conversation=read.conversation,
        position=read.position,
        speaker=read.speaker,
        chunks=read.chunks,
        traits=read.traits,
        occurred=read.occurred,
    )


def neighbours(found: Iterable[Mapping[str, Any]], *, unrelated: bool = False) -> tuple[IndexedNeighbour, ...]:
    """Hits nearest first, then newest, then by id. What was not compared (`unrelated`) has the cosine 0."""
    near = []
    for hit in found:
        read = packed.read(hit["fields"]["packed"][0], ())
        cosine = 0.0 if unrelated else to_cosine(hit["_score"])
        near.append(IndexedNeighbour(identity(hit), cosine, read.created, read.index_version))
    return tuple(sorted(near, key=lambda n: (-n.cosine, -n.created, n.id)))


def newest(statistics: Answer) -> int | None:
    """The highest index version of what the user has. It comes as a float, which holds microseconds until 2255."""
    value = statistics["aggregations"]["newest"].get("value")
    return None if value is None else int(value)
