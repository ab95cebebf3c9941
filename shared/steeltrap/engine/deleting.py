"""Deleting, undoing and forgetting.

A deleted memory is out of sight at once, and undo brings it back until the retention time. Undo also brings back the
image that the last update replaced. A forgotten memory is gone at once, to the bytes, with what was made of it alone;
the receipt lists what is left. Where nothing is kept, a delete erases as a forget does.

    look at every image -> write episodes again without a message -> purge -> look again, until nothing is left to do

Up to the purge nothing is lost, and what was asked for is purged last: a call that is repeated after an interruption
does the rest.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from ..changes.images import (
    before_last_change,
    chain,
    changed_only_by,
    deleted,
    entry,
    in_its_place,
    merged,
    out_of_search,
    references,
    replaced,
    resupersede,
    stepped_back,
    undeleted,
)
from ..errors import (
    AlreadyExists,
    Conflict,
    Internal,
    InvalidInput,
    NotFound,
    SteeltrapError,
    Unavailable,
    counted,
    memory_not_found,
)
from ..model import MAX_CONTENT_BYTES, MAX_LINKS, Filter, Link, Memory
from ..model.frozen import frozen
from ..ports import Create, Replace
from ..text.limits import check_id, piece_id
from ..text.matching import admits, in_scopes
from ..text.remains import Folded, SaidKey, Words, beside, merged_from, said_in, texts_of, without_said
from . import reading, saving
from .call import Call
from .exchange_file import MAX_FILE_BYTES, expand
from .reading import find
from .saving import embed_memories
from .updating import check_version, find_version

_PAGE = 200
_LOOKED_THROUGH: Final = 200
"""Latest writes among which an agent's own last change is looked for."""


def _checked(criteria: Filter, verb: str) -> Filter:
    """The filter of what criteria name. Raises InvalidInput without any; `done` is what did not happen."""
    if criteria.is_open():
        raise InvalidInput(
            "give at least one criterion (an id, ids, a tier, older_than, a scope, tags, written_by or untrusted); "
            f"nothing was {verb}."
        )
    # What was superseded would come back otherwise.
    return replace(criteria, include_superseded=True)


@frozen
class Deleted:
    """The ids that were deleted; `more` says that time ran out before all were."""

    ids: list[str]
    more: bool = False


def delete(call: Call, id: str, *, version: int | None = None) -> Memory:
    """Delete one memory and answer its last image. Raises NotFound, or VersionConflict."""
    return call.change(lambda: find_version(call, id, version), lambda current: delete_image(call, current))


def delete_all(call: Call, ids: Sequence[str]) -> Deleted:
    """Delete memories one by one. Unknown ones, and those that someone else just deleted, are left out."""
    canonical_ids = [k for k in dict.fromkeys(check_id(id) for id in ids) if k]
    memories = call.space.get(canonical_ids)
    if not call.rules.retention:
        return Deleted(ids=erase(call, list(memories)).ids if memories else [])
    deleted: list[str] = []
    for id in memories:
        try:
            deleted.append(delete(call, id).id)
        except NotFound:
            continue
        except Unavailable:
            if not deleted:
                raise
            return Deleted(ids=deleted, more=True)
    return Deleted(ids=deleted)


def delete_matching(call: Call, criteria: Filter) -> Deleted:
    """Delete the memories that criteria name, superseded ones too and pinned ones not, one by one. An open filter is
    refused."""
    filter = _checked(criteria, "deleted")
    deleted: list[str] = []
    pinned_count = 0
    while page := call.space.page(filter, limit=_PAGE, offset=pinned_count).memories:
        doomed_ids = [memory.id for memory in page if not memory.pinned]
        pinned_count += len(page) - len(doomed_ids)
        try:
            part = delete_all(call, doomed_ids)
        except Unavailable:
            if not deleted:
                raise
            return Deleted(ids=deleted, more=True)
        deleted += part.ids
        if part.more:
            return Deleted(ids=deleted, more=True)
    return Deleted(ids=deleted)


