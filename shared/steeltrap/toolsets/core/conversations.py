"""core: append_messages."""

from pydantic import Field

from ...engine.call import Call
from ...engine.conversations import append_messages as appending
from ...tools import Answer, Input
from .inputs import MessageInput
from .toolset import CORE


class AppendInput(Input):
    messages: list[MessageInput] = Field(min_length=1, max_length=100, description="The messages, in order.")
    conversation_id: str | None = Field(
        None, min_length=1, max_length=512, description="The conversation. Default: the current one."
    )


class AppendedView(Answer):
    """The ids of the stored messages, and of episodes made now, also from other conversations."""

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
    """Store messages of a conversation, in order. A search covers them only with `include_conversation`.

    Related messages become an episode, a memory like any other: when the topic changes, after 50 messages, or after 15
    minutes without a message.
    """
    said = [message.to_message() for message in input.messages]
    appended = appending.append_messages(call, said, input.conversation_id)
    return AppendedView(
        conversation_id=appended.conversation_id,
        ids=[turn.id for turn in appended.turns],
        episodes=[episode.id for episode in appended.episodes] or None,
    )
