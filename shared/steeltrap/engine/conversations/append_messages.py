"""Append messages: what was said in a conversation, one turn a message, and the episodes that are over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import AlreadyExists, IdentityMissing
from ...model import DEFAULT_SCOPE, Memory, Message
from ...ports import Create
from .. import save as saving
from ..call import Call
from ..entry import embed_memories, entry
from ..redact import redacted_message
from ..save import Draft
from .close_conversations import close_idle_conversations, end_conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message, and the id that the client knows it by, if any."""

    message: Message
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The ids of the messages' turns, in order; those that were stored before; and the episodes that this made, of
    other conversations too. `closed` says whether every message of a conversation that has ended is in an episode."""

    conversation_id: str
    ids: list[str]
    existed: list[str]
    episodes: list[Memory]
    closed: bool | None = None


def append_messages(
    call: Call,
    messages: Sequence[Said],
    conversation_id: str | None = None,
    *,
    scope: str = DEFAULT_SCOPE,
    ended: bool = False,
) -> Appended:
    """Save turns in order, all or nothing, in a scope. They are seen only by searches that ask for the conversation.

    A message with an id is kept once: repeated, also after it was edited, deleted or closed into an episode, it changes
    nothing. Turns are not looked around at: no surprise and no links. Episodes are made behind that, in a commit
    of their own whose failure changes nothing here. A conversation that has `ended` is closed at once; without
    messages, a failure to do so is raised. Raises IdentityMissing when neither the caller nor the arguments name a
    conversation.
    """
    conversation = conversation_id or call.caller.conversation_id
    if conversation is None:
        raise IdentityMissing(
            "No conversation is known: send the conversation's id with the call, or give `conversation_id`."
        )
    # Before a message is split: half a secret looks like none.
    messages = [replace(said, message=redacted_message(call, said.message)) for said in call.in_time(messages)]
    turns = [_turn(call, said, conversation, scope, position) for position, said in enumerate(call.in_time(messages))]
    named = {turn.id for turn, said in zip(turns, messages, strict=True) if said.id is not None}
    existed = keep_turns(call, turns, named)
    if messages:
        episodes = close_idle_conversations(call, conversation, ended=ended)
    else:
        episodes = end_conversation(call, conversation)
    return Appended(
        conversation_id=conversation,
        ids=[turn.id for turn in turns],
        existed=existed,
        episodes=episodes,
        closed=not call.space.open_turns(conversation) if ended else None,
    )


def _turn(call: Call, said: Said, conversation: str, scope: str, position: int) -> Memory:
    draft = Draft(
        content=said.message.content,
        messages=(said.message,),
        source="conversation",
        scope=scope,
        conversation_id=conversation,
        occurred_at=said.message.time,
        associate=False,
    )
    turn = saving.compose(call, draft, position)
    return turn if said.id is None else replace(turn, id=saving.message_id(call, conversation, said.id))


def keep_turns(call: Call, turns: Sequence[Memory], named: set[str]) -> list[str]:
    """Write the turns that are not stored, each once; the ids of the others, in order. `named` are the ids of turns
    whose messages have an id of their own: such a turn may be there, whatever it says."""
    new: dict[str, Memory] = {}
    existed: dict[str, None] = {}
    for turn in turns:
        if turn.id in new:
            existed[turn.id] = None
        new.setdefault(turn.id, turn)
    changes: dict[str, Create] = {}
    may_exist = list(new) if call.idempotency_key is not None else [id for id in new if id in named]
    taken: set[str] = set()
    while True:
        stored = call.space.get(may_exist, deleted=True) if may_exist else {}
        for id in [id for id in new if id in stored or id in taken]:
            turn = new.pop(id)
            if id not in named:
                saving.written_before(call, turn)
            existed[id] = None
        if not new:
            return list(existed)
        fresh = [turn for id, turn in new.items() if id not in changes]
        vectors = embed_memories(call, fresh)
        for turn, embeddings in call.in_time(zip(fresh, vectors, strict=True)):
            changes[turn.id] = Create(entry=entry(turn, embeddings))
        try:
            call.commit([changes[id] for id in new])
        except AlreadyExists as conflict:
            # Another call wrote the same message in between. An id conflicts once at most, so this ends.
            if conflict.id not in new:
                raise
            taken.add(conflict.id)
        else:
            return list(existed)