def delete_image(call: Call, current: Memory) -> Memory:
    """Delete a memory that was just read, and bring back what it superseded. Raises VersionConflict."""
    if not call.rules.retention:
        erase(call, [current.id])
        return current
    changes = deleted(current, reading.predecessors(call.space, [current.id]), call.author())
    call.commit(changes)
    return changes[-1].entry.memory


def undo(call: Call, id: str, *, saves: bool = False, version: int | None = None) -> Memory:
    """Undo the last change: the version before it becomes the new version. Called again, it goes back one more.

    Nothing is lost by it: the undone image joins the history. Undoing a superseded memory clears `superseded_by`.
    Undoing a save that superseded others deletes the new memory and restores the others; a second undo restores it.
    With `saves`, the same is done to every memory that was only saved. An expired memory comes back if no sweep has
    purged it yet and the version before has not expired. Raises NotFound, Conflict when the memory has never been
    changed, or VersionConflict when it no longer has the `version`.
    """
    current = find(call, id, deleted=True)
    check_version(current, version)
    by = call.author()
    if current.deleted_at is not None:
        if current.has_expired(by.at) or by.at - current.deleted_at >= call.rules.retention:
            raise memory_not_found(current.id)
        restored = undeleted(current, by)
        [embeddings] = embed_memories(call, [restored])
        change = Replace(entry=entry(restored, embeddings), expected=current.version)
        call.commit([change, *_superseded_again(call, restored)])
        return restored
    image = before_last_change(current, call.space.revisions(current.id))
    if current.has_expired(by.at) and (image is None or image.has_expired(by.at)):
        raise memory_not_found(current.id)
    if image is None and (saves or reading.predecessors(call.space, [current.id])):
        return delete_image(call, current)
    if image is None:
        raise Conflict(f"Memory {current.id} has no earlier version to go back to.", id=current.id)
    restored = stepped_back(current, in_its_place(current, image), by)
    [embeddings] = embed_memories(call, [restored])
    call.commit([replaced(current, entry(restored, embeddings), by)])
    return restored


def _superseded_again(call: Call, restored: Memory) -> list[Replace]:
    if not restored.supersedes:
        return []
    newer = set(chain(restored, lambda id: call.space.get([id], deleted=True).get(id)))
    olds = call.space.get(restored.supersedes, deleted=True).values()
    return resupersede(restored, olds, newer, call.author())


def last_changed(call: Call) -> str:
    """The id of the memory whose last change is the latest that the calling agent made.

    Changes by other agents, and memories of other projects, don't count. Neither do automatically created episodes,
    because no agent saved them. Raises NotFound when none of the latest writes is the agent's.
    """
    mine = [memory for memory in reading.latest_writes(call.space, _LOOKED_THROUGH) if _is_change_of(call, memory)]
    if not mine:
        raise NotFound("You changed nothing lately; give the id of the memory whose change to undo.")
    own = [old for old in mine if not any(changed_only_by(new, old) for new in mine)]
    return max(own, key=lambda memory: memory.updated_at).id


def _is_change_of(call: Call, memory: Memory) -> bool:
    by = memory.agent_id if memory.version == 1 else memory.updated_by
    is_here = in_scopes(Filter(project=call.caller.project), memory.scope)
    return by == call.caller.agent_id and is_here and not (memory.version == 1 and memory.is_episode)


_ROUNDS: Final = 5
"""Each round but the first is for what others wrote in the meantime."""
_MOST_PIECES: Final = 64


@dataclass(slots=True)
class Erased:
    """Result of erasing: the `ids` that were asked for, `also` what only they held, and what all of it said.

    `rewritten` has the new id of each episode that lost messages, "" for one that lost all. `back` are memories that
    one of these superseded.
    `remnants` has the memories that are left, each with the reason why it counts: `merged` from one of these, `same
    text`, or `names it`. `is_checked` says whether there was time to look for them.
    """

    ids: list[str]
    is_checked: bool = False
    also: dict[str, None] = field(default_factory=dict)
    rewritten: dict[str, str] = field(default_factory=dict)
    back: dict[str, None] = field(default_factory=dict)
    remnants: dict[str, str] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    message_keys: set[SaidKey] = field(default_factory=set)
    conversations: set[str] = field(default_factory=set)

    def all(self) -> set[str]:
        return {*self.ids, *self.also, *self.rewritten}


