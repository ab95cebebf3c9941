"""associative: memory_list_all."""

from math import ceil

from pydantic import Field

from ...engine import reading
from ...engine.call import Call
from ...model import Filter
from .levels import Full, Levelled, LevelledInput, Long, Short, Standard, Succeeded, answered, preview
from .toolset import ASSOCIATIVE
from .views import CompleteMemory, Placed, complete


class ListAllInput(LevelledInput):
    page: int = Field(1, ge=1, le=10_000_000, description="Page number, from 1.")
    per_page: int = Field(10, ge=1, le=100, description="Number of memories per page.")


class Listed(Placed):
    preview: Standard[str] = None


class ListedMemory(CompleteMemory, Listed):
    """A memory on the page."""


class PaginationInfo(Levelled):
    """The position of this page."""

    page: int
    per_page: int
    total_count: int
    total_pages: int
    has_next: bool
    has_previous: bool


class ListAllAnswer(Succeeded):
    """`total_count` counts all memories, not only those on the page."""

    total_count: Short[int] = None
    memories: Long[list[ListedMemory]] = None
    pagination_info: Full[PaginationInfo] = None


@ASSOCIATIVE.tool("list", "read", examples=({}, {"page": 2, "per_page": 20}))
def memory_list_all(call: Call, input: ListAllInput) -> ListAllAnswer:
    """List all memories page by page, newest first. To find something, use memory_search."""
    page = reading.list_memories(call, Filter(), limit=input.per_page, offset=(input.page - 1) * input.per_page)
    answer = ListAllAnswer(
        total_count=page.total,
        memories=[
            ListedMemory(id=memory.id, scope=memory.scope, preview=preview(memory.content, 30), **complete(memory))
            for memory in page.memories
        ],
        pagination_info=PaginationInfo(
            page=input.page,
            per_page=input.per_page,
            total_count=page.total,
            total_pages=ceil(page.total / input.per_page),
            has_next=input.page * input.per_page < page.total,
            has_previous=input.page > 1,
        ),
    )
    return answered(call, input.response_level, answer)
