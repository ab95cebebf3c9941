"""Append messages: what was said in a conversation, one turn a message, and the episodes that are over."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import IdentityMissing
from ...model import Memory, Message
from ...ports import Create
from ..call import Call
from ..entry import embed_memories, entry
from ..save import Draft, compose, create_all
from .close_conversations import close_idle_conversations


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The turns that were kept, in order, and the episodes that this made, of other conversations too."""

    conversation_id: str
    turns: list[Memory]
    episodes: list[Memory]


def append_messages(call: Call, messages: Sequence[Message], conversation_id: str | None = None) -> Appended:
    """Save turns in order, all or nothing. They are seen only by searches that ask for the conversation.

    Turns are not looked around at: no surprise and no links. Episodes are made behind that, in a commit
    of their own whose failure changes nothing here. Raises IdentityMissing when neither the caller nor
    the arguments name a conversation.
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
        for position, message in enumerate(call.in_time(messages))
    ]
    vectors = embed_memories(call, turns)
    made = call.in_time(zip(turns, vectors, strict=True))
    changes = [Create(entry=entry(turn, vector)) for turn, vector in made]
    kept = create_all(call, changes)
    return Appended(conversation_id=conversation, turns=kept, episodes=close_idle_conversations(call, conversation))