@dataclass(slots=True)
class _Traces:
    """The parts of the images that may hang together with what is erased, by id."""

    turns: dict[str, set[SaidKey]] = field(default_factory=lambda: defaultdict(set))
    episodes: dict[str, set[SaidKey]] = field(default_factory=lambda: defaultdict(set))
    merged: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    texts: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    long: set[str] = field(default_factory=set)
    remnants: dict[str, str] = field(default_factory=dict)


def erase(call: Call, ids: Sequence[str], *, with_merged: bool = False) -> Erased:
    """Purge stored memories, deleted or not, with everything derived from them alone, and look for remnants.

    An episode takes its messages along, and a long message all its turns. An episode that loses a message is written
    again without it, or goes if it has no other. `with_merged` takes along what was merged from them. Raises
    Unavailable.
    """
    call.space.check_purge()
    erased = Erased(ids=list(ids))
    doomed_ids = set(ids)
    for _ in range(_ROUNDS):
        try:
            traces = _look(call, erased, doomed_ids)
        except Unavailable:
            if doomed_ids:
                raise
            return erased  # it is gone, and a repeated call would not know it
        along = _along(erased, traces, doomed_ids, with_merged=with_merged)
        shrunk = [id for id in traces.episodes if id not in along and id not in doomed_ids]
        shrunk = [id for id in shrunk if traces.episodes[id] & erased.message_keys]
        erased.remnants = traces.remnants
        if not (doomed_ids or along or shrunk):
            erased.is_checked = True
            break
        _rewrite(call, erased, shrunk)
        _purge(call, erased, along, doomed_ids)
        doomed_ids = set()
    return erased


def rewrite_without(call: Call, episode: Memory, turns: Iterable[Memory]) -> Memory | None:
    """Put an episode without some turns in place of one that was just made; None where nothing is left of it.

    For turns that were forgotten while it was made.
    """
    keys = {key for turn in turns for key in said_in(turn)}
    new = _written_without(call, episode, keys)
    call.space.purge([episode.id])
    return new


def _look(call: Call, erased: Erased, doomed_ids: Collection[str]) -> _Traces:
    """Look at every image there is, earlier ones too."""
    images = call.space.get(list(doomed_ids), deleted=True) if doomed_ids else {}
    erased.conversations |= {m.conversation_id for m in images.values() if m.conversation_id is not None}
    traces = _Traces()
    remnant = None if doomed_ids else _Remnant(erased)
    for earlier in (False, True):
        for image in call.in_time(call.space.images(earlier=earlier)):
            _note(traces, image, erased, doomed_ids)
            if remnant is not None and image.id not in traces.remnants and (why := remnant.why(image)):
                traces.remnants[image.id] = why
    return traces


class _Remnant:
    """Recognises images that still hold or name what was erased."""

    def __init__(self, erased: Erased) -> None:
        self._erased_ids = erased.all()
        self._words = Words(erased.texts)
        self._ids = Words(ids=self._erased_ids)

    def why(self, image: Memory) -> str:
        """Why an image counts as a remnant; "" if it doesn't."""
        if not merged_from(image).isdisjoint(self._erased_ids):
            return "merged"
        texts = [Folded(text) for text in texts_of(image)]
        if self._words.are_in(texts):
            return "same text"
        is_named = self._ids.are_in([*texts, *map(Folded, beside(image))])
        return "names it" if is_named or not references(image).isdisjoint(self._erased_ids) else ""


def _note(traces: _Traces, image: Memory, erased: Erased, doomed_ids: Collection[str]) -> None:
    sources = merged_from(image)
    is_near = image.conversation_id in erased.conversations
    if sources:
        traces.merged[image.id] |= sources
    if is_near and (keys := said_in(image)):
        (traces.turns if image.source == "conversation" else traces.episodes)[image.id] |= keys
        if image.source == "conversation" and 2 * len(image.content.encode()) > MAX_CONTENT_BYTES:
            traces.long.add(image.id)
    if is_near or sources or image.id in doomed_ids:
        traces.texts[image.id] |= dict.fromkeys(texts_of(image))


