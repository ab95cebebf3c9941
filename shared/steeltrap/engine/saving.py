"""Saving: one memory, or many in one call.

Validate, embed, find neighbours, write. A text that its scope has already can be answered instead of kept twice.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal
from uuid import UUID, uuid4, uuid5

from ..changes.images import created, entry, meaning, successor, supersede, superseded_by
from ..errors import (
    INDEX_FAILURES,
    AlreadyExists,
    Conflict,
    Duplicate,
    InvalidInput,
    SteeltrapError,
    Throttled,
    TooLarge,
    VersionConflict,
)
from ..model import MAX_LINKS, Draft, Embedding, Filter, Memory, Neighbour, Outcome, OutcomeKind, Source, Surroundings
from ..model.frozen import frozen
from ..ports import Create, Entry, Guard, Probe, Replace
from ..ranking import novelty
from ..text.limits import check_content, is_universal
from ..text.matching import in_scopes
from ..text.sentences import chunks
from ..text.vectors import has_direction
from ..text.words import text_digest
from .call import Call
from .reading import find, find_all, find_images, find_known
from .secrets import redacted, redacted_text

_log = logging.getLogger("steeltrap")

PENDING = "what is written is safe, and its surprise and links are pending."
_IDEMPOTENCY = UUID("6f0a1f1e-3a61-5d0e-9a5f-5c5a4d1f7b10")


@frozen
class Saved:
    """Result of a save: the memory, and whether it existed already (a repeated idempotency key).

    `nearest_id` is the most similar memory that this one doesn't supersede. `probably_supersedes` is set if this one
    seems to correct it.
    """

    memory: Memory
    existed: bool = False
    nearest_id: str | None = None
    similarity: float | None = None
    probably_supersedes: str | None = None


def save(call: Call, draft: Draft, guard: Guard | None = None) -> Saved:
    """Write one memory durably.

    With an idempotency key the id follows from user and key, so a repeated call answers the same memory.
    With a guard a duplicate raises Duplicate, with the other's `id`.
    """
    memory = compose(call, draft)
    [embeddings] = embed_memories(call, [memory])
    [around] = look_around(call, [memory], [embeddings])
    memory = with_surroundings(call, memory, draft, around)
    [result] = _create(call, Create(entry=entry(memory, embeddings), guard=guard))
    others = _in_view(call, novelty.others(around, memory.supersedes))
    nearest = others[0] if others else None
    return Saved(
        memory=result,
        existed=result is not memory,
        nearest_id=nearest.id if nearest else None,
        similarity=round(nearest.cosine, 4) if nearest else None,
        probably_supersedes=nearest.id if nearest and novelty.probably_corrects(nearest, call.embedder) else None,
    )


def corrected(call: Call, saved: Saved) -> Memory | None:
    """The visible memory that a saved one seems to correct."""
    ids = [saved.probably_supersedes] if saved.probably_supersedes else []
    return next(iter(find_known(call, ids).values()), None)


def _in_view(call: Call, near: list[Neighbour]) -> list[Neighbour]:
    """Neighbours without those of other projects than the caller's."""
    if call.caller.project is None or not near:
        return near
    filter, memories = Filter(project=call.caller.project), call.space.get([neighbour.id for neighbour in near])
    return [
        neighbour for neighbour in near if neighbour.id in memories and in_scopes(filter, memories[neighbour.id].scope)
    ]


def compose(call: Call, draft: Draft, position: int = 0, *, id: str | None = None) -> Memory:
    """The memory that a draft becomes, without secrets and checked, without what the look-around will add.

    `position` tells the memories of one batch apart under one idempotency key. `id` is given where it follows from
    something else.
    """
    draft = redacted(call, draft)
    if not draft.conversation_id and call.caller.conversation_id:
        draft = replace(draft, conversation_id=call.caller.conversation_id)
    id = id or new_id(call, draft.source, position)
    return created(draft, id, call.author(), short_term_ttl=call.rules.short_term_ttl)


