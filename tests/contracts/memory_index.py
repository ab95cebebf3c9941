"""An index in memory, exact and in step with nothing but what it is told: for tests of a store that needs one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from steeltrap.errors import SteeltrapError
from steeltrap.model import Query
from steeltrap.ports import Document, Indexed, IndexedCandidate, IndexedNeighbour, IndexedSurroundings, Probe, Tombstone
from steeltrap.rules.matching import admits, sees
from steeltrap.rules.vectors import nearest


class MemoryIndex:
    """Keeps the latest of each document. `failing` is raised by whatever is asked; `asked` counts the questions."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], Document | Tombstone] = {}
        self.failing: SteeltrapError | None = None
        self.asked = 0

    def write(self, documents: Sequence[Document | Tombstone], *, timeout: float) -> dict[int, SteeltrapError]:
        self.check()
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
        timeout: float,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> Indexed:
        self.check()
        documents, newest = self._looked_at(user, before, leave_out)
        seen = [d for d in documents if sees(query.filter, d, now)]
        tokens = tuple(dict.fromkeys(query.tokens))
        counts = {d.id: Counter(d.tokens) for d in seen}
        admitted = [d for d in seen if admits(query.filter, d, now)]
        found = [
            IndexedCandidate(
                id=d.id,
                index_version=d.index_version,
                created=d.created_at,
                cosine=None if query.embedding is None else nearest(query.embedding, d.embeddings),
                frequencies=tuple(counts[d.id][token] for token in tokens),
                length=len(d.tokens),
                pinned=d.pinned,
                surprise=d.surprise,
                importance=d.importance,
                conversation=d.conversation_id,
                position=d.position,
                speaker=d.speaker,
            )
            for d in (admitted if query.per_leg != 0 else ())
        ]
        return Indexed(
            candidates=tuple(found),
            stored=len(seen),
            admitted=len(admitted),
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
        timeout: float,
        before: int | None = None,
        leave_out: Sequence[str] = (),
    ) -> list[IndexedSurroundings]:
        self.check()
        documents, newest = self._looked_at(user, before, leave_out)
        seen = [d for d in documents if not d.turn and (d.expires_at is None or d.expires_at > now)]
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
        key=lambda pair: (-pair[0], -pair[1].created_at, pair[1].id),
    )
    near = [(c, d) for c, d in found if c >= floor and probe.scope in (None, d.scope)]
    return IndexedSurroundings(
        anywhere=tuple(IndexedNeighbour(d.id, c, d.created_at, d.index_version) for c, d in found[:1]),
        near=tuple(IndexedNeighbour(d.id, c, d.created_at, d.index_version) for c, d in near[:top_k]),
    )
