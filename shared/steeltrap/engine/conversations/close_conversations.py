"""Close conversations: what was said becomes episodes, each a memory that sums up its turns.

Turns are kept first and summed up in a second commit, which creates an episode and closes its turns
together. An episode's id follows from its first turn, so nobody makes the same one twice.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import accumulate, takewhile
from typing import Final
from uuid import UUID, uuid5

from ... import telemetry
from ...errors import AlreadyExists, SteeltrapError
from ...model import Draft, Memory, When, to_micros, to_moment
from ...ports import Close, Create
from ...rules import segmentation
from ...rules.limits import size_of
from ...rules.remains import said_by
from ...rules.summary import summary
from .. import save as saving
from ..call import Call
from ..derived import rewrite_without
from ..entry import embed_memories, entry

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
    made: list[Memory] = []
    try:
        half = call.deadline.within(call.deadline.left() / 2)
        hurried = replace(call, deadline=half, space=call.space.until(half))
        if conversation_id is not None:
            close = end_conversation if ended else close_conversation
            made += close(hurried, conversation_id)
        since = call.now() if open_too else call.now() - segmentation.PAUSE
        made += close_since(hurried, since, episodes=EPISODES_PER_CALL - len(made))
    except SteeltrapError as error:
        _log.warning("an episode was not made (%s), it will be next time", error.code)
    except Exception as fault:
        telemetry.log_fault("making an episode", fault)
    return made


def close_since(
    call: Call, since: datetime, *, conversations: int = CONVERSATIONS_PER_CALL, episodes: int = EPISODES_PER_CALL
) -> list[Memory]:
    """Make the episodes that are due in conversations last written to at or before a time, the longest idle first."""
    made: list[Memory] = []
    if episodes > 0:
        for conversation in call.space.idle_conversations(since, limit=conversations):
            made += close_conversation(call, conversation, episodes=episodes - len(made))
    return made


def close_conversation(
    call: Call, conversation_id: str, *, episodes: int = EPISODES_PER_CALL, ended: bool = False
) -> list[Memory]:
    """Make the episodes of a conversation that are over, at most so many. Raises Unavailable.

    The last of them is over after 15 minutes, or at once in a conversation that has `ended`. Agents that use one
    conversation id each have their own episodes, and so has each scope.
    """
    made: list[Memory] = []
    tries = episodes
    while tries > 0:
        for turns in due(call, conversation_id, ended)[:tries]:
            tries -= 1
            memory = _make(call, turns)
            if memory is None:
                break  # someone else closed some of these turns: look again
            made.append(memory)
        else:
            break
    return made


def end_conversation(call: Call, conversation_id: str) -> list[Memory]:
    """Make all episodes of a conversation that has ended. Raises Unavailable."""
    made: list[Memory] = []
    while more := close_conversation(call, conversation_id, ended=True):
        made += more
    return made


def due(call: Call, conversation_id: str, ended: bool) -> list[list[Memory]]:
    """The turns of each episode that is over; of a very long conversation the first of them."""
    apart: dict[tuple[str | None, str, str | None], list[Memory]] = {}
    for turn in call.space.open_turns(conversation_id):
        apart.setdefault(_group(turn), []).append(turn)
    return [episode for turns in apart.values() for episode in _split(call, turns, ended)]


def _group(turn: Memory) -> tuple[str | None, str, str | None]:
    """What the turns of one episode have in common; an import's own, so that it can be taken back."""
    return turn.agent_id, turn.scope, turn.import_id


def _split(call: Call, turns: list[Memory], ended: bool) -> list[list[Memory]]:
    window = turns[:_TURNS_AT_ONCE]
    vectors = call.space.embeddings([turn.id for turn in window])
    seen = [
        segmentation.Turn(
            written_at=turn.created_at,
            said_at=to_moment(_said_at(turn)),
            size=size_of(said_by(turn)),
            vector=segmentation.vector(vectors.get(turn.id, ())),
        )
        for turn in window
    ]
    # What lies behind the window shows that its end is not the conversation's.
    now = call.now() if len(window) == len(turns) else window[-1].created_at
    if ended and len(window) == len(turns):
        now = max(now, window[-1].created_at + segmentation.PAUSE)
    lengths = segmentation.episodes(seen, unrelated=call.embedder.unrelated, now=now)
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
    there = call.space.get([turn.id for turn in turns], deleted=True)
    gone = [turn for turn in turns if turn.id not in there]
    return rewrite_without(call, episode, gone) if gone else episode


def episode_of(call: Call, turns: Sequence[Memory]) -> tuple[Draft, Memory]:
    """The episode that turns become, without what a look around adds. Its id follows from the first turn's."""
    first = turns[0]
    # Clients may send what was said earlier behind what was said later.
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
    there = call.space.get([id], deleted=True).get(id)
    open_turns = call.space.open_turns(first.conversation_id or "")
    still = [turn for turn in open_turns if _group(turn) == _group(first)]
    if there is None or not still or still[0].id != first.id:
        return
    pairs = zip(still, there.messages, strict=False)
    same = takewhile(lambda pair: pair[0].content == pair[1].content, pairs)
    # The first is among them even where it was edited since.
    ids = dict.fromkeys([first.id, *(turn.id for turn, _ in same)])
    call.space.commit([Close(turn_ids=tuple(ids))])


def _said_at(turn: Memory) -> When:
    return turn.occurred_at or turn.created_at