def superseding(call: Call, new: Memory) -> list[Replace]:
    """The changes that mark what a new memory supersedes. Raises NotFound for unknown and deleted ids, Conflict,
    InvalidInput.
    """
    return superseded_by(new, find_all(call, new.supersedes) if new.supersedes else (), call.author())


def embed_memories(call: Call, memories: Sequence[Memory]) -> list[tuple[Embedding, ...]]:
    """The chunk embeddings of each memory, all in one batch."""
    return embed_chunks(call, [meaning(memory) for memory in call.in_time(memories)])


def embed_chunks(call: Call, texts: Sequence[str]) -> list[tuple[Embedding, ...]]:
    """The chunk embeddings of each text, all texts in one batch."""
    spans = [chunks(text) for text in texts]
    flat = iter(call.embed([span for of_text in spans for span in of_text]))
    return [tuple(next(flat) for _ in of_text) for of_text in spans]


def reembedded_entries(call: Call, memories: Sequence[Memory]) -> list[Entry]:
    """Recompute the search data of stored memories with the current embedder and tokenizer."""
    return [entry(memory, vectors) for memory, vectors in zip(memories, embed_memories(call, memories), strict=True)]


def look_around(
    call: Call, memories: Sequence[Memory], embeddings: Sequence[tuple[Embedding, ...]]
) -> list[Surroundings | None]:
    """The neighbours of each of the memories in the user's space, in one request; None for a turn, which is
    neither looked around at nor linked. Around a text in which the embedder knows no word, there is nothing.

    None for all when the index does not answer: a write does without, the call's outcome says so, and a sweep
    makes up for it (`complete`). Raises Unavailable when the store does not answer.
    """
    quiet = _in_lower_case(call, memories)
    probes = {
        memory.id: Probe(embeddings=vectors + quiet.get(memory.id, ()), scope=memory.scope, leave_out=memory.id)
        for memory, vectors in zip(memories, embeddings, strict=True)
        if memory.source != "conversation" and has_direction(vectors)
    }
    try:
        with call.measure.stage("look_around"):
            neighbours = call.space.look_around(list(probes.values()), floor=novelty.LINK_FLOOR, top_k=MAX_LINKS)
    except INDEX_FAILURES as error:
        _log.warning("saved without a look around: %s", error.message)
        call.outcome = Outcome(kind=OutcomeKind.DEGRADED, message=f"{error.cause}: {PENDING}")
        return [None] * len(memories)
    around = dict(zip(probes, neighbours, strict=True))
    nothing = Surroundings(nearest=None)
    return [around.get(memory.id, None if memory.source == "conversation" else nothing) for memory in memories]


def _in_lower_case(call: Call, memories: Sequence[Memory]) -> dict[str, tuple[Embedding, ...]]:
    # To many models a text in capitals is one of other words, far from the same text as it is usually written.
    loud = [memory for memory in memories if memory.content.isupper() and memory.source != "conversation"]
    vectors = embed_chunks(call, [memory.content.lower() for memory in loud]) if loud else []
    return {memory.id: of_text for memory, of_text in zip(loud, vectors, strict=True)}


def with_surroundings(call: Call, memory: Memory, draft: Draft, around: Surroundings | None) -> Memory:
    """The memory with its surprise (the caller's own where given) and its automatic links."""
    if around is None:
        return memory if memory.source == "conversation" else replace(memory, lookaround_pending=True)
    surprise = draft.surprise
    if surprise is None:
        surprise = novelty.surprise_of(memory, around, call.embedder)
    links = [link for link in novelty.links(around) if link.target_id not in memory.supersedes]
    return replace(memory, surprise=surprise, links=tuple(links) if draft.associate else ())


def creations(call: Call, composed: Sequence[tuple[Draft, Memory]], *, surroundings: bool) -> list[Create]:
    """The changes that write composed memories, embedded together; `surroundings` looks around at them first."""
    memories = [memory for _, memory in composed]
    vectors = embed_memories(call, memories)
    if surroundings:
        around = look_around(call, memories, vectors)
        memories = [
            with_surroundings(call, memory, draft, near) for (draft, memory), near in zip(composed, around, strict=True)
        ]
    embedded = call.in_time(zip(memories, vectors, strict=True))
    return [Create(entry=entry(memory, embeddings)) for memory, embeddings in embedded]


