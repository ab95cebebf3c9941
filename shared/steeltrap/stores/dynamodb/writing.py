"""A commit: what is read before it, what is checked, and how it and its links are written.

A guarded creation looks for duplicates, then writes in a transaction that increments the user's count of guarded
creations. If two looked at the same time, one transaction is cancelled and looks again.

An image has its own links. So that they are found from the target too, each has a small item under the target's
key, which says that some image of the source, the current or an earlier one, may name it. It is written with the
image or before it, never after, and whoever reads it looks at the images: so it may be there in vain, and what is
linked is never missed.

One round trip reads, one writes: a put for a memory that stands alone, a transaction for more. What a transaction
can't hold goes before it (pieces, links as seen from their targets, earlier images), where it does no harm should
the transaction not come; beyond 100 actions a commit is several transactions, checked as far as can be before.

    read: the user, targets of links, what is replaced      counters of conversations, side by side
      └─> pieces and links that don't fit                   unconditional, harmless alone
            └─> the transaction                             refused: read again, or Conflict
                  └─> pieces that were replaced go
"""

import dataclasses
import random
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...errors import AlreadyExists, Conflict, Duplicate, MemoryNotFound, NotFound, SteeltrapError, VersionConflict
from ...model import Association, Filter, Memory, Revision, Surroundings, from_micros, to_micros
from ...ports import Change, Close, Create, Entry, Probe, Replace
from ...text.limits import canonical
from ...text.matching import sees
from ...text.remains import named, without
from ...text.vectors import nearest
from . import conversations, items, keys, usage, users
from .client import MOST_ACTIONS, MOST_BYTES, Action, Cancelled, ChangedSinceRead, groups, run
from .items import Item, number, text
from .keys import FOLD
from .partition import USER, Partition
from .searching import Seen

LookAround = Callable[[Probe, float], Surroundings]
_ANYTHING: Final = Filter()


def count_guarded_creation(read: Item | None) -> Action:
    """Increment the count of guarded creations, unless another one came first."""
    count = number(read, "guards") if read else 0
    if not count:
        return Action(keys.GUARD, "attribute_not_exists(#k)", set={"guards": 1})
    return Action(keys.GUARD, "#guards = :guards", {":guards": count}, set={"guards": count + 1})


def check_guards(partition: Partition, writes: Sequence[Create | Replace], look_around: LookAround) -> None:
    """Raises Duplicate for the first guarded creation that has a duplicate, stored or before it in the commit."""
    before: list[Entry] = []
    marked = {w.entry.memory.id for w in writes if isinstance(w, Replace) and w.entry.memory.is_superseded()}
    for write in writes:
        guard = write.guard if isinstance(write, Create) else None
        if guard is not None and guard.same_text:
            _refuse_same_text(partition, write.entry, before, marked)
        if guard is not None and guard.threshold is not None:
            _refuse_near(write.entry, guard.threshold, before, look_around, marked)
        if sees(_ANYTHING, write.entry.memory, from_micros(partition.now())):
            before.append(write.entry)


def check_version(write: Replace, there: Item | None) -> None:
    """Raises MemoryNotFound, or VersionConflict when another version is there than the write expects."""
    id = write.entry.memory.id
    if there is None or "gone" in there:
        raise MemoryNotFound(f"No memory with id {id}; search or list to find the right id.", id=id)
    version = number(there, "version")
    if version != write.expected:
        raise VersionConflict(
            f"Memory {id} is at version {version}, not {write.expected}: read it again and repeat the change.",
            id=id,
            version=version,
        )


def already_exists(id: str) -> AlreadyExists:
    """The error for creating a memory whose id exists."""
    return AlreadyExists(f"A memory with id {id} already exists.", id=id)


def refuse_repeated(writes: Sequence[Create | Replace]) -> None:
    """Raises AlreadyExists or VersionConflict when a commit writes one memory twice."""
    seen: set[str] = set()
    for write in writes:
        id = write.entry.memory.id
        if id not in seen:
            seen.add(id)
            continue
        if isinstance(write, Create):
            raise already_exists(id)
        raise VersionConflict(
            f"Memory {id} is changed twice in one commit: read it again and repeat the change.",
            id=id,
            version=write.expected + 1,
        )


