"""agent: remember, revise_memory, forget_memory, undo_memory_change."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from ...engine import deleting, saving
from ...engine.call import Call
from ...engine.reading import bare_id, find, find_known, find_start, predecessors_of, short_ids
from ...engine.secrets import redaction_notice
from ...errors import InvalidInput, counted, memory_not_found
from ...model import DEFAULT_SCOPE, Draft, Memory, OutcomeKind
from ...text.limits import check_id, start_of
from ...text.matching import in_scopes
from ...text.schemas import MaxBytes
from ...tools import IN_PROJECT, Input
from ..fields import AnyText, NamedId, When
from ..lines import fenced, memory_lines, shown_to
from . import AGENT

About = Annotated[
    Literal["project", "user"],
    Field(
        description="user: true in all projects, such as who the user is and prefers. Default: this project",
        json_schema_extra={IN_PROJECT: True},
    ),
]
MemoryId = Annotated[NamedId, MaxBytes(128), Field(description="The id in brackets, such as 3f2b8c1e")]


class RememberInput(Input):
    content: AnyText = Field(description="One full sentence that makes sense on its own")
    occurred_at: When | None = Field(
        None, description="Date of the event, such as 2026-05-31. Default: today", json_schema_extra={"format": "date"}
    )
    about: About | None = None


@AGENT.tool(
    "save",
    "write",
    needs="index",
    keyed=True,
    media="text/plain",
    idempotent=True,
    examples=(
        {"content": "The user is vegetarian."},
        {"content": "The user moved from Porto to Faro.", "occurred_at": "2026-05-31"},
    ),
)
def remember(call: Call, input: RememberInput) -> str:
    """Save a fact, preference, decision or event that will matter in later conversations. Write names and dates, not
    "he" or "tomorrow". Don't save passwords, keys or what only matters for the task at hand."""
    draft = Draft(content=input.content, occurred_at=input.occurred_at, scope=_scope(call, input.about))
    result, existed = saving.save_once(call, draft)
    [id] = short_ids(call, [result.memory.id])
    if existed or result.existed:
        return _with_notice(call, f"Already stored as [{id}]; nothing was saved.")
    answer = _with_notice(call, f"Saved as [{id}]{_place(call, result.memory)}.")
    if (old := saving.corrected(call, result)) is not None:
        [old_id] = short_ids(call, [old.id])
        answer += (
            " It may correct an older memory. If it does, call revise_memory with the id "
            f"{old_id} and the same content:\n{fenced(memory_lines(call, [old]))}"
        )
    if call.outcome is not None and call.outcome.kind is OutcomeKind.DEGRADED:
        answer += " Whether it corrects an older memory is not known now."
    return answer


def _scope(call: Call, about: str | None) -> str:
    if about == "project" and call.caller.project is None:
        raise InvalidInput('There is no project here: leave `about` out, or say "user".')
    return DEFAULT_SCOPE if about == "user" else call.scope


def _place(call: Call, memory: Memory) -> str:
    if call.caller.project is None:
        return ""
    return " for this project" if memory.scope == call.caller.project else " for all projects"


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
    old = _resolved(call, input.id)
    new = saving.revise(call, old.id, input.content)
    before, after = short_ids(call, [old.id, new.id])
    return _with_notice(call, f"Saved as [{after}]; [{before}] is no longer recalled.")


class ForgetInput(Input):
    id: MemoryId


@AGENT.tool("delete", "write", media="text/plain", destructive=True, examples=({"id": "3f2b8c1e"},))
def forget_memory(call: Call, input: ForgetInput) -> str:
    """Delete a memory when the user asks you to forget it."""
    memory = _resolved(call, input.id)
    [line] = memory_lines(call, [memory])
    predecessors = predecessors_of(call, memory.id)
    deleting.delete(call, memory.id)
    retention = call.rules.retention
    answer = [
        "Deleted for good:"
        if not retention
        else f"Deleted; undo_memory_change brings it back within {counted(retention.days, 'day', 'days')}:",
        fenced([line]),
    ]
    return "\n".join([*answer, *_recalled_again(call, predecessors)])


def _recalled_again(call: Call, predecessors: Sequence[Memory]) -> list[str]:
    """The sentence on the memories whose place a deleted one had, as they were read before."""
    current = [memory.as_current() for memory in predecessors]
    return ["What it had replaced is recalled again:", fenced(memory_lines(call, current))] if current else []


class UndoInput(Input):
    id: MemoryId | None = Field(None, description="Default: the memory that you changed last")


@AGENT.tool("undo", "write", needs="embedder", media="text/plain", examples=({}, {"id": "3f2b8c1e"}))
def undo_memory_change(call: Call, input: UndoInput) -> str:
    """Undo the last change to a memory: saved, revised or forgotten."""
    id = deleting.last_changed(call) if input.id is None else _resolved(call, input.id, deleted=True).id
    predecessors = predecessors_of(call, id)
    memory = deleting.undo(call, id, saves=True)
    [line] = memory_lines(call, [memory])
    if find_known(call, [id]):
        return f"Undone. It is stored as:\n{fenced([line])}"
    return "\n".join(["Undone. It is deleted:", fenced([line]), *_recalled_again(call, predecessors)])


def _resolved(call: Call, id: str, *, deleted: bool = False) -> Memory:
    """The memory that an id or the start of one means; `deleted` admits deleted ones.

    Raises NotFound, which reads the same for the id of another user, and InvalidInput for what several ids start with.
    """
    text = bare_id(id)
    if check_id(text):
        return _own(find(call, text, deleted=deleted), id)
    start = start_of(text)
    memories = find_start(call, start, deleted=deleted) if start else []
    if not memories:
        raise memory_not_found(id)
    memories = [memory for memory in memories if in_scopes(shown_to(call), memory.scope)] or memories
    if len(memories) > 1:
        raise InvalidInput(
            f"The ids of {len(memories)} memories start with {start}; give more digits of the one that you mean. "
            + fenced(memory_lines(call, memories))
        )
    return memories[0]


def _own(memory: Memory, id: str) -> Memory:
    if memory.source == "conversation":  # never shown here
        raise memory_not_found(id)
    return memory


def _with_notice(call: Call, answer: str) -> str:
    """An answer that says which secrets were replaced before anything was saved."""
    replaced = redaction_notice(call.redacted)
    return answer if replaced is None else f"{answer} {replaced}"
