"""Append messages: what was said in a conversation, one turn a message."""

from collections.abc import Sequence

from ..errors import IdentityMissing
from ..model import Memory, Message
from ..ports import Create
from .call import Call
from .entry import embed_chunks, entry
from .save import Draft, compose, create_all


def append_messages(call: Call, messages: Sequence[Message], conversation_id: str | None = None) -> list[Memory]:
    """Save turns in order, all or nothing. They are seen only by searches that ask for the conversation.

    Turns are not looked around at: no surprise and no links. Raises IdentityMissing when neither the
    caller nor the arguments name a conversation.
    """
    conversation = conversation_id or call.caller.conversation_id
    if conversation is None:
        raise IdentityMissing(
            "No conversation is known: send the conversation's id with the call, or give `conversation_id`."
        )
    turns = [
        compose(
            call,
            Draft(
                content=message.content,
                messages=(message,),
                source="conversation",
                conversation_id=conversation,
                occurred_at=message.time,
                associate=False,
            ),
            position,
        )
        for position, message in enumerate(messages)
    ]
    vectors = embed_chunks(call, [turn.content for turn in turns])
    changes = [Create(entry=entry(turn, vector)) for turn, vector in zip(turns, vectors, strict=True)]
    return create_all(call, changes)
