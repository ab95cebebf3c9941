"""core: append_messages."""

from pydantic import Field

from ...engine import append_messages as appending
from ...engine.call import Call
from ...tools import Answer, Input
from .toolset import CORE
from .writing import MessageInput


class AppendInput(Input):
    messages: list[MessageInput] = Field(min_length=1, max_length=100, description="What was said, in order.")
    conversation_id: str | None = Field(
        None, min_length=1, max_length=512, description="The conversation; left out: the current one."
    )


class AppendedView(Answer):
    """How many turns were kept, and of which conversation."""

    conversation_id: str
    ids: list[str]


@CORE.tool(
    "append_messages",
    "write",
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
    """Keep what was said in a conversation, in order. It is searched only when a search asks for the conversation."""
    turns = appending.append_messages(call, [message.to_message() for message in input.messages], input.conversation_id)
    return AppendedView(conversation_id=turns[0].conversation_id or "", ids=[turn.id for turn in turns])
