"""Importing: records, texts and conversations, written in blocks; what is stored already is left as it is.

What a record says of the agents that wrote it is believed only where the operator restores. An agent that imports is
itself the author, and the memory says that it was imported, and when.
"""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import field, replace
from typing import Final

from .. import record
from ..changes.images import entry, in_a_circle, unchanged_text, without_cycles
from ..errors import AlreadyExists, Conflict, InvalidInput, SteeltrapError
from ..model import DEFAULT_SCOPE, MAX_CONTENT_BYTES, Draft, JsonObject, Memory, Revision
from ..model.frozen import frozen
from ..ports import Close, Create, Replace, TextKey
from ..text import limits
from ..text.limits import piece_id
from ..text.sentences import pieces
from ..text.words import text_digest
from . import saving
from .call import Call
from .conversations import (
    EPISODES_PER_CALL,
    IncomingMessage,
    due,
    end_conversation,
    episode_of,
    first_piece,
    keep_turns,
    without_forgotten,
)
from .saving import compose, creations, embed_memories, text_id
from .secrets import redacted, redacted_message

_Parsed = tuple[Memory, tuple[Revision, ...]]


@frozen
class ImportResult:
    """Result of a block: which were written and which were there, by index, and the errors by index."""

    new: frozenset[int]
    existing: frozenset[int]
    errors: dict[int, SteeltrapError] = field(default_factory=dict)

    @property
    def written(self) -> int:
        return len(self.new)

    @property
    def skipped(self) -> int:
        return len(self.existing)


def _result(total: int, new: Set[int], errors: dict[int, SteeltrapError]) -> ImportResult:
    """The result of a block of `total` items."""
    return ImportResult(new=frozenset(new), existing=frozenset(range(total)) - new - errors.keys(), errors=errors)


def import_records(
    call: Call, records: Sequence[JsonObject], *, restore: bool = False, planned: set[str] | None = None
) -> ImportResult:
    """Write records that an export made, under their own ids; an id that is there already is skipped. A record with
    no more than the rest of a history adds what is missing to the memory that was imported before.

    Each record keeps all that it says, such as times, version, links and history; records may come in any order. It
    keeps its agents only with `restore`, which is for operators. With `planned`, here and below, nothing is written:
    the ids that would be written are added to it, and those in it already count as stored.
    """
    parsed: dict[int, _Parsed] = {}
    rests: dict[int, tuple[Revision, ...]] = {}
    errors: dict[int, SteeltrapError] = {}
    for index, raw in enumerate(call.in_time(records)):
        try:
            memory, past = _parse(call, raw)
            past = past if restore else _stamped_all(call, past)
            if memory is None:
                rests[index] = tuple(replace(revision, memory=belonging(call, revision.memory)) for revision in past)
            else:
                parsed[index] = _marked(call, memory if restore else stamped(call, memory), past)
        except SteeltrapError as error:
            errors[index] = error
    fit = uncircled(call, [memory for memory, _ in parsed.values()])
    errors |= {index: in_a_circle(f"memory {m.id}") for index, (m, _) in parsed.items() if m.id not in fit}
    parsed = {index: (fit[m.id], past) for index, (m, past) in parsed.items() if m.id in fit}
    new_ids, deleted = _write_absent(call, list(parsed.values()), planned=planned)
    errors |= {index: _deleted(m.id) for index, (m, _) in parsed.items() if m.id in deleted}
    first = {m.id: index for index, (m, _) in reversed(parsed.items())}
    for index, past in call.in_time(rests.items() if planned is None else ()):
        try:
            _add_earlier(call, past, restore=restore)
        except (InvalidInput, Conflict) as error:
            errors[index] = error
    imported = _result(len(records), {first[id] for id in new_ids}, errors)
    return replace(imported, existing=imported.existing - rests.keys())


def uncircled(call: Call, memories: Sequence[Memory]) -> dict[str, Memory]:
    """Imported memories by id, as `without_cycles` has them."""
    return without_cycles(memories, lambda ids: call.space.get(ids, deleted=True))


def _add_earlier(call: Call, past: tuple[Revision, ...], *, restore: bool) -> None:
    """Add the versions that are missing before the current one of a memory, which the caller imported itself.

    The current image stays as it is. Raises InvalidInput where there is none, and Conflict for a deleted one.
    """
    id, first, last = past[0].memory.id, past[0].memory.version, past[-1].memory.version
    memory = call.space.get([id], deleted=True).get(id)
    if memory is None:
        raise InvalidInput(f"this is the rest of the history of {id}: import the record of the memory before it.")
    if memory.deleted_at is not None:
        raise _deleted(id)
    revisions = call.space.revisions(id, after=first - 1, limit=last - first + 1)
    versions = {revision.memory.version for revision in revisions}
    missing = tuple(r for r in past if r.memory.version < memory.version and r.memory.version not in versions)
    if missing and not restore and (memory.imported_at is None or memory.imported_by != call.caller.agent_id):
        raise InvalidInput(f"memory {id} was not imported by this agent, so its history stays as it is.")
    if missing:
        call.commit([Replace(entry=unchanged_text(memory), expected=memory.version, history=missing)])