def create_all(call: Call, changes: Sequence[Create], marks: Sequence[Replace] = ()) -> list[Memory]:
    """Write new memories and mark what they supersede, all or nothing; under an idempotency key that wrote them
    before, answer those."""
    memories = [change.entry.memory for change in changes]
    try:
        call.commit([*changes, *marks])
    except Throttled:
        # What was written before needs no room.
        if call.idempotency_key is None or len(call.space.get([memory.id for memory in memories])) < len(memories):
            raise
        return [written_before(call, change.entry.memory) for change in changes]
    except (AlreadyExists, Duplicate) as conflict:
        if conflict.id not in [memory.id for memory in memories]:
            raise
        return [written_before(call, change.entry.memory) for change in changes]
    return memories


def already_saved(call: Call) -> Memory | None:
    """The memory that this call's idempotency key saved before; None without a key or before the first time."""
    if call.idempotency_key is None:
        return None
    id = new_id(call, "user_memory", 0)
    return call.space.get([id]).get(id)


def new_id(call: Call, source: Source, position: int) -> str:
    """The id of the memory at a position of this call: a new one, or the same again under one idempotency key."""
    if call.idempotency_key is None:
        return str(uuid4())
    return _derived_id(call, source, str(position), call.idempotency_key)


@frozen
class MessageIdentity:
    """A message that a client knows by an id in a conversation. `text` is what its first turn says.

    With `universal` the id is the message's own in every conversation, as a UUID always is. `copied_from` are other
    conversations that the message may be copied from.
    """

    id: str
    conversation_id: str
    text: str
    universal: bool = False
    copied_from: tuple[str, ...] = ()


def message_ids(call: Call, messages: Sequence[MessageIdentity]) -> list[str]:
    """The ids of the first turns of messages, always the same ones. A universal id names its message in every
    conversation, unless another conversation has another text under it; other ids name it in their own.

    Turns that an earlier version wrote have an id for each conversation, so what is stored decides.
    """
    scoped = [
        [
            _derived_id(call, "message", conversation, message.id)
            for conversation in (message.conversation_id, *message.copied_from)
        ]
        for message in messages
    ]
    universal = [
        _derived_id(call, "message", message.id.lower()) if message.universal or is_universal(message.id) else None
        for message in messages
    ]
    wanted_ids = dict.fromkeys(
        id for ids_in_scope, id in zip(scoped, universal, strict=True) if id for id in (*ids_in_scope, id)
    )
    memories = find_images(call, list(wanted_ids))
    first_messages: dict[str, MessageIdentity] = {}
    ids: list[str] = []
    for each, ids_in_scope, own in zip(call.in_time(messages), scoped, universal, strict=True):
        if own is None:
            ids.append(ids_in_scope[0])
        elif (id := next((id for id in ids_in_scope if id in memories), None)) is not None:
            ids.append(id)
        else:
            ids.append(
                own
                if _is_same(call, each, memories.get(own), first_messages.setdefault(own, each))
                else ids_in_scope[0]
            )
    return ids


def _is_same(call: Call, message: MessageIdentity, memory: Memory | None, first: MessageIdentity) -> bool:
    if memory is None:
        return message.conversation_id == first.conversation_id or message.text == first.text
    return message.conversation_id == memory.conversation_id or message.text == first_image(call, memory).content


def rewritten_id(call: Call, episode: Memory, content: str) -> str:
    """The id of an episode that lost messages: always the same one for what it still tells."""
    where = (episode.conversation_id or "", episode.agent_id or "", episode.scope)
    return _derived_id(call, "episode", *where, content)


def text_id(call: Call, memory: Memory) -> str:
    """The id of a text that an import brings: the same one for the same text, scope, agent and time."""
    at = "" if memory.occurred_at is None else memory.occurred_at.isoformat()
    return _derived_id(call, "text", memory.agent_id or "", memory.scope, at, text_digest(memory.content).hex())


