"""Conversations: turns are appended, closed into episodes, and recalled.

An episode is a memory that sums up its turns. Turns are kept first and summed up in a second commit, which creates an
episode and closes its turns together. An episode's id follows from its first turn, so nobody makes the same one twice.
Where a conversation falls into episodes, and how one is summed up, are pure rules elsewhere.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from heapq import heappop, heappush
from itertools import accumulate, islice, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID, uuid5

from .. import telemetry
from ..changes.images import entry
from ..errors import AlreadyExists, IdentityMissing, SteeltrapError
from ..model import (
    DEFAULT_SCOPE,
    MAX_CONTENT_BYTES,
    Draft,
    Hit,
    Memory,
    Message,
    Search,
    Usage,
    When,
    from_micros,
    later,
    to_micros,
    to_moment,
)
from ..model.frozen import frozen
from ..ports import Close, Create
from ..ranking.fading import retrievability, reviewed
from ..ranking.novelty import KEY_MOMENT
from ..text import segmentation
from ..text.limits import piece_id, size_of
from ..text.remains import said_by
from ..text.sentences import pieces, summary
from . import saving
from .call import Call
from .deleting import rewrite_without
from .reading import open_turns
from .saving import embed_memories, first_image
from .searching import Found, search
from .secrets import redacted_message

if TYPE_CHECKING:
    from ..ranking.scored import Fused

_BLOCK_TURNS: Final = 100
_BLOCK_BYTES: Final = 1024 * 1024
_ADVICE: Final = (
    "Send the others; or send all again, if the call has an idempotency key or every message an `id`: what is stored "
    "is skipped."
)


@frozen
class IncomingMessage:
    """A message, and the id that the client knows it by, if any. `universal` says that the id is the message's own in
    every conversation, as a UUID always is."""

    message: Message
    id: str | None = None
    universal: bool = False


@frozen
class Appended:
    """Result of appending messages: the id of each one's turn, in order, and the ids that were stored before.

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
    messages: Sequence[IncomingMessage],
    conversation_id: str | None = None,
    *,
    scope: str = DEFAULT_SCOPE,
    ended: bool = False,
) -> Appended:
    """Save messages in order in a scope, as turns, which are seen only by searches that ask for the conversation.

    They are written in blocks of up to 100 turns or 1 MiB, each all or nothing, after all have been checked. A failure
    after the first block is raised with `stored`, the number of messages that are stored. A message with an id is
    kept once, and one whose id is a UUID once in all conversations: repeated, also after it was edited, deleted or
    closed into an episode, it changes nothing, and so does any message under a repeated idempotency key.

    Turns are not looked around at: no surprise and no links. Episodes are made afterwards: by the call's
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
    messages = [replace(item, message=redacted_message(call, item.message)) for item in call.in_time(messages)]
    own = [
        saving.MessageIdentity(id=item.id, conversation_id=conversation, text=first_piece(item.message.content))
        for item in messages
        if item.id is not None
    ]
    ids = iter(saving.message_ids(call, own))
    all_turns = [
        _turns(call, item, conversation, scope, at, None if item.id is None else next(ids))
        for at, item in enumerate(call.in_time(messages))
    ]
    named_ids = {turns[0].id for turns, item in zip(all_turns, messages, strict=True) if item.id is not None}
    existed = _keep_all(call, all_turns, named_ids)
    episodes = _close(call, conversation, ended=ended, is_all=not messages)
    return Appended(
        conversation_id=conversation,
        ids=[turns[0].id for turns in all_turns],
        existed=existed,
        split={turns[0].id: [turn.id for turn in turns] for turns in all_turns if len(turns) > 1},
        episodes=episodes,
        closed=not open_turns(call.space, conversation) if ended else None,
    )


def _close(call: Call, conversation: str, *, ended: bool, is_all: bool) -> list[Memory]:
    if is_all:
        return end_conversation(call, conversation)
    if ended or call.background is None:
        return close_idle_conversations(call, conversation, ended=ended)
    call.background.appended(call.caller.user, conversation)
    return []


def _turns(call: Call, item: IncomingMessage, conversation: str, scope: str, position: int, own: str | None) -> Turns:
    turns: list[Memory] = []
    for number, piece in enumerate(pieces(item.message.content, MAX_CONTENT_BYTES)):
        draft = Draft(
            content=piece,
            messages=(replace(item.message, content=piece),),
            source="conversation",
            scope=scope,
            conversation_id=conversation,
            occurred_at=item.message.time,
            associate=False,
        )
        turn = saving.compose(call, draft, position)
        turns.append(replace(turn, id=piece_id(turns[0].id if turns else own or turn.id, number)))
    return turns


def first_piece(content: str) -> str:
    """The text of a message's first turn."""
    return next(iter(pieces(content, MAX_CONTENT_BYTES)), "")


