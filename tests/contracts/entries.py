"""Inputs of a store in tests: entries as the engine makes them, changes, queries."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from clock import NOON
from embedding import HashedWords
from steeltrap.model import Embedding, Filter, Matches, Memory, Query, Revision
from steeltrap.ports import Clock, Create, Embedder, Entry, Guard, MemoryStore, Probe, Replace, Space
from steeltrap.text.sentences import chunks
from steeltrap.text.vectors import unit_vector
from steeltrap.text.words import text_digest, tokens

EMBEDDER = HashedWords()
SECONDS = 30.0
Opening = Callable[[Clock, Embedder], MemoryStore]
"""Opens a store; called again, it opens the same data as another process would."""


def ids(count: int) -> list[str]:
    """Ids in ascending order."""
    return [str(UUID(int=0x1000_0000_0000_4000_8000_0000_0000_0000 + i)) for i in range(count)]


def vector(*numbers: float) -> Embedding:
    """The unit vector of these numbers, zeros behind them."""
    return unit_vector([*numbers, *[0.0] * (EMBEDDER.dimension - len(numbers))])


def embed(text: str) -> tuple[Embedding, ...]:
    return tuple(EMBEDDER.embed(chunks(text), purpose="document", timeout=SECONDS))


def entry(memory: Memory, vectors: Sequence[Embedding] | None = None) -> Entry:
    return Entry(
        memory=memory,
        fold=text_digest(memory.content),
        embeddings=embed(memory.content) if vectors is None else tuple(vectors),
        tokens=tuple(tokens(memory.content)),
    )


def memory(content: str, **fields: Any) -> Memory:
    times = {"created_at": NOON, "updated_at": fields.get("created_at", NOON)}
    return Memory(**{"id": str(uuid4()), "content": content, **times, **fields})


def turn(content: str, conversation_id: str, **fields: Any) -> Memory:
    return memory(content, source="conversation", conversation_id=conversation_id, **fields)


def creation(
    content: str, *, vectors: Sequence[Embedding] | None = None, guard: Guard | None = None, **fields: Any
) -> Create:
    return Create(entry=entry(memory(content, **fields), vectors), guard=guard)


def save(space: Space, content: str, **options: Any) -> Memory:
    return store(space, creation(content, **options))


def store(space: Space, change: Create | Replace) -> Memory:
    space.commit([change])
    return change.entry.memory


def replacement(old: Memory, **changes: Any) -> Replace:
    """An update that keeps the old image."""
    new = replace(old, **{"version": old.version + 1, **changes})
    kept = Revision(memory=old, replaced_at=new.updated_at, replaced_by="agent")
    return Replace(entry=entry(new), expected=old.version, history=(kept,))


def update(space: Space, old: Memory, **changes: Any) -> Memory:
    return store(space, replacement(old, **changes))


def delete(space: Space, old: Memory, at: datetime = NOON) -> Memory:
    gone = replace(old, version=old.version + 1, deleted_at=at)
    out = Entry(memory=gone, fold=text_digest(gone.content), embeddings=(), tokens=())
    return store(space, Replace(entry=out, expected=old.version))


def query(
    text: str = "",
    *,
    near: Embedding | None = None,
    per_leg: int | None = 100,
    by_term: bool = False,
    with_superseded: bool = False,
    **conditions: Any,
) -> Query:
    return Query(
        tokens=tuple(tokens(text)),
        embedding=near,
        filter=Filter(**conditions),
        per_leg=per_leg,
        by_term=by_term,
        with_superseded=with_superseded,
    )


def search(space: Space, text: str = "", **options: Any) -> Matches:
    return space.search(query(text, **options))


def found(matches: Matches) -> set[str]:
    return {candidate.id for candidate in matches.candidates}


def probe(text: str, *, scope: str | None = "user/default", leave_out: str | None = None) -> Probe:
    return Probe(embeddings=embed(text), scope=scope, leave_out=leave_out)


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def dot(one: Embedding, other: Embedding) -> float:
    layout = f"<{EMBEDDER.dimension}f"
    return sum(a * b for a, b in zip(struct.unpack(layout, one), struct.unpack(layout, other), strict=True))