def first_image(call: Call, memory: Memory) -> Memory:
    earlier = call.space.revisions(memory.id, limit=1) if memory.version > 1 else []
    return earlier[0].memory if earlier else memory


def written_before(call: Call, memory: Memory) -> Memory:
    """The memory that this call's idempotency key wrote before in the place of a memory.

    Raises Conflict if that is another text, was deleted, or has expired.
    """
    id = memory.id
    existing = call.space.get([id], deleted=True).get(id)
    if existing is None or existing.deleted_at is not None:
        raise Conflict(
            "This idempotency key saved a memory that has since been deleted; use another key, or undo the delete.",
            id=id,
        )
    if not existing.is_visible(call.now()):
        raise Conflict("This idempotency key saved a memory that has since expired; use another key.", id=id)
    if text_digest(first_image(call, existing).content) != text_digest(memory.content):
        raise Conflict("This idempotency key was used for another text; use a new key for a new memory.", id=id)
    return existing


def _derived_id(call: Call, *parts: str) -> str:
    # Turns have ids of their own, and each part is marked off, so that no two calls meet by accident.
    user = call.caller.user
    return str(uuid5(_IDEMPOTENCY, "".join(f"{len(part)}:{part}" for part in (user.tenant, user.user_id, *parts))))


def save_once(call: Call, draft: Draft) -> tuple[Saved, bool]:
    """The result of a save, and whether the same scope had the same normalised text already.

    Then that memory is answered as it is, and nothing of the draft is kept. Similar texts are no
    duplicates: "Ana owes Ben" and "Ben owes Ana" may have the same embedding.
    """

    def write(_: None) -> tuple[Saved, bool]:
        try:
            return save(call, draft, Guard(same_text=True)), False
        except Duplicate as duplicate:
            original = duplicate_of(call, duplicate)
        return Saved(memory=original, existed=True, nearest_id=original.id, similarity=1.0), True

    return call.change(lambda: None, write)


def duplicate_of(call: Call, duplicate: Duplicate) -> Memory:
    """The memory that a guard met. Raises VersionConflict when it has gone since: the save is worth repeating."""
    if (memory := call.space.get([duplicate.id]).get(duplicate.id)) is None:
        raise VersionConflict(f"Memory {duplicate.id} was just deleted: repeat the change.", id=duplicate.id)
    return memory


def revise(call: Call, id: str, content: str) -> Memory:
    """The memory that supersedes another by a new text, with the other's scope, category and tags.

    Where that scope has the text already, the memory that says it takes the place. Raises NotFound, Conflict for what
    is superseded already or says this already.
    """
    content = redacted_text(call, "content", content)
    check_content(content)

    def read() -> Memory:
        old = find(call, id)
        if text_digest(content) == text_digest(old.content) and old.superseded_by is None:
            raise Conflict(f"Memory {old.id} says this already; nothing was changed.", id=old.id)
        return old

    return call.change(read, lambda old: _revised(call, old, content))


def _revised(call: Call, old: Memory, content: str) -> Memory:
    try:
        return save(call, successor(old, content), Guard(same_text=True)).memory
    except Duplicate as duplicate:
        newer = duplicate_of(call, duplicate)
    call.commit([supersede(old, newer, call.author(), call.now())])
    return newer


OnError = Literal["rollback", "continue", "stop"]
MAX_CREATIONS: Final = 100
MAX_ROLLBACK_BYTES: Final = 3 * 1024 * 1024


@frozen
class Batch:
    """The memories written, in order, and the errors by the index of the item that had them."""

    memories: list[Memory]
    errors: dict[int, SteeltrapError]


