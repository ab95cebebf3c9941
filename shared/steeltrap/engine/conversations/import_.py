"""Import conversations: turns under their own ids, many conversations at a time, each closed into episodes at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ...errors import SteeltrapError
from ...model import DEFAULT_SCOPE, MAX_CONTENT_BYTES, JsonObject, Memory
from ...rules.pieces import pieces
from .. import save as saving
from ..call import Call
from ..save import Draft
from .append_messages import Said, keep_turns
from .close_conversations import end_conversation

_TURNS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation that has ended, and how it is filed. Its messages have ids that are the same at each import."""

    id: str
    messages: tuple[Said, ...]
    context: str | None = None
    scope: str = DEFAULT_SCOPE
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversations:
    """How many messages were written and how many were there, the episodes that were made, and the errors by the index
    of the conversation and that of the message."""

    written: int
    skipped: int
    episodes: int
    errors: dict[tuple[int, int], SteeltrapError] = field(default_factory=dict)


def import_conversations(call: Call, conversations: Sequence[Conversation]) -> ImportedConversations:
    """Write the messages that are not there, and make all episodes of these conversations.

    A message that is there stays as it is, also one that was deleted, edited, or appended by `append_messages` under
    the same id. So a conversation that has grown gets what is new, and an import that was killed goes on where it was.
    """
    turns: dict[str, Memory] = {}
    errors: dict[tuple[int, int], SteeltrapError] = {}
    for index, conversation in enumerate(call.in_time(conversations)):
        for number, said in enumerate(conversation.messages):
            try:
                turns |= {turn.id: turn for turn in _turns(call, conversation, said, number)}
            except SteeltrapError as error:
                errors[index, number] = error
    ids = list(turns)
    skipped = 0
    for start in call.in_time(range(0, len(ids), _TURNS_AT_ONCE)):
        block = [turns[id] for id in ids[start : start + _TURNS_AT_ONCE]]
        skipped += len(keep_turns(call, block, {turn.id for turn in block}))
    made = sum(len(end_conversation(call, conversation.id)) for conversation in call.in_time(conversations))
    return ImportedConversations(written=len(ids) - skipped, skipped=skipped, episodes=made, errors=errors)


def _turns(call: Call, conversation: Conversation, said: Said, number: int) -> list[Memory]:
    """The turn of a message, or the turns of one that is too long for a memory."""
    known = said.id or str(number)
    return [
        _turn(call, conversation, said, piece, known if part == 1 else f"{known}#{part}")
        for part, piece in enumerate(pieces(said.message.content, MAX_CONTENT_BYTES), 1)
    ]


def _turn(call: Call, conversation: Conversation, said: Said, content: str, id: str) -> Memory:
    draft = Draft(
        content=content,
        messages=(replace(said.message, content=content),),
        source="conversation",
        conversation_id=conversation.id,
        context=conversation.context,
        scope=conversation.scope,
        tags=conversation.tags,
        metadata=conversation.metadata,
        occurred_at=said.message.time,
        associate=False,
    )
    return replace(saving.compose(call, draft), id=saving.message_id(call, conversation.id, id))