def _along(erased: Erased, traces: _Traces, doomed_ids: Collection[str], *, with_merged: bool) -> list[str]:
    """The ids to purge along with these. Notes their texts and messages in `erased`."""
    erased_ids = {*doomed_ids, *erased.all()}
    messages = [{id, *(piece_id(id, n) for n in range(1, _MOST_PIECES))} & {*traces.turns} for id in traces.long]
    while True:
        message_keys = erased.message_keys | {
            key for of in (traces.turns, traces.episodes) for id in erased_ids for key in of.get(id, ())
        }
        more = {id for id, keys in traces.turns.items() if not keys.isdisjoint(message_keys)}
        more |= {id for id, keys in traces.episodes.items() if keys <= message_keys}
        more |= {id for message in messages if not message.isdisjoint(erased_ids) for id in message}
        if with_merged:
            more |= {id for id, sources in traces.merged.items() if not sources.isdisjoint(erased_ids)}
        erased.message_keys = message_keys
        if more <= erased_ids:
            break
        erased_ids |= more
    candidates = traces.turns.keys() | traces.episodes.keys() | traces.merged.keys()
    along = [id for id in candidates if id in erased_ids and id not in doomed_ids]
    for id in (*along, *doomed_ids):
        erased.texts |= traces.texts.get(id, {})
    return along


def _purge(call: Call, erased: Erased, along: Sequence[str], doomed_ids: Collection[str]) -> None:
    erased.also |= dict.fromkeys(id for id in along if id not in erased.ids)
    back = reading.predecessors(call.space, [*along, *doomed_ids])
    if more := [*along, *(id for id in erased.rewritten)]:
        call.space.purge(more)
    if doomed_ids:
        call.space.purge(list(doomed_ids))
    erased_ids, now = erased.all(), call.now()
    erased.back |= {old.id: None for old in back if old.id not in erased_ids and old.is_visible(now)}


def _rewrite(call: Call, erased: Erased, shrunk: Sequence[str]) -> None:
    episodes = call.space.get(shrunk, deleted=True) if shrunk else {}
    for id, episode in episodes.items():
        new = _written_without(call, episode, erased.message_keys)
        erased.rewritten[id] = new.id if new is not None else ""


def _written_without(call: Call, episode: Memory, keys: Collection[SaidKey]) -> Memory | None:
    """The episode without some messages and without its history, stored under an id that follows from what it says.

    It keeps tags, links, place and state. Two who forget different messages at once make the same one in the end.
    """
    remaining = without_said(episode, keys)
    if remaining is None:
        return None
    identity = json.dumps([remaining.content, *([m.role, m.content, str(m.time)] for m in remaining.messages)])
    new = replace(
        remaining,
        id=saving.rewritten_id(call, remaining, identity),
        updated_at=max(call.now(), remaining.updated_at),
        version=1,
        restored_version=None,
        links=_links_of(call, remaining),
    )
    [embeddings] = embed_memories(call, [new])
    found_by = out_of_search(new) if new.deleted_at is not None else entry(new, embeddings)

    def write(olds: Sequence[Memory]) -> Memory:
        with suppress(AlreadyExists):  # an earlier call was cut short, or another one forgets the same
            # It says less than what it takes the place of.
            call.commit(merged(Create(entry=found_by), (), olds, call.author()), within_quota=False)
        return new

    return call.change(lambda: reading.predecessors(call.space, [episode.id]), write)


def _links_of(call: Call, episode: Memory) -> tuple[Link, ...]:
    """The links of an episode from both sides: those that others have to it go with its id."""
    links = {link.target_id: link for link in episode.links}
    for association in reading.associations(call.space, [episode.id])[episode.id]:
        links.setdefault(
            association.memory_id,
            Link(target_id=association.memory_id, strength=association.strength, manual=association.manual),
        )
    strongest = sorted(links.values(), key=lambda link: (not link.manual, -link.strength))
    return tuple(strongest[: max(MAX_LINKS, sum(link.manual for link in strongest))])