def _keep_all(call: Call, messages: Sequence[Turns], named_ids: set[str]) -> list[str]:
    """Write the messages in blocks; the ids of those that were stored, in order."""
    existed: dict[str, None] = {}
    count = 0
    try:
        for block in _blocks(messages):
            existed |= dict.fromkeys(keep_turns(call, block, named_ids))
            count += len(block)
    except SteeltrapError as error:
        if not count:
            raise
        raise type(error)(
            f"{error.cause}; the first {count} of {len(messages)} messages are stored. {_ADVICE}",
            retryable=error.can_retry,
            **error.details,
            stored=count,
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


def keep_turns(call: Call, block: Sequence[Turns], named_ids: set[str]) -> list[str]:
    """Write the turns of messages that are not stored, all or none; the ids of the messages that were stored.

    `named_ids` are the ids of messages that have an id of their own: such a message may be there, whatever it says.
    """
    may_exist = [turn.id for turns in block for turn in turns if call.idempotency_key or turns[0].id in named_ids]
    changes: dict[str, Create] = {}

    def write(taken_ids: Set[str]) -> list[str]:
        memories = call.space.get(may_exist, deleted=True) if may_exist else {}
        missing: dict[str, Turns] = {}
        existed: list[str] = []
        for turns in block:
            id = turns[0].id
            if id not in missing and (absent := _absent(call, turns, memories, taken_ids, is_named=id in named_ids)):
                missing[id] = absent
            else:
                existed.append(id)
        new = [turn for turns in missing.values() for turn in turns]
        fresh = [turn for turn in new if turn.id not in changes]
        vectors = embed_memories(call, fresh) if fresh else []
        for turn, embeddings in call.in_time(zip(fresh, vectors, strict=True)):
            changes[turn.id] = Create(entry=entry(turn, embeddings))
        if new:
            call.commit([changes[turn.id] for turn in new])
        return existed

    return call.create_absent(write)


def _absent(
    call: Call, turns: Turns, memories: Mapping[str, Memory], taken_ids: Set[str], *, is_named: bool
) -> list[Memory]:
    """The turns of a message that are to be written."""
    absent = [turn for turn in turns if turn.id not in memories and turn.id not in taken_ids]
    if not is_named:
        for turn in turns:
            if turn.id in memories:
                saving.written_before(call, turn)
    elif absent and (first := memories.get(turns[0].id)) and first_image(call, first).content != turns[0].content:
        return []  # another text under the same id: the first one stays as it is
    return absent


CONVERSATIONS_PER_CALL: Final = 20
EPISODES_PER_CALL: Final = 20
_TURNS_AT_ONCE: Final = EPISODES_PER_CALL * segmentation.MAX_MESSAGES

_log = logging.getLogger("steeltrap")


def close_idle_conversations(
    call: Call, conversation_id: str | None = None, *, ended: bool = False, open_too: bool = False
) -> list[Memory]:
    """Make the episodes that are due beside another operation: of this conversation, and of up to 20 that
    have been idle for 15 minutes; at most 20 episodes, the others next time. All of a conversation that has `ended`,
    and with `open_too` those that are due in up to 20 conversations that go on.

    Never fails that operation and leaves it half of its time; what can't be done now is logged.
    """
    memories: list[Memory] = []
    try:
        half = call.deadline.within(call.deadline.left() / 2)
        hurried = replace(call, deadline=half, space=call.space.until(half))
        if conversation_id is not None:
            close = end_conversation if ended else close_conversation
            memories += close(hurried, conversation_id)
        since = call.now() if open_too else call.now() - segmentation.PAUSE
        memories += close_since(hurried, since, episodes=EPISODES_PER_CALL - len(memories))
    except SteeltrapError as error:
        _log.warning("an episode was not made (%s), it will be next time", error.code)
    except Exception as fault:
        telemetry.log_fault("making an episode", fault)
    return memories


def close_since(
    call: Call, since: datetime, *, conversations: int = CONVERSATIONS_PER_CALL, episodes: int = EPISODES_PER_CALL
) -> list[Memory]:
    """Make the episodes that are due in conversations last written to at or before a time, the longest idle first."""
    memories: list[Memory] = []
    if episodes > 0:
        for conversation in call.space.idle_conversations(since, limit=conversations):
            memories += close_conversation(call, conversation, episodes=episodes - len(memories))
    return memories


def close_conversation(
    call: Call, conversation_id: str, *, episodes: int = EPISODES_PER_CALL, ended: bool = False
) -> list[Memory]:
    """Make the episodes of a conversation that are over, at most `episodes` of them. Raises Unavailable.

    The last of them is over after 15 minutes, or at once in a conversation that has `ended`. Agents that use one
    conversation id each have their own episodes, and so has each scope.
    """
    memories: list[Memory] = []
    tries = episodes
    while tries > 0:
        for turns in due(call, conversation_id, ended)[:tries]:
            tries -= 1
            memory = _make(call, turns)
            if memory is None:
                break  # someone else closed some of these turns: look again
            memories.append(memory)
        else:
            break
    return memories


def end_conversation(call: Call, conversation_id: str) -> list[Memory]:
    """Make all episodes of a conversation that has ended. Raises Unavailable."""
    memories: list[Memory] = []
    while more := close_conversation(call, conversation_id, ended=True):
        memories += more
    return memories


def due(call: Call, conversation_id: str, ended: bool) -> list[list[Memory]]:
    """The turns of each episode that is over; of a very long conversation the first of them."""
    apart: dict[tuple[str | None, str, str | None], list[Memory]] = {}
    for turn in open_turns(call.space, conversation_id):
        apart.setdefault(_group(turn), []).append(turn)
    return [episode for turns in apart.values() for episode in _segments(call, turns, ended)]


def _group(turn: Memory) -> tuple[str | None, str, str | None]:
    """The fields that the turns of one episode have in common; an import's own, so that it can be taken back."""
    return turn.agent_id, turn.scope, turn.import_id


def _segments(call: Call, turns: list[Memory], ended: bool) -> list[list[Memory]]:
    window = turns[:_TURNS_AT_ONCE]
    vectors = call.space.embeddings([turn.id for turn in window])
    segments = [
        segmentation.Turn(
            written_at=turn.created_at,
            said_at=to_moment(_said_at(turn)),
            size=size_of(said_by(turn)),
            vector=segmentation.vector(vectors.get(turn.id, ())),
        )
        for turn in window
    ]
    # What lies after the window shows that its end is not the conversation's.
    now = call.now() if len(window) == len(turns) else window[-1].created_at
    if ended and len(window) == len(turns):
        now = max(now, later(window[-1].created_at, segmentation.PAUSE))
    lengths = segmentation.episodes(segments, unrelated=call.embedder.unrelated, now=now)
    return [window[end - length : end] for length, end in zip(lengths, accumulate(lengths), strict=True)]


def _make(call: Call, turns: Sequence[Memory]) -> Memory | None:
    """The new episode, None when it was there already: another closer or an import made it."""
    draft, memory = episode_of(call, turns)
    [embeddings] = embed_memories(call, [memory])
    [around] = saving.look_around(call, [memory], [embeddings])
    memory = saving.with_surroundings(call, memory, draft, around)
    closing = Close(turn_ids=tuple(turn.id for turn in turns))
    try:
        # What it sums up was admitted when it was said, and a reading that makes episodes must not fail for them.
        call.commit([Create(entry=entry(memory, embeddings)), closing], within_quota=False)
    except AlreadyExists:
        _close_turns_of(call, memory.id, turns)
        return None
    return without_forgotten(call, memory, turns)


def without_forgotten(call: Call, episode: Memory, turns: Sequence[Memory]) -> Memory | None:
    """An episode that was just made, without turns that were forgotten since they were read."""
    memories = call.space.get([turn.id for turn in turns], deleted=True)
    missing = [turn for turn in turns if turn.id not in memories]
    return rewrite_without(call, episode, missing) if missing else episode


def episode_of(call: Call, turns: Sequence[Memory]) -> tuple[Draft, Memory]:
    """The episode that turns become, without what a look around adds. Its id follows from the first turn's."""
    first = turns[0]
    # Clients may send what was said earlier after what was said later.
    times = [_said_at(turn) for turn in turns]
    messages = tuple(said_by(turn) for turn in turns)
    draft = Draft(
        content=summary(messages),
        messages=messages,
        context=first.context,
        tags=first.tags,
        metadata=first.metadata,
        scope=first.scope,
        agent_label=first.agent_label,
        untrusted=any(turn.untrusted for turn in turns),
        conversation_id=first.conversation_id,
        occurred_at=min(times, key=to_micros),
        occurred_until=max(times, key=to_micros),
    )
    id = str(uuid5(UUID(first.id), "episode"))
    as_said = replace(call, secrets="off")  # its secrets were dealt with when it was said
    mark = 1 if first.import_id else None
    episode = saving.compose(as_said, draft)
    return draft, replace(episode, id=id, agent_id=first.agent_id, import_id=first.import_id, import_version=mark)


def _close_turns_of(call: Call, id: str, turns: Sequence[Memory]) -> None:
    """Close the turns that an episode sums up which is there already, if nobody did."""
    first = turns[0]
    episode = call.space.get([id], deleted=True).get(id)
    unclosed = open_turns(call.space, first.conversation_id or "")
    still = [turn for turn in unclosed if _group(turn) == _group(first)]
    if episode is None or not still or still[0].id != first.id:
        return
    pairs = zip(still, episode.messages, strict=False)
    same_text = takewhile(lambda pair: pair[0].content == pair[1].content, pairs)
    # The first is among them even where it was edited since.
    ids = dict.fromkeys([first.id, *(turn.id for turn, _ in same_text)])
    call.space.commit([Close(turn_ids=tuple(ids))])


def _said_at(turn: Memory) -> When:
    return turn.occurred_at or turn.created_at


_FIRST_PER_RESULT: Final = 4
"""How many candidates a result have their usage read first; where they don't decide it, all others have."""


@frozen
class Retrieved:
    """A hit whose score is relevance (the fused score, 0 to 1) times retrievability, 0 to 1."""

    hit: Hit
    relevance: float
    retrievability: float

    @property
    def is_key_moment(self) -> bool:
        return (self.hit.memory.surprise or 0.0) >= KEY_MOMENT


class _CandidateDecay(NamedTuple):
    """The facts that decay depends on, taken from a candidate, so that only the returned memories are read."""

    created_at: datetime
    surprise: float | None
    pinned: bool


def retrieve_memory(call: Call, request: Search) -> tuple[list[Retrieved], Found]:
    """The best memories by relevance x retrievability. Conversations that are over become memories first.

    A retrieval counts as a review once a day. Raises InvalidInput for a blank query, Unavailable when no
    leg answers.
    """
    is_settled = call.background is None or call.background.wait_for_episodes(call.caller.user, call.deadline)
    close_idle_conversations(call, open_too=not is_settled)
    weighing = _Weighing(call, request.limit)
    result = search(call, request, weighing.weigh)
    retrieved = []
    for hit in result.hits:
        usage = weighing.usage.get(hit.memory.id, Usage())
        if card := reviewed(hit.memory, usage, weighing.now):
            call.space.note_review(hit.memory.id, previous=usage.card, card=card)
        relevance, factor = weighing.factors[hit.memory.id]
        retrieved.append(
            Retrieved(
                hit=hit,
                relevance=round(relevance, 4),
                retrievability=round(factor, 4),
            )
        )
    return retrieved, result


class _Weighing:
    """Multiplies scores by retrievability, for as many candidates as can be among the best."""

    def __init__(self, call: Call, limit: int) -> None:
        self.now = call.now()
        self.usage: dict[str, Usage] = {}
        self.factors: dict[str, tuple[float, float]] = {}
        self._space = call.space
        self._limit = limit
        self._few = _FIRST_PER_RESULT * limit

    def weigh(self, ranked: "Iterable[Fused]") -> "list[Fused]":
        rest = iter(ranked)
        weighed: list[Fused] = []
        best: list[float] = []
        block = list(islice(rest, self._few))
        while block:
            self._read(block)
            for f in block:
                # A product is never above the score it began as: the rest can't come near the best any more.
                if len(best) == self._limit and min(1.0, f.score) < best[0]:
                    return weighed
                self._weigh(f)
                weighed.append(f)
                heappush(best, f.score)
                if len(best) > self._limit:
                    heappop(best)
            block = list(rest)
        return weighed

    def _read(self, fused: "list[Fused]") -> None:
        self.usage |= self._space.usage([f.id for f in fused])

    def _weigh(self, f: "Fused") -> None:
        decaying = _CandidateDecay(from_micros(f.created), f.surprise, f.pinned)
        factor = retrievability(decaying, self.usage.get(f.id, Usage()), self.now)
        relevance = min(1.0, max(0.0, f.score))
        self.factors[f.id] = relevance, factor
        f.score = relevance * factor