def _marked(call: Call, memory: Memory, past: Sequence[Revision]) -> _Parsed:
    """A record as this import's, whatever import of another store it names."""
    return belonging(call, memory), tuple(
        replace(revision, memory=belonging(call, revision.memory)) for revision in past
    )


def belonging(call: Call, memory: Memory) -> Memory:
    """A memory as the call's import writes it."""
    return replace(memory, import_id=call.import_id, import_version=memory.version if call.import_id else None)


def stamped(call: Call, memory: Memory) -> Memory:
    """A memory that a tool imports: written by the caller's agent, whoever wrote it elsewhere.

    Another agent's name is kept as `agent_label`, which grants nothing, if it is short enough.
    """
    importer = call.caller.agent_id
    author = memory.agent_id if memory.agent_id != importer else None
    label = author if author is not None and len(author) <= limits.MAX_LABEL_CHARACTERS else None
    return replace(
        memory,
        agent_id=importer,
        agent_label=memory.agent_label or label,
        updated_by=_own(call, memory.updated_by),
        untrusted=memory.untrusted or call.caller.permissions.untrusted,
        imported_by=importer,
        imported_at=call.now(),
    )


def _stamped_all(call: Call, past: Sequence[Revision]) -> tuple[Revision, ...]:
    return tuple(
        replace(revision, memory=stamped(call, revision.memory), replaced_by=_own(call, revision.replaced_by))
        for revision in past
    )


def _own(call: Call, agent: str | None) -> str | None:
    """An agent that a record names, where it is the caller's own; of another nobody can say whether it is true."""
    return agent if agent == call.caller.agent_id else None


def import_texts(
    call: Call, drafts: Sequence[Draft], *, surroundings: bool = False, planned: set[str] | None = None
) -> ImportResult:
    """Write texts that are not there yet. The same text about the same time, in the same scope and by the same agent,
    is one memory. It is written once, and an import never changes it, even if it was edited or deleted since.

    `surroundings` looks around (surprise and links), a block at a time. Memory: the block.
    """
    composed: dict[str, tuple[Draft, Memory]] = {}
    places: dict[str, int] = {}
    errors: dict[int, SteeltrapError] = {}
    for index, draft in enumerate(call.in_time(drafts)):
        try:
            memory = compose(call, draft)
            memory = replace(memory, id=text_id(call, memory))
        except SteeltrapError as error:
            errors[index] = error
        else:
            composed.setdefault(memory.id, (draft, memory))
            places.setdefault(memory.id, index)
    new_ids = _write_texts(call, composed, surroundings, planned=planned)
    return _result(len(drafts), {places[id] for id in new_ids}, errors)


def _write_texts(
    call: Call, composed: dict[str, tuple[Draft, Memory]], surroundings: bool, *, planned: set[str] | None
) -> list[str]:
    """The ids of those that were written."""
    undated = [id for id, (draft, _) in composed.items() if draft.occurred_at is None]
    copies = call.space.copies([_text_key(composed[id][1]) for id in undated])
    duplicates = {id for id, count in zip(undated, copies, strict=True) if count}

    def write(taken_ids: Set[str]) -> list[str]:
        stored_ids = call.space.get(list(composed), deleted=True).keys()
        fresh = [id for id in composed if id not in duplicates | taken_ids | stored_ids | (planned or set())]
        if planned is not None:
            planned.update(fresh)
        else:
            call.commit(creations(call, [composed[id] for id in fresh], surroundings=surroundings))
        return fresh

    return call.create_absent(write)


def import_drafts(
    call: Call,
    drafts: Sequence[Draft],
    counts: Counter[TextKey],
    *,
    surroundings: bool = False,
    planned: set[str] | None = None,
) -> ImportResult:
    """Write texts that are not there yet: equal text in the same scope, of the same agent and conversation.

    `counts`: how often this import had each text so far. So a line said twice is kept twice, and a repeated
    import adds nothing. `surroundings` looks around (surprise and links) for what is no turn,
    a block at a time.
    """
    composed: dict[int, tuple[Draft, Memory]] = {}
    errors: dict[int, SteeltrapError] = {}
    for index, draft in enumerate(call.in_time(drafts)):
        try:
            composed[index] = (draft, compose(call, draft))
        except SteeltrapError as error:
            errors[index] = error
    keys = [_text_key(memory) for _, memory in call.in_time(composed.values())]
    fresh: dict[int, tuple[Draft, Memory]] = {}
    for (index, pair), key, count in zip(composed.items(), keys, call.space.copies(keys), strict=True):
        counts[key] += 1
        if counts[key] > count:
            fresh[index] = pair
    if planned is None:
        call.commit(creations(call, list(fresh.values()), surroundings=surroundings))
    return _result(len(drafts), fresh.keys(), errors)