def copies(partition: Partition, fold: bytes) -> list[Item]:
    """Where visible memories and turns have a text, given by its digest."""
    values: Any = {":fold": fold.hex(), ":now": partition.now()}
    visible = "attribute_not_exists(expires_at) OR expires_at > :now"
    return list(partition.items("fold = :fold", values, IndexName=FOLD, FilterExpression=visible))


def _refuse_same_text(partition: Partition, entry: Entry, before: Sequence[Entry], marked: Collection[str]) -> None:
    there = [
        (item["created_at"], keys.id_of(text(item, "k")))
        for item in copies(partition, entry.fold)
        if item["scope"] == entry.memory.scope and text(item, "listed").startswith(keys.MEMORIES)
    ]
    ids = [id for _, id in sorted(there) if id not in marked]
    ids += [e.memory.id for e in before if e.fold == entry.fold and e.memory.scope == entry.memory.scope]
    if ids:
        raise Duplicate("The same text is already stored in this scope.", id=ids[0], same_text=True)


def _refuse_near(
    entry: Entry, threshold: float, before: Sequence[Entry], look_around: LookAround, marked: Collection[str]
) -> None:
    probe = Probe(embeddings=entry.embeddings or (), scope=entry.memory.scope, leave_out=entry.memory.id)
    near = [(n.cosine, n.id) for n in look_around(probe, threshold).near if n.id not in marked]
    for other in before:
        if other.memory.scope == entry.memory.scope and other.embeddings and entry.embeddings:
            cosine = max(nearest(vector, other.embeddings) for vector in entry.embeddings)
            near += [(cosine, other.memory.id)] if cosine >= threshold else []
    if near:
        cosine, id = max(near, key=lambda pair: pair[0])
        raise Duplicate(
            f"Duplicate content detected (similarity: {cosine:.2f} >= {threshold:g})",
            id=id,
            similarity=round(cosine, 4),
        )


Write = Create | Replace


def images(change: Write) -> list[Memory]:
    """The image that a change writes, and the earlier ones."""
    return [change.entry.memory, *(revision.memory for revision in _revisions(change))]


def targets(change: Write) -> set[str]:
    """The ids that a change's images name, by links and by superseding, in their one form."""
    return {target for image in images(change) for target in named(image)}


def hints(user: str, change: Write) -> dict[str, Item]:
    """The items by which a change's links are found from their targets, and what was superseded from the newer one."""
    source = change.entry.memory.id
    newer = {canonical(image.superseded_by or "") for image in images(change)} - {""}
    found = {keys.link(target, source) for target in targets(change) - newer}
    found |= {keys.superseded(by, source) for by in newer}
    return {key: {"u": user, "k": key} for key in sorted(found)}


def without_dangling(changes: Sequence[Write], there: Collection[str]) -> list[Write]:
    """The changes without what they name that is neither in `there` nor made by them.

    What a look-around or an image was read before may have been purged since, and no write may bring its id back.
    An import's links are kept (`Create.links_ahead`).
    """
    known = {*there, *(change.entry.memory.id for change in changes)}
    return [
        change if isinstance(change, Create) and change.links_ahead else _with_links_to(change, known)
        for change in changes
    ]


def sources(partition: Partition, target: str) -> set[str]:
    """The ids whose images may name a memory."""
    found = partition.under(keys.links_to(target), ProjectionExpression="k")
    return {keys.source_of(text(item, "k")) for item in found}


def superseded(partition: Partition, by: str) -> list[Memory]:
    """The memories that a memory superseded, deleted and expired ones too."""
    found = partition.under(keys.superseded_by(by), ProjectionExpression="k")
    read = partition.memories({keys.source_of(text(item, "k")) for item in found}).values()
    return [memory for memory in read if canonical(memory.superseded_by or "") == by]


def associations(partition: Partition, ids: Sequence[str], now: int) -> dict[str, list[Association]]:
    """The links of each id from both sides, strongest first, then newest, then by id."""
    known = {id: canonical(id) for id in ids}
    pointing = partition.each(lambda id: sources(partition, id) if id else set(), known.values())
    pointed = dict(zip(known.values(), pointing, strict=True))
    read = partition.memories({*filter(None, known.values()), *(source for some in pointing for source in some)})
    ends = {canonical(link.target_id) for id in known.values() if id in read for link in read[id].links}
    read |= partition.memories(ends - read.keys() - {""})
    return {id: _associations(one, pointed[one], read, now) for id, one in known.items()}