def batch_save(call: Call, drafts: Sequence[Draft | InvalidInput], on_error: OnError) -> Batch:
    """Save up to 100 memories. An item that is no draft stands for one that could not be read, and why.

    `rollback` writes all or none, in one transaction; `continue` writes what it can; `stop` writes what
    comes before the first error. The memories of one batch are not linked to each other, and none supersedes another.
    """
    if len(drafts) > MAX_CREATIONS:
        raise TooLarge(f"{len(drafts)} memories in one batch; at most {MAX_CREATIONS}. Split the batch.")
    composed, errors = _compose(call, drafts, on_error)
    if on_error == "rollback":
        if errors:
            return Batch(memories=[], errors=errors)
        check_rollback_size([memory for _, memory in composed.values()])
    changes = _creations(call, composed)
    if on_error == "rollback":
        return _all_or_nothing(call, changes)
    return _one_by_one(call, changes, errors, on_error)


def check_rollback_size(memories: Sequence[Memory]) -> None:
    """At most 3 MB can be written all or nothing."""
    size = sum(len(m.content.encode()) + sum(len(s.content.encode()) for s in m.messages) for m in memories)
    if size > MAX_ROLLBACK_BYTES:
        raise TooLarge("More than 3 MB can't be written all or nothing: use on_error='continue', or split the batch.")


_Composed = dict[int, tuple[Draft, Memory]]


def _compose(
    call: Call, drafts: Sequence[Draft | InvalidInput], on_error: OnError
) -> tuple[_Composed, dict[int, SteeltrapError]]:
    composed: _Composed = {}
    errors: dict[int, SteeltrapError] = {}
    for index, draft in enumerate(call.in_time(drafts)):
        try:
            if isinstance(draft, InvalidInput):
                raise draft
            composed[index] = draft, compose(call, draft, index)
        except (InvalidInput, TooLarge) as error:
            errors[index] = error
            if on_error == "stop":
                break
    return composed, errors


def _creations(call: Call, composed: _Composed) -> dict[int, Create]:
    memories = [memory for _, memory in composed.values()]
    vectors = embed_memories(call, memories)
    around = look_around(call, memories, vectors)
    return {
        index: Create(entry=entry(with_surroundings(call, memory, draft, surroundings), embeddings))
        for (index, (draft, memory)), embeddings, surroundings in call.in_time(
            zip(composed.items(), vectors, around, strict=True)
        )
    }


def _create(call: Call, change: Create) -> list[Memory]:
    return call.change(lambda: superseding(call, change.entry.memory), lambda marks: create_all(call, [change], marks))


def _all_or_nothing(call: Call, changes: dict[int, Create]) -> Batch:
    def write(outcome: tuple[dict[str, Replace], dict[int, SteeltrapError]]) -> Batch:
        marks, errors = outcome
        if errors:
            return Batch(memories=[], errors=errors)
        return Batch(memories=create_all(call, list(changes.values()), list(marks.values())), errors={})

    return call.change(lambda: _all_superseding(call, changes), write)


def _all_superseding(call: Call, changes: dict[int, Create]) -> tuple[dict[str, Replace], dict[int, SteeltrapError]]:
    """The changes that mark what the memories of a batch supersede, and the errors. Raises TooLarge."""
    marks: dict[str, Replace] = {}
    errors: dict[int, SteeltrapError] = {}
    for index, change in changes.items():
        try:
            fresh = {mark.entry.memory.id: mark for mark in superseding(call, change.entry.memory)}
            if twice := marks.keys() & fresh.keys():
                raise InvalidInput(f"memory {min(twice)} is superseded by two items of the batch; leave one out.")
            marks |= fresh
        except SteeltrapError as error:
            errors[index] = error
    limit = call.space.atomic_updates
    if not errors and limit is not None and marks and len(changes) + 2 * len(marks) > 2 * limit:
        raise TooLarge(
            f"{len(changes)} memories that supersede {len(marks)} others can't be written all or nothing: use "
            "on_error='continue', or split the batch."
        )
    return marks, errors


def _one_by_one(call: Call, changes: dict[int, Create], errors: dict[int, SteeltrapError], on_error: OnError) -> Batch:
    memories: list[Memory] = []
    for index, change in changes.items():
        try:
            memories += _create(call, change)
        except SteeltrapError as error:
            if on_error == "stop":
                return Batch(memories=memories, errors={index: error})
            errors[index] = error
    return Batch(memories=memories, errors=dict(sorted(errors.items())))
