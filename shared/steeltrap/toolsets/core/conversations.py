"""core: append_messages."""

from pydantic import Field

from ...engine.call import Call
from ...engine.conversations import append_messages as appending
from ...tools import Answer, Input
from .inputs import MessageInput
from .toolset import CORE


class AppendInput(Input):
    messages: list[MessageInput] = Field(min_length=1, max_length=100, description="What was said, in order.")
    conversation_id: str | None = Field(
        None, min_length=1, max_length=512, description="The conversation; left out: the current one."
    )


class AppendedView(Answer):
    """The turns that were kept, and the memories that now sum up what was over, of other conversations too."""

    conversation_id: str
    ids: list[str]
    episodes: list[str] | None = None


@CORE.tool(
    "append_messages",
    "write",
    needs="index",
    examples=(
        {
            "messages": [
                {"role": "user", "content": "I moved to Lisbon last week."},
                {"role": "assistant", "content": "How do you like it?"},
            ],
            "conversation_id": "chat-42",
        },
    ),
)
def append_messages(call: Call, input: AppendInput) -> AppendedView:
    """Keep what was said in a conversation, in order. It is searched only when a search asks for the conversation.

    What belongs together becomes an episode, a memory like any other: at a shift of topic, after 50 messages, and
    when nothing was said for 15 minutes.
    """
    said = [message.to_message() for message in input.messages]
    appended = appending.append_messages(call, said, input.conversation_id)
    return AppendedView(
        conversation_id=appended.conversation_id,
        ids=[turn.id for turn in appended.turns],
        episodes=[episode.id for episode in appended.episodes] or None,
    )