def _associations(id: str, pointing: Iterable[str], read: dict[str, Memory], now: int) -> list[Association]:
    seen = [(canonical(link.target_id), link) for link in (read[id].links if id in read else ())]
    for source in pointing:
        if source in read:
            seen += [(source, link) for link in read[source].links if canonical(link.target_id) == id]
    at = from_micros(now)
    merged: dict[str, Association] = {}
    for other, link in seen:
        end = read.get(other)
        if end is None or not sees(_ANYTHING, end, at):
            continue
        known = merged.get(other, Association(memory_id=other, strength=link.strength, manual=False))
        merged[other] = Association(
            memory_id=other, strength=max(known.strength, link.strength), manual=known.manual or link.manual
        )
    return sorted(merged.values(), key=lambda a: (-a.strength, -to_micros(read[a.memory_id].created_at), a.memory_id))


def _revisions(change: Write) -> Sequence[Revision]:
    if isinstance(change, Create):
        return change.revisions
    return change.earlier if change.revision is None else (*change.earlier, change.revision)


def _with_links_to(change: Write, known: Collection[str]) -> Write:
    gone = targets(change) - set(known)
    if not gone:
        return change
    entry = dataclasses.replace(change.entry, memory=without(change.entry.memory, gone))
    revisions = tuple(dataclasses.replace(r, memory=without(r.memory, gone)) for r in _revisions(change))
    if isinstance(change, Create):
        return dataclasses.replace(change, entry=entry, revisions=revisions)
    if change.revision is None:
        return dataclasses.replace(change, entry=entry, earlier=revisions)
    return dataclasses.replace(change, entry=entry, earlier=revisions[:-1], revision=revisions[-1])


def earlier(change: Write) -> Sequence[Revision]:
    """The earlier images that a change keeps."""
    return _revisions(change)


_READ = ("k", "w", "version", "made", "position", "gone", "search_at", "image_at", "open", "guards", "speaker")
_PAUSE = 0.02
_FEW = 10
"""So many writes fit into one transaction with all their links."""
_SMALL = items.Room(image=1024, search=0)


def commit(
    partition: Partition,
    changes: Sequence[Change],
    look_around: LookAround,
    seen: Seen | None = None,
) -> bool:
    """Write all of the changes; what was `seen` a moment ago is not read again. Whether the kept names of speakers
    changed. Raises Conflict, NotFound, SteeltrapError."""
    return _Commit(partition, changes, look_around, seen).run()


@dataclass(slots=True)
class _Plan:
    """The writes of one attempt: `early` before the actions, without a condition; `late` goes after them."""

    early: list[Item] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    late: list[str] = field(default_factory=list)


