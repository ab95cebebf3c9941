"""Append messages: what was said in a conversation, a turn per message, and the episodes that are over."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Final

from ...errors import AlreadyExists, IdentityMissing, SteeltrapError
from ...model import DEFAULT_SCOPE, MAX_CONTENT_BYTES, Draft, Memory, Message
from ...model.frozen import frozen
from ...ports import Create
from ...rules.ids import piece_id
from ...rules.pieces import pieces
from .. import save as saving
from ..call import Call
from ..entry import embed_memories, entry
from ..redact import redacted_message
from ..save import first_image
from .close_conversations import close_idle_conversations, end_conversation

_BLOCK_TURNS: Final = 100
_BLOCK_BYTES: Final = 1024 * 1024
_ADVICE: Final = (
    "Send the others; or send all again, if the call has an idempotency key or every message an `id`: what is stored "
    "is skipped."
)


@frozen
class Said:
    """A message, and the id that the client knows it by, if any. `universal` says that the id is the message's own in
    every conversation, as a UUID always is."""

    message: Message
    id: str | None = None
    universal: bool = False


@frozen
class Appended:
    """What became of messages: the id of each one's turn, in order, and the ids that were stored before.

    `split` has the ids of all turns of each message that is longer than a turn, by the first, which is the message's.
    `episodes` were made by this, of other conversations too. `closed` says whether every message of a conversation that
    has ended is in an episode.
    """

    conversation_id: str
    ids: list[str]
    existed: list[str]
    split: dict[str, list[str]]
    episodes: list[Memory]
    closed: bool | None = None


Turns = Sequence[Memory]
"""A message: one turn, or several if it is long."""


def append_messages(
    call: Call,
    messages: Sequence[Said],
    conversation_id: str | None = None,
    *,
    scope: str = DEFAULT_SCOPE,
    ended: bool = False,
) -> Appended:
    """Save messages in order in a scope, as turns, which are seen only by searches that ask for the conversation.

    They are written in blocks of up to 100 turns or 1 MiB, each all or nothing, after all have been checked. A failure
    behind the first block is raised with `stored`, the number of messages that are stored. A message with an id is
    kept once, and one whose id is a UUID once in all conversations: repeated, also after it was edited, deleted or
    closed into an episode, it changes nothing, and so does any message under a repeated idempotency key.

    Turns are not looked around at: no surprise and no links. Episodes are made behind that: by the call's
    `background`, else here in a commit of their own, whose failure changes nothing. A conversation that has `ended` is
    closed at once; without messages, a failure to do so is raised. Raises IdentityMissing when neither the caller nor
    the arguments name a conversation.
    """
    conversation = conversation_id or call.caller.conversation_id
    if conversation is None:
        raise IdentityMissing(
            "No conversation is known: send the conversation's id with the call, or give `conversation_id`."
        )
    # Before a message is split: half a secret looks like none.
    messages = [replace(said, message=redacted_message(call, said.message)) for said in call.in_time(messages)]
    own = [
        saving.Named(id=said.id, conversation_id=conversation, text=first_piece(said.message.content))
        for said in messages
        if said.id is not None
    ]
    ids = iter(saving.message_ids(call, own))
    all_turns = [
        _turns(call, said, conversation, scope, at, None if said.id is None else next(ids))
        for at, said in enumerate(call.in_time(messages))
    ]
    named = {turns[0].id for turns, said in zip(all_turns, messages, strict=True) if said.id is not None}
    existed = _keep_all(call, all_turns, named)
    episodes = _close(call, conversation, ended=ended, is_all=not messages)
    return Appended(
        conversation_id=conversation,
        ids=[turns[0].id for turns in all_turns],
        existed=existed,
        split={turns[0].id: [turn.id for turn in turns] for turns in all_turns if len(turns) > 1},
        episodes=episodes,
        closed=not call.space.open_turns(conversation) if ended else None,
    )


def _close(call: Call, conversation: str, *, ended: bool, is_all: bool) -> list[Memory]:
    if is_all:
        return end_conversation(call, conversation)
    if ended or call.background is None:
        return close_idle_conversations(call, conversation, ended=ended)
    call.background.appended(call.caller.user, conversation)
    return []


def _turns(call: Call, said: Said, conversation: str, scope: str, position: int, own: str | None) -> Turns:
    turns: list[Memory] = []
    for number, piece in enumerate(pieces(said.message.content, MAX_CONTENT_BYTES)):
        draft = Draft(
            content=piece,
            messages=(replace(said.message, content=piece),),
            source="conversation",
            scope=scope,
            conversation_id=conversation,
            occurred_at=said.message.time,
            associate=False,
        )
        turn = saving.compose(call, draft, position)
        turns.append(replace(turn, id=piece_id(turns[0].id if turns else own or turn.id, number)))
    return turns


def first_piece(content: str) -> str:
    """What the first turn of a message says."""
    return next(iter(pieces(content, MAX_CONTENT_BYTES)), "")


def _keep_all(call: Call, messages: Sequence[Turns], named: set[str]) -> list[str]:
    """Write the messages in blocks; the ids of those that were stored, in order."""
    existed: dict[str, None] = {}
    stored = 0
    try:
        for block in _blocks(messages):
            existed |= dict.fromkeys(keep_turns(call, block, named))
            stored += len(block)
    except SteeltrapError as error:
        if not stored:
            raise
        raise type(error)(
            f"{error.cause}; the first {stored} of {len(messages)} messages are stored. {_ADVICE}",
            retryable=error.can_retry,
            **error.details,
            stored=stored,
        ) from error
    return list(existed)


def _blocks(messages: Sequence[Turns]) -> Iterator[list[Turns]]:
    block: list[Turns] = []
    turns = size = 0
    for message in messages:
        bytes = sum(len(turn.content.encode()) for turn in message)
        if block and (turns + len(message) > _BLOCK_TURNS or size + bytes > _BLOCK_BYTES):
            yield block
            block, turns, size = [], 0, 0
        block.append(message)
        turns += len(message)
        size += bytes
    if block:
        yield block


def keep_turns(call: Call, block: Sequence[Turns], named: set[str]) -> list[str]:
    """Write the turns of messages that are not stored, all or none; the ids of the messages that were stored.

    `named` are the ids of messages that have an id of their own: such a message may be there, whatever it says.
    """
    may_exist = [turn.id for turns in block for turn in turns if call.idempotency_key or turns[0].id in named]
    changes: dict[str, Create] = {}
    taken: set[str] = set()
    while True:
        stored = call.space.get(may_exist, deleted=True) if may_exist else {}
        missing: dict[str, Turns] = {}
        existed: list[str] = []
        for turns in block:
            id = turns[0].id
            if id not in missing and (absent := _absent(call, turns, stored, taken, is_named=id in named)):
                missing[id] = absent
            else:
                existed.append(id)
        new = [turn for turns in missing.values() for turn in turns]
        fresh = [turn for turn in new if turn.id not in changes]
        vectors = embed_memories(call, fresh) if fresh else []
        for turn, embeddings in call.in_time(zip(fresh, vectors, strict=True)):
            changes[turn.id] = Create(entry=entry(turn, embeddings))
        try:
            if new:
                call.commit([changes[turn.id] for turn in new])
        except AlreadyExists as conflict:
            # Another call wrote the same message in between. An id conflicts once at most, so this ends.
            if conflict.id not in changes or conflict.id in taken:
                raise
            taken.add(conflict.id)
        else:
            return existed


def _absent(call: Call, turns: Turns, stored: Mapping[str, Memory], taken: Set[str], *, is_named: bool) -> list[Memory]:
    """The turns of a message that are to be written."""
    absent = [turn for turn in turns if turn.id not in stored and turn.id not in taken]
    if not is_named:
        for turn in turns:
            if turn.id in stored:
                saving.written_before(call, turn)
    elif absent and (first := stored.get(turns[0].id)) and first_image(call, first).content != turns[0].content:
        return []  # another text under the same id: the first one stays as it is
    return absent
