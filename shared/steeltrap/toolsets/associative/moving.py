"""associative: memory_move."""

from pydantic import Field

from ...engine import updating
from ...engine.call import Call
from ..fields import MemoryIds, Scope
from .levels import Full, Levelled, LevelledInput, Long, Minimal, Standard, Succeeded, answered
from .toolset import ASSOCIATIVE


class MoveInput(LevelledInput):
    memory_ids: MemoryIds = Field(description="The ids of the memories to move.")
    target_scope: Scope = Field(description="The scope to move them to, such as 'work/archive'.")


class MoveFailure(Levelled):
    """A memory that could not be moved, and why."""

    memory_id: str
    code: str
    message: Full[str] = None


class MoveAnswer(Succeeded):
    """`failed_count` or `failed` is set only if some memories could not be moved. If none could, the call fails."""

    ids = ("moved_items",)

    failed_count: Minimal[int] = None
    moved_count: Standard[int] = None
    target_scope: Long[str] = None
    failed: Long[list[MoveFailure]] = None
    moved_items: Full[list[str]] = None
    source_scope: Full[str | list[str]] = Field(
        None, description="One scope as a string, or a list if there were several."
    )


@ASSOCIATIVE.tool(
    "move",
    "write",
    needs="index",
    idempotent=True,
    timeout=30.0,
    examples=({"memory_ids": ["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"], "target_scope": "work/archive"},),
)
def memory_move(call: Call, input: MoveInput) -> MoveAnswer:
    """Move memories to another scope. They are associated with similar memories there; manual links stay."""
    moved = updating.move(call, input.memory_ids, input.target_scope)
    if not moved.memories:
        first = next(iter(moved.failures.values()))
        raise type(first)(f"None of {len(moved.failures)} could be moved: {first.message}", **first.details)
    sources = sorted(set(moved.sources.values()))
    answer = MoveAnswer(
        moved_count=len(moved.memories),
        target_scope=input.target_scope,
        moved_items=[memory.id for memory in moved.memories],
        source_scope=sources[0] if len(sources) == 1 else sources,
    )
    if moved.failures:
        answer.failed_count = len(moved.failures)
        answer.failed = [
            MoveFailure(memory_id=id, code=error.code, message=error.message) for id, error in moved.failures.items()
        ]
    return answered(call, input.response_level, answer)