_AT_ONCE: Final = 500
MOST_LISTED: Final = 100


@frozen
class Receipt:
    """Result of forgetting: `Erased`, and the user's exported files that hold some of it.

    `imports` has the names of the imports that brought some of it, by their ids: their files may still hold it.
    `unread` are exported files that could not be looked through. `verified` says that something was forgotten,
    everything was looked through afterwards, and no memory is left that holds the text or names the id. `unknown`
    counts the given ids that no memory has. `more` says that time ran out before all that the criteria name was
    forgotten.
    """

    ids: list[str]
    forgotten_at: datetime
    also: list[str] = field(default_factory=list)
    rewritten: dict[str, str] = field(default_factory=dict)
    remnants: dict[str, str] = field(default_factory=dict)
    back: list[str] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    verified: bool = False
    unknown: int = 0
    more: bool = False


def forget(call: Call, id: str, *, with_merged: bool = False) -> Receipt:
    """Forget a memory, a deleted or expired one too, with record, vectors, tokens, history, usage and links.

    `erase` says what else is purged and what is written again. Raises NotFound; Internal when the id was found
    afterwards.
    """
    try:
        memory = find(call, id, deleted=True)
    except NotFound:
        # A forgetting that was cut short is finished here, and what still names the id is mended.
        canonical_id = check_id(id)
        call.space.purge([canonical_id] if canonical_id else [])
        raise
    return _forget(call, [memory], with_merged=with_merged)


def forget_all(call: Call, ids: Sequence[str], *, with_merged: bool = False) -> Receipt:
    """Forget several memories; unknown ones are left out, and counted."""
    distinct_ids = {check_id(id) or id for id in ids}
    memories = _images(call, [k for k in dict.fromkeys(map(check_id, ids)) if k])
    receipt = _forget(call, memories, with_merged=with_merged)
    return replace(receipt, unknown=len(distinct_ids) - len(memories))


def forget_matching(call: Call, criteria: Filter, *, with_merged: bool = False) -> Receipt:
    """Forget what the criteria name: messages, superseded, deleted and expired memories too, pinned ones not.

    No criterion at all is refused.
    """
    filter = replace(_checked(criteria, "forgotten"), include_turns=True)
    doomed_ids = [
        memory.id
        for memory in call.in_time(call.space.images())
        if not memory.pinned and admits(filter, replace(memory, deleted_at=None, expires_at=None), memory.created_at)
    ]
    receipt = Receipt(ids=[], forgotten_at=call.now())
    for start in range(0, len(doomed_ids), _AT_ONCE):
        try:
            # Not by `forget_all`: the caller named no ids, so one that is gone meanwhile is no unknown one.
            memories = _images(call, doomed_ids[start : start + _AT_ONCE])
            receipt = _both(receipt, _forget(call, memories, with_merged=with_merged))
        except Unavailable:
            if not receipt.ids:
                raise
            return replace(receipt, more=True, verified=False)
    return receipt


def sentence(receipt: Receipt) -> str:
    """A receipt in a sentence for a person: no more than what was looked at."""
    if receipt.more:
        return "Time ran out before everything was forgotten; call again to continue."
    if not receipt.ids and not receipt.unknown:
        return "Nothing was forgotten: no memory matches, or only pinned ones, which criteria skip."
    if not receipt.ids:
        return f"Nothing was forgotten: no memory has {'this id' if receipt.unknown == 1 else 'any of these ids'}."
    if receipt.unknown:
        return f"{_sentence(receipt)} {counted(receipt.unknown, 'other id', 'other ids')} matched no memory."
    return _sentence(receipt)


