"""agent: revise_memory, forget_memory, undo_memory_change."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from ...engine import deleting, undoing, updating
from ...engine.call import Call
from ...engine.reading import short_ids
from ...model import Memory
from ...tools import Input
from ..fields import AnyText
from .ids import MemoryId, resolved
from .lines import fenced, memory_lines, said
from .toolset import AGENT


class ReviseInput(Input):
    id: MemoryId
    content: AnyText = Field(description="What is true now, as one full sentence")


@AGENT.tool(
    "save",
    "write",
    needs="index",
    media="text/plain",
    examples=({"id": "3f2b8c1e", "content": "The user lives in Faro, since May 2026."},),
)
def revise_memory(call: Call, input: ReviseInput) -> str:
    """Replace a memory that changed or was wrong. The old text stays in history."""
    old = resolved(call, input.id)
    new = updating.revise(call, old.id, input.content)
    before, after = short_ids(call, [old.id, new.id])
    return said(call, f"Saved as [{after}]; [{before}] is no longer recalled.")


class ForgetInput(Input):
    id: MemoryId


@AGENT.tool("delete", "write", media="text/plain", destructive=True, examples=({"id": "3f2b8c1e"},))
def forget_memory(call: Call, input: ForgetInput) -> str:
    """Delete a memory when the user asks you to forget it."""
    memory = resolved(call, input.id)
    [line] = memory_lines(call, [memory])
    revived = call.space.superseded([memory.id])
    deleting.delete(call, memory.id)
    retention = call.rules.retention
    answer = [
        "Deleted for good:"
        if not retention
        else f"Deleted; undo_memory_change brings it back within {retention.days:,} days:",
        fenced([line]),
    ]
    return "\n".join([*answer, *_recalled_again(call, revived)])


def _recalled_again(call: Call, revived: Sequence[Memory]) -> list[str]:
    """What to say of the memories that a deleted one had superseded, as they were read before."""
    current = [replace(memory, superseded_by=None, superseded_at=None) for memory in revived]
    return ["What it had replaced is recalled again:", fenced(memory_lines(call, current))] if current else []


class UndoInput(Input):
    id: MemoryId | None = Field(None, description="Default: the memory that you changed last")


@AGENT.tool("undo", "write", needs="embedder", media="text/plain", examples=({}, {"id": "3f2b8c1e"}))
def undo_memory_change(call: Call, input: UndoInput) -> str:
    """Undo the last change to a memory: saved, revised or forgotten."""
    id = undoing.last_changed(call) if input.id is None else resolved(call, input.id, deleted=True).id
    revived = call.space.superseded([id])
    memory = undoing.undo(call, id, saves=True)
    [line] = memory_lines(call, [memory])
    if call.space.get([id]):
        return f"Undone. It is stored as:\n{fenced([line])}"
    return "\n".join(["Undone. It is deleted:", fenced([line]), *_recalled_again(call, revived)])
