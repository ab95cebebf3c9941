"""core: retrieve_memory."""

from pydantic import Field

from ...engine import conversations
from ...engine.call import Call
from ...model import Search
from .. import episode_markdown
from ..episode_markdown import Detail
from ..fields import Query
from .filtering import FilterInput
from .toolset import CORE


class RetrieveInput(FilterInput):
    include_superseded: bool = Field(False, description="Include memories that another one superseded.")
    query: Query
    limit: int = Field(5, ge=1, le=100, description="Maximum number of memories.")
    detail_limit: int | None = Field(
        None,
        ge=0,
        description="How many memories to show with messages. Default: the first two, if surprising.",
    )
    detail: Detail | None = Field(
        None,
        description="Instead of `detail_limit`: auto (the first two if surprising), none, low (the first if "
        "surprising), high (all).",
    )


@CORE.tool(
    "retrieve_memory",
    "write",
    needs="index",
    timeout=15.0,
    media="text/markdown",
    examples=({"query": "what should I learn next", "limit": 3}, {"query": "the move to Lisbon", "detail": "high"}),
)
def retrieve_memory(call: Call, input: RetrieveInput) -> str:
    """Recall relevant memories as Markdown: what was learned, how long ago, and how relevant it is.

    Memories fade unless they are recalled. The score is relevance times how well a memory is still remembered;
    recalling a memory strengthens it.
    """
    wanted = episode_markdown.details(input.detail, input.detail_limit, input.limit)
    request = Search(query=input.query, limit=input.limit, filter=input.to_filter(call))
    retrieved, found = conversations.retrieve_memory(call, request)
    call.outcome = found.outcome
    found.check_answered()
    return episode_markdown.render(retrieved, wanted, call.now(), call.zone)