def _write_absent(call: Call, parsed: Sequence[_Parsed], *, planned: set[str] | None) -> tuple[list[str], set[str]]:
    """Write what is not there; the ids of those, and which ids are there as deleted ones."""
    first: dict[str, _Parsed] = {}
    for memory, past in parsed:
        first.setdefault(memory.id, (memory, past))
    creates: dict[str, Create] = {}

    def write(taken_ids: Set[str]) -> tuple[list[str], set[str]]:
        memories = call.space.get(list(first), deleted=True)
        absent = [id for id in first if id not in memories and id not in taken_ids]
        deleted = {id for id, memory in memories.items() if memory.deleted_at is not None}
        if planned is not None:
            absent = [id for id in absent if id not in planned]
            planned.update(absent)
            return absent, deleted
        new = [first[id] for id in absent if id not in creates]
        vectors = embed_memories(call, [memory for memory, _ in new])
        for (memory, past), embeddings in call.in_time(zip(new, vectors, strict=True)):
            creates[memory.id] = Create(entry=entry(memory, embeddings), history=past, links_ahead=True)
        call.commit([creates[id] for id in absent])
        return absent, deleted

    return call.create_absent(write)


def _text_key(memory: Memory) -> TextKey:
    return TextKey(text_digest(memory.content), memory.scope, memory.agent_id, memory.conversation_id)


def _deleted(id: str) -> Conflict:
    return Conflict(f"memory {id} was deleted here; undo the delete, or forget it and import again.", id=id)


def _parse(call: Call, raw: object) -> tuple[Memory | None, tuple[Revision, ...]]:
    """A memory and its history, or the rest of a history alone."""
    if not isinstance(raw, dict):
        raise InvalidInput("a record must be a JSON object.")
    past = raw.get("history", [])
    if not isinstance(past, list):
        raise InvalidInput("`history` must be a list.")
    is_rest = bool(past) and raw.keys() == {"id", "history"}
    memory = None if is_rest else _memory(call, {key: value for key, value in raw.items() if key != "history"})
    revisions = tuple(_revision(call, revision) for revision in past)
    versions = [revision.memory.version for revision in revisions]
    if versions != sorted(set(versions)) or (memory and any(version >= memory.version for version in versions)):
        raise InvalidInput("`history` must have the versions before the current one, each once, oldest first.")
    id = revisions[0].memory.id if memory is None else memory.id
    if any(revision.memory.id != id for revision in revisions) or (is_rest and limits.check_id(str(raw["id"])) != id):
        raise InvalidInput("each memory of `history` must have the record's own id.")
    return memory, revisions


def _revision(call: Call, raw: object) -> Revision:
    if not isinstance(raw, dict) or not isinstance(at := raw.get("replaced_at"), str):
        raise InvalidInput("each item of `history` needs `memory` and `replaced_at`.")
    by = raw.get("replaced_by")
    if not (by is None or isinstance(by, str)):
        raise InvalidInput("`replaced_by` must be an agent's id.")
    try:
        replaced_at = record.read_time(at)
    except ValueError as error:
        raise InvalidInput(f"`replaced_at` {error}.") from None
    limits.check_length("replaced_by", by, limits.MAX_IDENTITY_CHARACTERS)
    return Revision(memory=_memory(call, raw.get("memory")), replaced_at=replaced_at, replaced_by=by)


def _memory(call: Call, raw: object) -> Memory:
    return limits.check_memory(redacted(call, record.parse(raw)))


_TURNS_AT_ONCE: Final = 500


@frozen
class Conversation:
    """A conversation that has ended, and how it is filed. Its messages have ids that are the same at each import.

    `copied_from` are other conversations that its messages may have been stored in by an earlier version.
    """

    id: str
    messages: tuple[IncomingMessage, ...]
    copied_from: tuple[str, ...] = ()
    context: str | None = None
    scope: str = DEFAULT_SCOPE
    tags: tuple[str, ...] = ()
    metadata: JsonObject = field(default_factory=dict)


@frozen
class ImportedConversations:
    """The result of an import of conversations: how many messages of each, by its index, were written or were stored
    before; how many episodes were made; and the errors by the indexes of conversation and message."""

    written: Counter[int]
    skipped: Counter[int]
    episodes: int
    errors: dict[tuple[int, int], SteeltrapError] = field(default_factory=dict)


