"""Ids as a model gives them: whole, or the start that an answer showed."""

from typing import Annotated, Final

from pydantic import Field

from ...engine.call import Call
from ...engine.reading import bare_id, find, not_found
from ...errors import InvalidInput
from ...model import Memory
from ...text.limits import check_id, start_of
from ...text.matching import in_scopes
from ...text.schemas import MaxBytes
from .lines import fenced, memory_lines, shown_to

_CANDIDATES: Final = 10

MemoryId = Annotated[str, MaxBytes(128), Field(description="The id in brackets, such as 3f2b8c1e")]


def resolved(call: Call, given: str, *, deleted: bool = False) -> Memory:
    """The memory that an id or the start of one means; `deleted` admits deleted ones.

    Raises NotFound, which reads the same whoever owns such an id, and InvalidInput for what several ids start with.
    """
    text = bare_id(given)
    if check_id(text):
        return _own(find(call, text, deleted=deleted), given)
    start = start_of(text)
    [ids] = call.space.completions([start], limit=_CANDIDATES) if start else [[]]
    memories = [memory for memory in call.space.get(ids, deleted=deleted).values() if memory.source != "conversation"]
    if not memories:
        raise not_found(given)
    memories = [memory for memory in memories if in_scopes(shown_to(call), memory.scope)] or memories
    if len(memories) > 1:
        raise InvalidInput(
            f"The ids of {len(memories)} memories start with {start}; give more digits of the one that you mean. "
            + fenced(memory_lines(call, memories))
        )
    return memories[0]


def _own(memory: Memory, given: str) -> Memory:
    if memory.source == "conversation":  # never shown here
        raise not_found(given)
    return memory