class _Commit:
    def __init__(
        self,
        partition: Partition,
        changes: Sequence[Change],
        look_around: LookAround,
        seen: Seen | None,
    ) -> None:
        self._partition = partition
        self._writes: list[Write] = [change for change in changes if not isinstance(change, Close)]
        closing = [change for change in changes if isinstance(change, Close)]
        self._closed = [id for id in (canonical(i) for change in closing for i in change.turn_ids) if id]
        self._look_around = look_around
        self._seen = seen
        self._read: dict[str, Item] = {}
        self._positions: dict[str, int] | None = None
        self._done: set[str] = set()
        self._met: set[str] = set()
        self._said: set[str] = set()
        self._unsaid: set[str] = set()

    def run(self) -> bool:
        refuse_repeated(self._writes)
        renamed = False
        try:
            self._repeat()
        finally:
            if self._done:  # some may be written where others were refused
                renamed = usage.update_speakers(self._partition, self._user, self._said, self._unsaid)
        return renamed

    def _repeat(self) -> None:
        while True:
            try:
                self._attempt()
                return
            except ChangedSinceRead:
                # Whoever came first is not met again at once.
                time.sleep(min(random.uniform(0, _PAUSE), self._partition.deadline.left()))

    def _attempt(self) -> None:
        there = self._look()
        writes = [w for w in without_dangling(self._writes, there) if w.entry.memory.id not in self._done]
        self._check(writes)
        plan = self._plan(writes, items.Room())
        if len(plan.actions) <= MOST_ACTIONS and sum(action.size for action in plan.actions) > MOST_BYTES:
            plan = self._plan(writes, _SMALL)  # texts too go before, so that all or nothing holds
        try:
            self._write(plan)
        except (ChangedSinceRead, Conflict, NotFound):
            self._remove_pieces(plan)
            raise
        if plan.late:
            self._partition.tables.delete_all(self._partition.key, plan.late, self._partition.deadline)

    def _look(self) -> set[str]:
        """Read what the changes touch; answers the ids that are there. Counters of conversations go on meanwhile."""
        wanted = {keys.memory(write.entry.memory.id) for write in self._writes if self._reads_first(write)}
        wanted |= {keys.memory(id) for id in self._closed} | self._met
        if any(isinstance(write, Create) and write.guard for write in self._writes):
            wanted.add(keys.GUARD)
        targets = {target for write in self._writes for target in _looked_up(write)}
        counting = None
        if self._positions is None:
            said = [write.entry.memory for write in self._writes if isinstance(write, Create)]
            counting = conversations.turn_places(self._partition, said)
        there = self._recalled(targets) if not wanted else None
        if there is None:
            there = self._fetched({*wanted, *map(keys.memory, targets)})
        if counting is not None:
            self._positions = counting()
        if not self._partition.admit(self._user):
            users.finish_forgetting(self._partition)
            raise ChangedSinceRead
        return there

    def _recalled(self, targets: set[str]) -> set[str] | None:
        """The items that a look-around saw, once, if that is all there is to know. A purge since then is refused in the
        end, as long as one transaction holds all."""
        seen, self._seen = self._seen, None
        clock = self._partition.deadline.clock
        if seen is None or not seen.is_fresh(clock) or not targets <= seen.ids or len(self._writes) >= _FEW:
            return None
        self._read, self._user = {}, seen.user
        return targets

    def _fetched(self, wanted: set[str]) -> set[str]:
        names = tuple(dict.fromkeys((*_READ, *USER)))
        partition = self._partition
        self._read = partition.tables.get(partition.key, {*wanted, keys.USER}, names, self._partition.deadline)
        self._user = self._read.pop(keys.USER, None)
        return {keys.id_of(key) for key, item in self._read.items() if "gone" not in item}

    def _reads_first(self, write: Write) -> bool:
        # Of many creations one that must fail is found before any is written.
        return isinstance(write, Replace) or len(self._writes) >= MOST_ACTIONS

    def _check(self, writes: Sequence[Write]) -> None:
        for write in writes:
            there = self._read.get(keys.memory(write.entry.memory.id))
            if isinstance(write, Replace):
                check_version(write, there)
            elif there is not None and "gone" not in there:
                raise already_exists(write.entry.memory.id)
        check_guards(self._partition, writes, self._look_around)

    def _plan(self, writes: Sequence[Write], room: items.Room) -> _Plan:
        plan = _Plan()
        extra: dict[str, Item] = {}
        for write in writes:
            self._add(plan, write, room)
            extra |= hints(self._partition.key, write)
            for revision in earlier(write):
                kept = items.revision(self._partition.key, revision, room)
                extra[str(kept.item["k"])] = kept.item
                plan.early += kept.pieces
        for id in dict.fromkeys(self._closed):
            waits = self._read.get(keys.memory(id), {}).get("open")
            if waits is not None and not str(waits).startswith(keys.PENDING):
                _close(plan, id)
        self._fit(plan, writes, extra)
        return plan

    def _add(self, plan: _Plan, write: Write, room: items.Room) -> None:
        memory = write.entry.memory
        key = keys.memory(memory.id)
        there = self._read.get(key)
        w = self._partition.stamp(number(there, "w") if there else 0)
        position = (self._positions or {}).get(memory.id)
        if isinstance(write, Replace) and there is not None and "position" in there:
            position = number(there, "position")
        new = items.written(self._partition.key, write.entry, w=w, position=position, room=room)
        plan.early += new.pieces
        before, after = text(there or {}, "speaker"), text(new.item, "speaker")
        if before != after:
            self._said.add(after)
            self._unsaid.add(before)
        if isinstance(write, Create):
            plan.actions.append(self._creation(write.entry, new.item, there, position))
            return
        assert there is not None
        plan.late += items.pieces_of(there, "image")
        if "chunks" in new.item:
            plan.late += items.pieces_of(there, "search")
        changed = {name: value for name, value in new.item.items() if name not in ("u", "k")}
        plan.actions.append(
            Action(key, "#w = :seen", {":seen": there["w"]}, set=changed, remove=new.removed(), own=True)
        )

    def _creation(self, entry: Entry, item: Item, there: Item | None, position: int | None) -> Action:
        # To an index that lags, what replaces a forgotten memory is as old as that memory.
        item["made"] = there["made"] if there else item["w"]
        if position is not None and entry.memory.conversation_id is not None:
            item["position"] = position
            if entry.memory.source == "conversation":
                item["open"] = keys.said(entry.memory.conversation_id, position, entry.memory.id)
        if there is None:
            return Action(text(item, "k"), "attribute_not_exists(#k)", put=item, own=True)
        return Action(text(item, "k"), "#w = :seen", {":seen": there["w"]}, put=item, own=True)

    def _fit(self, plan: _Plan, writes: Sequence[Write], extra: dict[str, Item]) -> None:
        """Put what goes along into the transaction while there is room, in the order of what it is worth."""
        if self._user is None:
            self._add_actions(plan, [users.creation(self._partition)])
        elif extra and any(targets(write) for write in writes):
            # A purge that comes between would leave a link to what is gone.
            self._add_actions(plan, [users.unpurged(self._user)], needed=False)
        if any(isinstance(write, Create) and write.guard for write in writes):
            self._add_actions(plan, [count_guarded_creation(self._read.get(keys.GUARD))])
        self._add_actions(plan, [Action(key, put=item) for key, item in extra.items()])

    def _add_actions(self, plan: _Plan, more: list[Action], *, needed: bool = True) -> None:
        actions = [*plan.actions, *more]
        if len(actions) <= MOST_ACTIONS and sum(action.size for action in actions) <= MOST_BYTES:
            plan.actions = [*more, *plan.actions]
        elif needed:
            conditional = [action for action in more if action.condition]
            for action in conditional:
                _run(self._partition, [action])
            plan.early += [a.put for a in more if not a.condition and a.put is not None]

    def _write(self, plan: _Plan) -> None:
        if plan.early:
            self._partition.tables.put_all(plan.early, self._partition.deadline)
        for group in groups(plan.actions):
            try:
                run(self._partition.tables, self._partition.key, group, self._partition.deadline)
            except Cancelled as cancelled:
                self._refuse(group, cancelled)
            self._done |= {keys.id_of(action.key) for action in group if action.key.startswith(keys.MEMORIES)}

    def _refuse(self, group: Sequence[Action], cancelled: Cancelled) -> None:
        """Say why a transaction was refused, or that it should be tried again."""
        by_id = {write.entry.memory.id: write for write in self._writes}
        for action, reason in zip(group, cancelled.reasons, strict=True):
            if reason is None or not action.key.startswith(keys.MEMORIES):
                continue
            # What stands there now is read by the next attempt, which goes in a forgotten memory's place.
            self._met.add(action.key)
            write, there = by_id.get(keys.id_of(action.key)), reason[1]
            if there is None or "gone" in there:
                continue
            if isinstance(write, Create):
                raise already_exists(write.entry.memory.id)
            if isinstance(write, Replace):
                check_version(write, there)
        raise ChangedSinceRead from None

    def _remove_pieces(self, plan: _Plan) -> None:
        """Remove the pieces that nothing names: the write did not happen."""
        pieces = [text(item, "k") for item in plan.early if text(item, "k").startswith("b#")]
        with suppress(SteeltrapError):
            unnamed = [key for key in pieces if key.split("#")[1] not in self._done]
            self._partition.tables.delete_all(self._partition.key, unnamed, self._partition.deadline)


def _run(partition: Partition, actions: Sequence[Action]) -> None:
    try:
        run(partition.tables, partition.key, actions, partition.deadline)
    except Cancelled:
        raise ChangedSinceRead from None


def _looked_up(write: Write) -> Iterable[str]:
    """The targets that must be there: an import's may come later."""
    return () if isinstance(write, Create) and write.links_ahead else targets(write)


def _close(plan: _Plan, id: str) -> None:
    key = keys.memory(id)
    for i, action in enumerate(plan.actions):
        if action.key == key:
            plan.actions[i] = replace(action, remove=[*action.remove, "open"])
            return
    plan.actions.append(Action(key, "attribute_exists(#k)", remove=["open"]))
