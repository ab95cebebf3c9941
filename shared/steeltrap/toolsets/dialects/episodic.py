"""`episodic`: conversations remembered as episodes, which fade unless they are recalled.

The dialect's document defines the form of a retrieval. Limits: `limit` from 1 to 100, `detail_limit` 0 or more.
"""

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from ...engine import conversations
from ...engine.call import Call
from ...engine.conversations import Retrieved
from ...model import Message, Search, When, from_micros
from ...record import read_when
from ...text.sentences import gist
from ...tools import Answer, Input, Toolset
from .. import episode_markdown
from ..core import error_body
from ..episode_markdown import Detail
from ..fields import LongText, OuterId, Role

EPISODIC = Toolset(
    name="episodic",
    description="Episodes of past conversations, recalled as Markdown for a model; messages are added one by one.",
    instructions="This is the memory of past conversations, as episodes that fade unless they are recalled. Call "
    "retrieve_memory before you answer if an earlier conversation may matter; it shows summaries, and for key "
    "moments the messages too. Set detail_limit to see more messages. Call add_message for each message of the "
    "conversation, the user's and yours; they become episodes without further calls.",
    render_error=error_body,
    standard_errors=True,
)


class RetrieveInput(Input):
    query: str = Field(max_length=8192, description="Search query text")
    limit: int = Field(5, ge=1, le=100, description="Maximum number of memories to return")
    detail_limit: int | None = Field(
        None,
        ge=0,
        description="Maximum memories to include full details for; left out: ranks 1-2 if surprising",
    )
    detail: Detail | None = Field(
        None,
        description="Instead of `detail_limit`: auto (ranks 1-2 if surprising), none, low (rank 1 if surprising), "
        "high (all)",
    )


@EPISODIC.tool(
    "retrieve_memory",
    "write",
    needs="index",
    timeout=15.0,
    media="text/markdown",
    paths=("/api/v0/retrieve_memory",),
    examples=(
        {"query": "how are you"},
        {"query": "what should I learn next", "detail_limit": 3},
        {"query": "remind me what we discussed", "detail_limit": 0},
    ),
)
def retrieve_memory(call: Call, input: RetrieveInput) -> str:
    """Recall past conversations that matter now. Returns Markdown, the most relevant first: when it was, a summary, and the messages of key moments."""  # noqa: E501 - one paragraph for a model
    details = episode_markdown.details(input.detail, input.detail_limit, input.limit)
    return episode_markdown.render(_retrieve(call, input), details, call.now(), call.zone)


class RetrieveRawInput(RetrieveInput):
    """The same arguments. `detail` and `detail_limit` have no effect, because messages are always included."""


class MessageView(Answer):
    role: str
    content: str
    timestamp: When | None
    speaker: str | None


class EpisodeView(Answer):
    """A memory. `score` is `relevance` times `retrievability`, each 0 to 1."""

    id: str
    content: str
    messages: list[MessageView]
    surprise: float | None
    start_at: When
    end_at: When
    created_at: datetime
    score: float
    relevance: float
    retrievability: float


@EPISODIC.tool(
    "retrieve_memory",
    "write",
    needs="index",
    timeout=15.0,
    paths=("/api/v0/retrieve_memory/raw",),
    examples=({"query": "what should I learn next", "limit": 3},),
)
def retrieve_memory_raw(call: Call, input: RetrieveRawInput) -> list[EpisodeView]:
    """Recall past conversations that matter now, as JSON for a program: each with its messages, times and scores."""
    episode_markdown.details(input.detail, input.detail_limit, input.limit)
    return [_view(item) for item in _retrieve(call, input)]


_WHOLE = re.compile("-?[0-9]{1,18}")


def _timestamp(value: Any) -> When:
    # Seconds and milliseconds can't be told apart; the document's clients send milliseconds.
    number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) else value
    if isinstance(number, str):
        return read_when(number)
    try:
        return from_micros(number * 1000)
    except (TypeError, OverflowError, ValueError, OSError):
        raise ValueError("must be in milliseconds since 1970, such as 1769851800000") from None


Timestamp = Annotated[When, BeforeValidator(_timestamp), WithJsonSchema({"type": "integer"})]
"""Milliseconds since 1970, an ISO 8601 time, or a date: a day without a time."""


class MessageInput(Input):
    role: Role = Field(description="Who spoke: user or assistant")
    content: LongText = Field(description="What was said")
    timestamp: Timestamp | None = Field(
        None, description="When it was said, in milliseconds since 1970 or as an ISO 8601 time. Default: now"
    )


class AddMessageInput(Input):
    message: MessageInput = Field(description="The message")
    conversation_id: OuterId | None = Field(None, description="The conversation. Default: the current one")


class AcceptedView(Answer):
    accepted: bool


@EPISODIC.tool(
    "append_messages",
    "write",
    needs="index",
    keyed=True,
    paths=("/api/v0/add_message",),
    examples=(
        {
            "conversation_id": "0195f3c4-7a58-7f43-b4ac-0b0f0e7d2f11",
            "message": {"role": "user", "content": "My new team is all Rust.", "timestamp": 1769851800000},
        },
    ),
)
def add_message(call: Call, input: AddMessageInput) -> AcceptedView:
    """Add a message to a conversation. Related messages become an episode, which retrieve_memory finds."""
    item = input.message
    message = Message(role=item.role, content=item.content, time=item.timestamp)
    conversations.append_messages(call, [conversations.IncomingMessage(message=message)], input.conversation_id)
    return AcceptedView(accepted=True)


def _retrieve(call: Call, input: RetrieveInput) -> list[Retrieved]:
    retrieved, result = conversations.retrieve_memory(call, Search(query=input.query, limit=input.limit))
    call.outcome = result.outcome
    result.check_answered()
    return retrieved


def _view(item: Retrieved) -> EpisodeView:
    memory = item.hit.memory
    start = memory.occurred_at or memory.created_at
    return EpisodeView(
        id=memory.id,
        content=gist(memory.content, memory.messages),
        messages=[
            MessageView(role=m.role, content=m.content, timestamp=m.time, speaker=m.speaker) for m in memory.messages
        ],
        surprise=memory.surprise,
        start_at=start,
        end_at=memory.occurred_until or start,
        created_at=memory.created_at,
        score=item.hit.score,
        relevance=item.relevance,
        retrievability=item.retrievability,
    )