def _sentence(receipt: Receipt) -> str:
    if receipt.remnants:
        count, is_one = len(receipt.remnants), len(receipt.remnants) == 1
        return (
            f"{count:,} other {'memory' if is_one else 'memories'} still {'holds' if is_one else 'hold'} the text or "
            f"{'names' if is_one else 'name'} the id; forget {'it' if is_one else 'them'} too if it must be gone."
        )
    if not receipt.verified:
        return "It is gone; time ran out before the store could be searched for other memories that hold the text."
    return "The store was searched afterwards: no memory holds the text or names the id."


def _images(call: Call, ids: Sequence[str]) -> list[Memory]:
    return list(call.space.get(ids, deleted=True).values())


def _forget(call: Call, memories: Sequence[Memory], *, with_merged: bool) -> Receipt:
    if not memories:
        return Receipt(ids=[], forgotten_at=call.now())
    ids = [memory.id for memory in memories]
    brought_by = {memory.import_id for memory in memories if memory.import_id is not None}
    names = {run.id: run.name for run in call.space.imports()} if brought_by else {}
    erased = erase(call, ids, with_merged=with_merged)
    for memory in memories[:MOST_LISTED]:
        if (traces := call.space.traces(memory.id)) and not _is_saved_again(call, memory):
            raise Internal(f"Memory {memory.id} was purged, but traces are left in: {', '.join(traces)}.", id=memory.id)
    exports, unread = _exports(call, erased)
    return Receipt(
        ids=erased.ids,
        forgotten_at=call.now(),
        also=[*erased.also, *(id for id, new in erased.rewritten.items() if not new)],
        rewritten={was: id for was, id in erased.rewritten.items() if id},
        remnants=erased.remnants,
        back=list(erased.back),
        exports=exports,
        imports={id: names.get(id, "") for id in sorted(brought_by)},
        unread=unread,
        verified=erased.is_checked and not erased.remnants,
    )


def _is_saved_again(call: Call, forgotten: Memory) -> bool:
    """Whether another call has saved a memory under this id meanwhile, as one repeated by its idempotency key."""
    memory = call.space.get([forgotten.id], deleted=True).get(forgotten.id)
    return memory is not None and memory.created_at != forgotten.created_at


def _both(first: Receipt, second: Receipt) -> Receipt:
    """One receipt from two. Memories that the second call erased are no longer remnants, nor restored."""
    if not (first.ids and second.ids):
        return first if first.ids else second
    erased_ids = {*second.ids, *second.also, *second.rewritten}
    remaining = {**first.remnants, **second.remnants}
    remaining = {id: why for id, why in remaining.items() if id not in erased_ids}
    return Receipt(
        ids=[*first.ids, *second.ids],
        forgotten_at=second.forgotten_at,
        also=[*first.also, *second.also],
        rewritten={was: id for was, id in {**first.rewritten, **second.rewritten}.items() if id not in erased_ids},
        remnants=remaining,
        back=[id for id in dict.fromkeys([*first.back, *second.back]) if id not in erased_ids],
        exports=sorted({*first.exports, *second.exports}),
        imports={**first.imports, **second.imports},
        unread=sorted({*first.unread, *second.unread}),
        verified=not remaining
        and (first.verified or bool(first.remnants))
        and (second.verified or bool(second.remnants)),
    )


def _exports(call: Call, erased: Erased) -> tuple[list[str], list[str]]:
    """The names of the user's exported files that hold some of it, and of those that could not be looked through."""
    if call.files is None:
        return [], []
    words, ids = Words(erased.texts), [id.encode() for id in erased.all()]
    holding: list[str] = []
    unread: list[str] = []
    for name in call.files.names():
        try:
            call.deadline.left()
            content = expand(call.files.read(name, max_bytes=MAX_FILE_BYTES))
        except SteeltrapError:
            unread.append(name)
            continue
        if any(id in content for id in ids) or words.are_in(map(Folded, _lines(content))):
            holding.append(name)
    return holding, unread


def _lines(content: bytes) -> list[str]:
    """The lines of a file, one per memory, with the escapes of white space as spaces."""
    text = content.decode(errors="replace")
    for escape in (r"\n", r"\r", r"\t"):
        text = text.replace(escape, " ")
    return text.splitlines()
