"""core: append_messages, retrieve_memory."""

from pydantic import Field

from ...engine import conversations
from ...engine.call import Call
from ...engine.conversations import IncomingMessage
from ...errors import InvalidInput
from ...model import DEFAULT_SCOPE, Search
from ...text.limits import MAX_MESSAGES
from ...tools import Answer, Input
from .. import episode_markdown
from ..episode_markdown import Detail
from ..fields import LongText, OuterId, Query, Scope
from . import CORE
from .filtering import ListFilterInput
from .inputs import MessageInput


class AppendedMessage(MessageInput):
    """A message to append."""

    content: LongText = Field(
        min_length=1, description="Text of the message. Over 32 KiB it is stored in several parts."
    )
    id: OuterId | None = Field(
        None,
        description="Your id of this message, unique in the conversation; a UUID is unique in all conversations. A "
        "repeated id is stored once.",
    )

    def to_said(self) -> IncomingMessage:
        return IncomingMessage(message=self.to_message(), id=self.id)


class AppendInput(Input):
    messages: list[AppendedMessage] = Field(
        [], max_length=MAX_MESSAGES, description="The messages, in order. May be omitted with `ended`."
    )
    conversation_id: OuterId | None = Field(None, description="The conversation. Default: the current one.")
    scope: Scope = Field(DEFAULT_SCOPE, description="Where the messages belong; episodes are made per scope.")
    ended: bool = Field(False, description="true: the conversation is over; make its episodes now.")


class AppendedView(Answer):
    """The ids of the stored messages, in order, and those that were stored before. `split` lists all ids of a message
    that is stored in several parts, by its first id. `episodes` were made in this call, also of other conversations; a
    server makes them after it. With `ended`, `closed` says whether all messages are in episodes: if false, repeat with
    `ended`."""

    conversation_id: str
    ids: list[str]
    existed: list[str] | None = None
    split: dict[str, list[str]] | None = None
    episodes: list[str] | None = None
    closed: bool | None = None


@CORE.tool(
    "append_messages",
    "write",
    needs="index",
    keyed=True,
    timeout=30.0,
    examples=(
        {
            "messages": [
                {"role": "user", "content": "I moved to Lisbon last week."},
                {"role": "assistant", "content": "How do you like it?"},
            ],
            "conversation_id": "chat-42",
        },
        {
            "messages": [{"role": "user", "content": "Very much.", "id": "msg-7"}],
            "conversation_id": "chat-42",
            "ended": True,
        },
    ),
)
def append_messages(call: Call, input: AppendInput) -> AppendedView:
    """Store messages of a conversation, in order. A search covers them only with `include_conversation`.

    A message with an `id` can be sent again safely: it is stored once, and stays deleted if it was deleted. If a call
    fails in the middle, the error says how many messages are stored. Related messages become an episode, a memory like
    any other: when the topic changes, after 50 messages, after 15 minutes without a message, or at once with `ended`.
    """
    if not input.messages and not input.ended:
        raise InvalidInput("give at least one message in `messages`, or `ended: true` to end the conversation.")
    messages = [message.to_said() for message in input.messages]
    appended = conversations.append_messages(
        call, messages, input.conversation_id, scope=input.scope, ended=input.ended
    )
    return AppendedView(
        conversation_id=appended.conversation_id,
        ids=appended.ids,
        existed=appended.existed or None,
        split=appended.split or None,
        episodes=[episode.id for episode in appended.episodes] or None,
        closed=appended.closed,
    )


class RetrieveInput(ListFilterInput):
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
    details = episode_markdown.details(input.detail, input.detail_limit, input.limit)
    request = Search(query=input.query, limit=input.limit, filter=input.to_filter(call))
    retrieved, result = conversations.retrieve_memory(call, request)
    call.outcome = result.outcome
    result.check_answered()
    return episode_markdown.render(retrieved, details, call.now(), call.zone)
