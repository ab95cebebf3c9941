"""What is made of a memory, and is erased with it: an episode and its messages, texts that were merged.

    look at every image ─> write episodes again without a message ─> purge ─> look again, until nothing is left to do
                           (under ids of their own)

Up to the purge nothing is lost, and what was asked for is purged last: a call that is repeated after an interruption
does the rest.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..errors import AlreadyExists, Unavailable, VersionConflict
from ..model import MAX_CONTENT_BYTES, MAX_LINKS, Link, Memory
from ..ports import Create
from ..rules.ids import piece_id
from ..rules.naming import named
from ..rules.remains import Folded, SaidKey, Words, beside, merged_from, said_in, texts_of, without_said
from . import save as saving
from . import superseding
from .call import Call
from .entry import embed_memories, entry, out_of_search

_ROUNDS: Final = 5
"""Each round but the first is for what others wrote in the meantime."""
_MOST_PIECES: Final = 64


@dataclass(slots=True)
class Erased:
    """What was erased: the `ids` that were asked for, `also` what only they held, and what all of it said.

    `rewritten` has the new id of each episode that lost messages, "" for one that lost all. `back` are memories that
    one of these superseded.
    `left` says of each memory that is still there why it counts as a remnant: `merged` from one of these, `same text`,
    or `names it`; `is_checked` whether there was time to see that.
    """

    ids: list[str]
    is_checked: bool = False
    also: dict[str, None] = field(default_factory=dict)
    rewritten: dict[str, str] = field(default_factory=dict)
    back: dict[str, None] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    said: set[SaidKey] = field(default_factory=set)
    conversations: set[str] = field(default_factory=set)

    def all(self) -> set[str]:
        return {*self.ids, *self.also, *self.rewritten}


@dataclass(slots=True)
class _Seen:
    """What the images say that may hang together with what is erased, by id."""

    turns: dict[str, set[SaidKey]] = field(default_factory=lambda: defaultdict(set))
    episodes: dict[str, set[SaidKey]] = field(default_factory=lambda: defaultdict(set))
    merged: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    texts: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    long: set[str] = field(default_factory=set)
    left: dict[str, str] = field(default_factory=dict)


def erase(call: Call, ids: Sequence[str], *, with_merged: bool = False) -> Erased:
    """Purge memories that are there, deleted or not, with what only they hold, and see what is left of them.

    An episode takes its messages along, and a long message all its turns. An episode that loses a message is written
    again without it, or goes if it has no other. `with_merged` takes along what was merged from them. Raises
    Unavailable.
    """
    erased = Erased(ids=list(ids))
    doomed = set(ids)
    for _ in range(_ROUNDS):
        try:
            seen = _look(call, erased, doomed)
        except Unavailable:
            if doomed:
                raise
            return erased  # it is gone, and a repeated call would not know it
        along = _along(erased, seen, doomed, with_merged=with_merged)
        shrunk = [id for id, said in seen.episodes.items() if id not in along and id not in doomed]
        shrunk = [id for id in shrunk if seen.episodes[id] & erased.said]
        erased.left = seen.left
        if not (doomed or along or shrunk):
            erased.is_checked = True
            break
        _rewrite(call, erased, shrunk)
        _purge(call, erased, along, doomed)
        doomed = set()
    return erased


def rewrite_without(call: Call, episode: Memory, gone: Iterable[Memory]) -> Memory | None:
    """Put an episode without some turns in place of one that was just made; None where nothing is left of it.

    For turns that were forgotten while it was made.
    """
    said = {key for turn in gone for key in said_in(turn)}
    new = _written_without(call, episode, said)
    call.space.purge([episode.id])
    return new


def _look(call: Call, erased: Erased, doomed: Collection[str]) -> _Seen:
    """Look at every image there is, earlier ones too."""
    there = call.space.get(list(doomed), deleted=True) if doomed else {}
    erased.conversations |= {m.conversation_id for m in there.values() if m.conversation_id is not None}
    seen = _Seen()
    remnant = None if doomed else _Remnant(erased)
    for earlier in (False, True):
        for image in call.in_time(call.space.images(earlier=earlier)):
            _note(seen, image, erased, doomed)
            if remnant is not None and image.id not in seen.left and (why := remnant.why(image)):
                seen.left[image.id] = why
    return seen


class _Remnant:
    """Knows what is left of what was erased."""

    def __init__(self, erased: Erased) -> None:
        self._gone = erased.all()
        self._words = Words(erased.texts)
        self._ids = Words(ids=self._gone)

    def why(self, image: Memory) -> str:
        """Why an image counts as a remnant; "" if it doesn't."""
        if not merged_from(image).isdisjoint(self._gone):
            return "merged"
        said = [Folded(text) for text in texts_of(image)]
        if self._words.are_in(said):
            return "same text"
        is_named = self._ids.are_in([*said, *map(Folded, beside(image))]) or not named(image).isdisjoint(self._gone)
        return "names it" if is_named else ""


