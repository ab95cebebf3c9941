"""Import conversations: turns under their own ids, many conversations at a time, each closed into episodes at once."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

from ...errors import AlreadyExists, SteeltrapError
from ...model import DEFAULT_SCOPE, MAX_CONTENT_BYTES, Draft, JsonObject, Memory
from ...model.frozen import frozen
from ...ports import Close, Create
from ...rules.ids import piece_id
from ...rules.pieces import pieces
from .. import save as saving
from ..call import Call
from ..redact import redacted_message
from .append_messages import Said, first_piece, keep_turns
from .close_conversations import EPISODES_PER_CALL, due, end_conversation, episode_of, without_forgotten

_TURNS_AT_ONCE: Final = 500


@frozen
class Conversation:
    """A conversation that has ended, and how it is filed. Its messages have ids that are the same at each import.

    `copied_from` are other conversations that its messages may have been stored in by an earlier version.
    """

    id: str
    messages: tuple[Said, ...]
    copied_from: tuple[str, ...] = ()
    context: str | None = None
    scope: str = DEFAULT_SCOPE
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)


@frozen
class ImportedConversations:
    """How many messages were written and how many were there, the episodes that were made, and the errors by the index
    of the conversation and that of the message."""

    written: int
    skipped: int
    episodes: int
    errors: dict[tuple[int, int], SteeltrapError] = field(default_factory=dict)


def import_conversations(
    call: Call, conversations: Sequence[Conversation], *, surroundings: bool = False
) -> ImportedConversations:
    """Write the messages that are not there, and make all episodes of these conversations.

    A message that is there stays as it is, also one that was deleted, edited, appended by `append_messages` under the
    same id, or brought by another conversation that has a copy. So a conversation that has grown gets what is new, and
    an import that was killed goes on where it was.
    `surroundings` looks around at the episodes (surprise and links).
    """
    turns: dict[str, Memory] = {}
    errors: dict[tuple[int, int], SteeltrapError] = {}
    skipped = 0
    # Redacted before they are split: half a secret looks like none.
    whole = [
        replace(each, messages=tuple(replace(m, message=redacted_message(call, m.message)) for m in each.messages))
        for each in call.in_time(conversations)
    ]
    ids = iter(saving.message_ids(call, [named for each in whole for named in _named(each)]))
    for index, conversation in enumerate(call.in_time(whole)):
        for number, said in enumerate(conversation.messages):
            id = next(ids)
            try:
                made = _turns(call, conversation, said, id)
            except SteeltrapError as error:
                errors[index, number] = error
                continue
            for turn in made:
                skipped += turn.id in turns
                turns.setdefault(turn.id, turn)
    all_turns = list(turns.values())
    written = len(all_turns)
    for start in call.in_time(range(0, len(all_turns), _TURNS_AT_ONCE)):
        block = all_turns[start : start + _TURNS_AT_ONCE]
        written -= len(keep_turns(call, [[turn] for turn in block], {turn.id for turn in block}))
    skipped += len(all_turns) - written
    episodes = _end(call, list(dict.fromkeys(each.id for each in conversations)), surroundings)
    return ImportedConversations(written=written, skipped=skipped, episodes=episodes, errors=errors)


def _named(conversation: Conversation) -> list[saving.Named]:
    return [
        saving.Named(
            id=said.id or str(number),
            conversation_id=conversation.id,
            text=first_piece(said.message.content),
            universal=said.universal,
            copied_from=conversation.copied_from,
        )
        for number, said in enumerate(conversation.messages)
    ]


def _turns(call: Call, conversation: Conversation, said: Said, id: str) -> list[Memory]:
    """The turn of a message, or the turns of one that is too long for a memory."""
    return [
        _turn(call, conversation, said, piece, piece_id(id, part))
        for part, piece in enumerate(pieces(said.message.content, MAX_CONTENT_BYTES))
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
    return replace(saving.compose(call, draft), id=id)


def _end(call: Call, ids: Sequence[str], surroundings: bool) -> int:
    """Make all episodes of these conversations, many in one commit; how many those were."""
    made = 0
    while over := [(id, turns) for id in call.in_time(ids) for turns in due(call, id, ended=True)]:
        for start in range(0, len(over), EPISODES_PER_CALL):
            block = over[start : start + EPISODES_PER_CALL]
            try:
                _make(call, [turns for _, turns in block], surroundings)
                made += len(block)
            except AlreadyExists:  # another call closed one of them in between
                made += sum(len(end_conversation(call, id)) for id in dict.fromkeys(id for id, _ in block))
        ids = list(dict.fromkeys(id for id, _ in over))  # a very long conversation has more
    return made


def _make(call: Call, over: Sequence[list[Memory]], surroundings: bool) -> None:
    episodes = [episode_of(call, turns) for turns in call.in_time(over)]
    changes: list[Create | Close] = []
    for create, turns in zip(saving.creations(call, episodes, surroundings=surroundings), over, strict=True):
        changes += [create, Close(turn_ids=tuple(turn.id for turn in turns))]
    # What they sum up was admitted as turns.
    call.commit(changes, within_quota=False)
    for (_, episode), turns in zip(episodes, over, strict=True):
        without_forgotten(call, episode, turns)
