"""agent: remember."""

from typing import Annotated, Literal

from pydantic import Field

from ...engine import saving
from ...engine.call import Call
from ...engine.reading import short_ids
from ...errors import InvalidInput
from ...model import DEFAULT_SCOPE, Draft, Memory, OutcomeKind
from ...tools import IN_PROJECT, Input
from ..fields import AnyText, When
from .lines import fenced, memory_lines, said
from .toolset import AGENT

About = Annotated[
    Literal["project", "user"],
    Field(
        description="user: true in all projects, such as who the user is and prefers. Default: this project",
        json_schema_extra={IN_PROJECT: True},
    ),
]


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
    saved, existed = saving.save_once(call, draft)
    [id] = short_ids(call, [saved.memory.id])
    if existed or saved.existed:
        return said(call, f"Already stored as [{id}]; nothing was saved.")
    answer = said(call, f"Saved as [{id}]{_place(call, saved.memory)}.")
    corrected = call.space.get([saved.probably_supersedes]) if saved.probably_supersedes else {}
    if corrected:
        [old] = short_ids(call, list(corrected))
        answer += (
            " It may correct an older memory. If it does, call revise_memory with the id "
            f"{old} and the same content:\n{fenced(memory_lines(call, list(corrected.values())))}"
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