def _note(seen: _Seen, image: Memory, erased: Erased, doomed: Collection[str]) -> None:
    sources = merged_from(image)
    is_near = image.conversation_id in erased.conversations
    if sources:
        seen.merged[image.id] |= sources
    if is_near and (said := said_in(image)):
        (seen.turns if image.source == "conversation" else seen.episodes)[image.id] |= said
        if image.source == "conversation" and 2 * len(image.content.encode()) > MAX_CONTENT_BYTES:
            seen.long.add(image.id)
    if is_near or sources or image.id in doomed:
        seen.texts[image.id] |= dict.fromkeys(texts_of(image))


def _along(erased: Erased, seen: _Seen, doomed: Collection[str], *, with_merged: bool) -> list[str]:
    """The ids of what goes along, and note what all of it says."""
    gone = {*doomed, *erased.all()}
    messages = [{id, *(piece_id(id, n) for n in range(1, _MOST_PIECES))} & {*seen.turns} for id in seen.long]
    while True:
        said = erased.said | {key for of in (seen.turns, seen.episodes) for id in gone for key in of.get(id, ())}
        more = {id for id, keys in seen.turns.items() if not keys.isdisjoint(said)}
        more |= {id for id, keys in seen.episodes.items() if keys <= said}
        more |= {id for message in messages if not message.isdisjoint(gone) for id in message}
        if with_merged:
            more |= {id for id, sources in seen.merged.items() if not sources.isdisjoint(gone)}
        erased.said = said
        if more <= gone:
            break
        gone |= more
    there = seen.turns.keys() | seen.episodes.keys() | seen.merged.keys()
    along = [id for id in there if id in gone and id not in doomed]
    for id in (*along, *doomed):
        erased.texts |= seen.texts.get(id, {})
    return along


def _purge(call: Call, erased: Erased, along: Sequence[str], doomed: Collection[str]) -> None:
    erased.also |= dict.fromkeys(id for id in along if id not in erased.ids)
    back = call.space.superseded([*along, *doomed])
    if more := [*along, *(id for id in erased.rewritten)]:
        call.space.purge(more)
    if doomed:
        call.space.purge(list(doomed))
    gone, now = erased.all(), call.now()
    erased.back |= {old.id: None for old in back if old.id not in gone and old.is_visible(now)}


def _rewrite(call: Call, erased: Erased, shrunk: Sequence[str]) -> None:
    there = call.space.get(shrunk, deleted=True) if shrunk else {}
    for id, episode in there.items():
        new = _written_without(call, episode, erased.said)
        erased.rewritten[id] = new.id if new is not None else ""


def _written_without(call: Call, episode: Memory, said: Collection[SaidKey]) -> Memory | None:
    """The episode without some messages and without its history, stored under an id that follows from what it says.

    It keeps tags, links, place and state. Two who forget different messages at once make the same one in the end.
    """
    rest = without_said(episode, said)
    if rest is None:
        return None
    told = json.dumps([rest.content, *([m.role, m.content, str(m.time)] for m in rest.messages)])
    new = replace(
        rest,
        id=saving.rewritten_id(call, rest, told),
        updated_at=max(call.now(), rest.updated_at),
        version=1,
        restored_version=None,
        links=_links_of(call, rest),
    )
    [embeddings] = embed_memories(call, [new])
    found_by = out_of_search(new) if new.deleted_at is not None else entry(new, embeddings)
    while True:
        olds = call.space.superseded([episode.id])
        made = replace(found_by, memory=replace(new, supersedes=tuple(old.id for old in olds)))
        try:
            # It says less than what it takes the place of.
            call.commit([Create(entry=made), *(superseding.marked(call, old, new) for old in olds)], within_quota=False)
        except AlreadyExists:  # an earlier call was cut short, or another one forgets the same
            return new
        except VersionConflict:
            call.deadline.left()
        else:
            return new


def _links_of(call: Call, episode: Memory) -> tuple[Link, ...]:
    """The links of an episode from both sides: those that others have to it go with its id."""
    links = {link.target_id: link for link in episode.links}
    for there in call.space.associations([episode.id])[episode.id]:
        links.setdefault(there.memory_id, Link(target_id=there.memory_id, strength=there.strength, manual=there.manual))
    strongest = sorted(links.values(), key=lambda link: (not link.manual, -link.strength))
    return tuple(strongest[: max(MAX_LINKS, sum(link.manual for link in strongest))])
