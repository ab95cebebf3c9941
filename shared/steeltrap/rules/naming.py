"""Which other memories a record names, by its links and by superseding: what a purge of one has to take out. Pure."""

from collections.abc import Collection
from dataclasses import replace

from ..model import Memory
from .ids import canonical


def named(memory: Memory) -> set[str]:
    """The ids, in their one form, that a record names."""
    ids = [*(link.target_id for link in memory.links), *memory.supersedes, memory.superseded_by or ""]
    return {id for id in map(canonical, ids) if id}


def without(memory: Memory, gone: Collection[str]) -> Memory:
    """The memory without these names. What one of them superseded is superseded no more."""
    if not named(memory) & set(gone):
        return memory
    is_free = canonical(memory.superseded_by or "") in gone
    return replace(
        memory,
        links=tuple(link for link in memory.links if canonical(link.target_id) not in gone),
        supersedes=tuple(id for id in memory.supersedes if canonical(id) not in gone),
        superseded_by=None if is_free else memory.superseded_by,
        superseded_at=None if is_free else memory.superseded_at,
    )