def import_conversations(
    call: Call, conversations: Sequence[Conversation], *, surroundings: bool = False, planned: set[str] | None = None
) -> ImportedConversations:
    """Write the messages that are not there, and make all episodes of these conversations.

    A message that is there stays as it is, also one that was deleted, edited, appended by `append_messages` under the
    same id, or brought by another conversation that has a copy. So a conversation that has grown gets what is new, and
    an import that was killed goes on where it was.
    `surroundings` looks around at the episodes (surprise and links).
    """
    turns: dict[str, tuple[int, Memory]] = {}
    errors: dict[tuple[int, int], SteeltrapError] = {}
    written_counts: Counter[int] = Counter()
    skipped_counts: Counter[int] = Counter()
    # Redacted before they are split: half a secret looks like none.
    whole = [
        replace(each, messages=tuple(replace(m, message=redacted_message(call, m.message)) for m in each.messages))
        for each in call.in_time(conversations)
    ]
    ids = iter(saving.message_ids(call, [named_message for each in whole for named_message in _identities(each)]))
    for index, conversation in enumerate(call.in_time(whole)):
        for number, item in enumerate(conversation.messages):
            id = next(ids)
            try:
                turns_of_message = _turns(call, conversation, item, id)
            except SteeltrapError as error:
                errors[index, number] = error
                continue
            for turn in turns_of_message:
                skipped_counts[index] += turn.id in turns
                turns.setdefault(turn.id, (index, turn))
    all_turns = [turn for _, turn in turns.values()]
    for start in call.in_time(range(0, len(all_turns), _TURNS_AT_ONCE)):
        block = all_turns[start : start + _TURNS_AT_ONCE]
        ids_of_block = {turn.id for turn in block}
        if planned is not None:
            existing = planned.union(call.space.get(list(ids_of_block), deleted=True))
            planned |= ids_of_block
        else:
            existing = set(keep_turns(call, [[turn] for turn in block], ids_of_block))
        for turn in block:
            (skipped_counts if turn.id in existing else written_counts)[turns[turn.id][0]] += 1
    ended = [] if planned is not None else list(dict.fromkeys(conversation.id for conversation in conversations))
    episodes = _end(call, ended, surroundings)
    return ImportedConversations(written=written_counts, skipped=skipped_counts, episodes=episodes, errors=errors)


def _identities(conversation: Conversation) -> list[saving.MessageIdentity]:
    return [
        saving.MessageIdentity(
            id=item.id or str(number),
            conversation_id=conversation.id,
            text=first_piece(item.message.content),
            universal=item.universal,
            copied_from=conversation.copied_from,
        )
        for number, item in enumerate(conversation.messages)
    ]


def _turns(call: Call, conversation: Conversation, item: IncomingMessage, id: str) -> list[Memory]:
    """The turn of a message, or the turns of one that is too long for a memory."""
    return [
        _turn(call, conversation, item, piece, piece_id(id, part))
        for part, piece in enumerate(pieces(item.message.content, MAX_CONTENT_BYTES))
    ]


def _turn(call: Call, conversation: Conversation, item: IncomingMessage, content: str, id: str) -> Memory:
    draft = Draft(
        content=content,
        messages=(replace(item.message, content=content),),
        source="conversation",
        conversation_id=conversation.id,
        context=conversation.context,
        scope=conversation.scope,
        tags=conversation.tags,
        metadata=conversation.metadata,
        occurred_at=item.message.time,
        associate=False,
    )
    return replace(saving.compose(call, draft), id=id)


def _end(call: Call, ids: Sequence[str], surroundings: bool) -> int:
    """Make all episodes of these conversations, many in one commit; how many those were."""
    episodes = 0
    while over := [(id, turns) for id in call.in_time(ids) for turns in due(call, id, ended=True)]:
        for start in range(0, len(over), EPISODES_PER_CALL):
            block = over[start : start + EPISODES_PER_CALL]
            try:
                _make(call, [turns for _, turns in block], surroundings)
                episodes += len(block)
            except AlreadyExists:  # another call closed one of them in between
                episodes += sum(len(end_conversation(call, id)) for id in dict.fromkeys(id for id, _ in block))
        ids = list(dict.fromkeys(id for id, _ in over))  # a very long conversation has more
    return episodes


def _make(call: Call, over: Sequence[list[Memory]], surroundings: bool) -> None:
    episodes = [episode_of(call, turns) for turns in call.in_time(over)]
    changes: list[Create | Close] = []
    for create, turns in zip(saving.creations(call, episodes, surroundings=surroundings), over, strict=True):
        changes += [create, Close(turn_ids=tuple(turn.id for turn in turns))]
    # What they sum up was admitted as turns.
    call.commit(changes, within_quota=False)
    for (_, episode), turns in zip(episodes, over, strict=True):
        without_forgotten(call, episode, turns)
