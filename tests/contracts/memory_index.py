"""An index in memory, exact and in step with nothing but what it is told: for tests of a store that needs one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from steeltrap.errors import SteeltrapError
from steeltrap.model import Filter, Query, from_micros, to_micros
from steeltrap.ports import (
    Deadline,
    Document,
    Indexed,
    IndexedCandidate,
    IndexedNeighbour,
    IndexedSurroundings,
    Probe,
    Tombstone,
)
from steeltrap.text.matching import admits, sees
from steeltrap.text.vectors import nearest
from steeltrap.text.words import traits


class MemoryIndex:
    """Keeps the latest of each document. `failing`, if there is one, is raised by whatever is asked; writes go on.

    `asked` counts the questions.
    """

    def __init__(self, failing: SteeltrapError | None = None) -> None:
        self.documents: dict[tuple[str, str], Document | Tombstone] = {}
        self.failing = failing
        self.asked = 0

    def write(self, documents: Sequence[Document | Tombstone], deadline: Deadline) -> dict[int, SteeltrapError]:
        for document in documents:
            there = self.documents.get((document.user, document.id))
            if there is None or there.index_version < document.index_version:
                self.documents[document.user, document.id] = document
        return {}

    def check(self) -> None:
        self.asked += 1
        if self.failing is not None:
            raise self.failing

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
        self.check()
        documents, newest = self._looked_at(user, before, leave_out)
        at = from_micros(now)
        seen = [d for d in documents if sees(query.filter, d.memory, at)]
        tokens = tuple(dict.fromkeys(query.tokens))
        candidates = [d for d in documents if admits(query.candidates_filter, d.memory, at)]
        counts = {d.id: Counter(d.tokens) for d in candidates + seen}
        found = [
            IndexedCandidate(
                id=d.id,
                index_version=d.index_version,
                created=to_micros(d.memory.created_at),
                cosine=None if query.embedding is None else nearest(query.embedding, d.embeddings),
                frequencies=tuple(counts[d.id][token] for token in tokens),
                length=len(d.tokens),
                pinned=d.memory.pinned,
                surprise=d.memory.surprise,
                importance=None if d.memory.importance is None else d.memory.importance.score,
                conversation=d.memory.conversation_id,
                position=d.position,
                speaker=d.speaker,
                traits=int(traits(d.memory)),
            )
            for d in (candidates if query.per_leg != 0 else ())
        ]
        return Indexed(
            candidates=tuple(found),
            stored=len(seen),
            admitted=sum(admits(query.filter, d.memory, at) for d in seen),
            length=sum(len(d.tokens) for d in seen),
            frequencies=tuple(sum(token in counts[d.id] for d in seen) for token in tokens),
            newest=newest,
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
        self.check()
        documents, newest = self._looked_at(user, before, leave_out)
        seen = [d for d in documents if sees(Filter(), d.memory, from_micros(now))]
        return [replace(_around(probe, seen, floor, top_k), newest=newest) for probe in probes]

    def _looked_at(self, user: str, before: int | None, leave_out: Sequence[str]) -> tuple[list[Document], int | None]:
        known = [
            document
            for (owner, _), document in self.documents.items()
            if owner == user and (before is None or document.index_version < before)
        ]
        documents = [d for d in known if isinstance(d, Document) and d.id not in leave_out]
        return documents, max((d.index_version for d in known), default=None)


def _around(probe: Probe, documents: Sequence[Document], floor: float, top_k: int) -> IndexedSurroundings:
    found = sorted(
        (
            (max((nearest(v, d.embeddings) for v in probe.embeddings), default=0.0), d)
            for d in documents
            if d.id != probe.leave_out
        ),
        key=lambda pair: (-pair[0], -to_micros(pair[1].memory.created_at), pair[1].id),
    )
    near = [(c, d) for c, d in found if c >= floor and probe.scope in (None, d.memory.scope)]
    return IndexedSurroundings(
        anywhere=tuple(
            IndexedNeighbour(d.id, c, to_micros(d.memory.created_at), d.index_version) for c, d in found[:1]
        ),
        near=tuple(IndexedNeighbour(d.id, c, to_micros(d.memory.created_at), d.index_version) for c, d in near[:top_k]),
    )
