"""A commit: what is read before it, what is checked, and how it and its links are written.

A guarded creation looks for duplicates, then writes in a transaction that increments the user's count of guarded
creations. If two looked at the same time, one transaction is cancelled and looks again.

An image has its own links. Each link also has a small item under the target's key, so that it is found from the target.
The item says that some image of the source, the current or an earlier one, may name the target. It is written with the
image or before it, never after, and a reader checks the images. So an item may be stale, but no link is missed.

One round trip reads, one writes: a put for a memory that stands alone, a transaction for more. What a transaction can't
hold is written before it (pieces, links as seen from their targets, earlier images), and does no harm if the
transaction fails. A commit of more than 100 actions is several transactions; as much as possible is checked before the
first one.

    read: the user, targets of links, what is replaced      counters of conversations, side by side
      └─> pieces and links that don't fit                   unconditional, harmless alone
            └─> the transaction                             refused: read again, or Conflict
                  └─> pieces that were replaced go
"""

import random
import time
from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ...changes.batch import (
    Batch,
    Duplicates,
    Write,
    already_exists,
    batch_of,
    check_version,
    images,
    referenced,
    settle,
)
from ...errors import Conflict, MovedAway, NotFound, SteeltrapError
from ...model import Neighbour, from_micros
from ...ports import Change, Create, Entry, Probe, Replace
from ...text.limits import canonical
from . import conversations, items, keys, listing, purging, usage, users
from .client import MOST_ACTIONS, MOST_BYTES, Action, Cancelled, ChangedSinceRead, groups, run
from .items import Item, number, text
from .partition import USER, WRITE_SECONDS, Partition
from .searching import Searcher, Seen


def count_guarded_creation(item: Item | None) -> Action:
    """Increment the count of guarded creations, unless another one came first."""
    count = number(item, "guards") if item else 0
    if not count:
        return Action(keys.GUARD, "attribute_not_exists(#k)", set={"guards": 1})
    return Action(keys.GUARD, "#guards = :guards", {":guards": count}, set={"guards": count + 1})


@dataclass(frozen=True, slots=True)
class StoredDuplicates:
    """Looks for duplicates in the table and the index."""

    partition: Partition
    searcher: Searcher

    def same_text(self, entry: Entry) -> list[str]:
        pairs = [
            (item["created_at"], keys.id_of(text(item, "k")))
            for item in listing.copies(self.partition, entry.fold)
            if item["scope"] == entry.memory.scope and text(item, "listed").startswith(keys.MEMORIES)
        ]
        return [id for _, id in sorted(pairs)]

    def near(self, entry: Entry, floor: float, top_k: int) -> tuple[Neighbour, ...]:
        probe = Probe(embeddings=entry.embeddings or (), scope=entry.memory.scope, leave_out=entry.memory.id)
        [around], _ = self.searcher.look_around(self.partition, [probe], floor=floor, top_k=top_k)
        return around.near


def hints(user: str, write: Write) -> dict[str, Item]:
    """The items by which a write's links are found from their targets, and what was superseded from the newer one."""
    source = write.entry.memory.id
    newer = {canonical(image.superseded_by or "") for image in images(write)} - {""}
    link_keys = {keys.link(target, source) for target in referenced(write) - newer}
    link_keys |= {keys.superseded(by, source) for by in newer}
    return {key: {"u": user, "k": key} for key in sorted(link_keys)}


_READ = ("k", "w", "version", "made", "position", "gone", "rest", "search_at", "image_at", "open", "guards", "speaker")
_PAUSE = 0.02
_FEW = 10
"""This number of writes fits into one transaction with all their links."""
_SMALL = items.Room(image=1024, search=0)


def commit(
    partition: Partition,
    changes: Sequence[Change],
    searcher: Searcher,
    snapshot: Seen | None = None,
) -> bool:
    """Write all of the changes; what `snapshot` holds is not read again. Whether the kept names of speakers
    changed. Raises Conflict, NotFound, SteeltrapError."""
    return _Commit(partition, batch_of(changes), StoredDuplicates(partition, searcher), snapshot).run()


@dataclass(slots=True)
class _Plan:
    """The writes of one attempt: `early` before the actions, without a condition; `late` goes after them."""

    early: list[Item] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    late: list[str] = field(default_factory=list)


class _Commit:
    def __init__(self, partition: Partition, batch: Batch, duplicates: Duplicates, snapshot: Seen | None) -> None:
        self._whole = self._partition = partition
        self._batch = batch
        self._closed = [id for id in map(canonical, batch.closed) if id]
        self._duplicates = duplicates
        self._snapshot = snapshot
        self._began = 0.0
        self._read: dict[str, Item] = {}
        self._positions: dict[str, int] | None = None
        self._written_ids: set[str] = set()
        self._refused_keys: set[str] = set()
        self._speakers: set[str] = set()
        self._former_speakers: set[str] = set()

    def run(self) -> bool:
        renamed = False
        try:
            self._repeat()
        finally:
            if self._written_ids:  # some may be written where others were refused
                renamed = usage.update_speakers(self._partition, self._user, self._speakers, self._former_speakers)
        return renamed

    def _repeat(self) -> None:
        while True:
            try:
                self._attempt()
                return
            except ChangedSinceRead:
                # Whoever came first is not met again at once.
                time.sleep(min(random.uniform(0, _PAUSE), self._whole.deadline.left()))

    def _attempt(self) -> None:
        self._partition = self._whole.within(WRITE_SECONDS)
        versions = self._look()
        now = from_micros(self._partition.now())
        writes = settle(self._batch, versions, self._duplicates, now, written_ids=self._written_ids)
        plan = self._plan(writes, items.Room())
        if len(plan.actions) <= MOST_ACTIONS and sum(action.size for action in plan.actions) > MOST_BYTES:
            plan = self._plan(writes, _SMALL)  # texts too go before, so that all or nothing holds
        try:
            self._write(plan)
        except (ChangedSinceRead, Conflict, NotFound, MovedAway):
            self._remove_pieces(plan)
            raise
        if plan.late:
            self._partition.tables.delete_all(self._partition.key, plan.late, self._partition.deadline)
        users.keep_known(self._partition, self._began)

    def _look(self) -> dict[str, int]:
        """Read what the batch touches; the versions of the memories that are stored. Counters of conversations go on
        meanwhile."""
        self._began = self._partition.deadline.clock.monotonic()
        item_keys = {keys.memory(write.entry.memory.id) for write in self._batch.writes if self._reads_first(write)}
        item_keys |= {keys.memory(id) for id in self._closed} | self._refused_keys
        if self._batch.is_guarded:
            item_keys.add(keys.GUARD)
        targets = self._batch.looked_up
        counting = None
        if self._positions is None:
            new_memories = [write.entry.memory for write in self._batch.writes if isinstance(write, Create)]
            counting = conversations.turn_places(self._partition, new_memories)
        versions = self._recalled(targets) if not item_keys else None
        if versions is None:
            versions = self._fetched({*item_keys, *map(keys.memory, targets)})
        if counting is not None:
            self._positions = counting()
        if not self._partition.admit(self._user):
            users.finish_forgetting(self._partition)
            raise ChangedSinceRead
        if unfinished := [key for key, item in self._read.items() if "rest" in item]:
            # Whoever purges the earlier memory would take pieces of the new one along.
            for key in unfinished:
                purging.clear(self._partition, keys.id_of(key))
            raise ChangedSinceRead
        return versions

    def _recalled(self, targets: Set[str]) -> dict[str, int] | None:
        """The memories that a look-around saw, once, if only their presence matters. A purge since then is refused in
        the end, as long as one transaction holds all."""
        snapshot, self._snapshot = self._snapshot, None
        clock = self._partition.deadline.clock
        if (
            snapshot is None
            or not snapshot.is_fresh(clock)
            or not targets <= snapshot.ids
            or len(self._batch.writes) >= _FEW
        ):
            return None
        self._read, self._user, self._began = {}, snapshot.user, snapshot.began
        return dict.fromkeys(targets, 0)

    def _fetched(self, item_keys: set[str]) -> dict[str, int]:
        names = tuple(dict.fromkeys((*_READ, *USER)))
        partition = self._partition
        self._read = partition.tables.get(partition.key, {*item_keys, keys.USER}, names, self._partition.deadline)
        self._user = self._read.pop(keys.USER, None)
        memory_items = {key: item for key, item in self._read.items() if key.startswith(keys.MEMORIES)}
        return {keys.id_of(key): number(item, "version") for key, item in memory_items.items() if "gone" not in item}

    def _reads_first(self, write: Write) -> bool:
        # Of many creations one that must fail is found before any is written.
        return isinstance(write, Replace) or len(self._batch.writes) >= MOST_ACTIONS

    def _plan(self, writes: Sequence[Write], room: items.Room) -> _Plan:
        plan = _Plan()
        extra: dict[str, Item] = {}
        for write in writes:
            self._add(plan, write, room)
            extra |= hints(self._partition.key, write)
            for revision in write.history:
                earlier = items.revision(self._partition.key, revision, room)
                extra[str(earlier.item["k"])] = earlier.item
                plan.early += earlier.pieces
        for id in dict.fromkeys(self._closed):
            waits = self._read.get(keys.memory(id), {}).get("open")
            if waits is not None and not str(waits).startswith(keys.PENDING):
                _close(plan, id)
        self._fit(plan, writes, extra)
        return plan

    def _add(self, plan: _Plan, write: Write, room: items.Room) -> None:
        memory = write.entry.memory
        key = keys.memory(memory.id)
        current = self._read.get(key)
        w = self._partition.stamp(number(current, "w") if current else 0)
        position = (self._positions or {}).get(memory.id)
        if isinstance(write, Replace) and current is not None and "position" in current:
            position = number(current, "position")
        new = items.memory_item(self._partition.key, write.entry, w=w, position=position, room=room)
        plan.early += new.pieces
        before, after = text(current or {}, "speaker"), text(new.item, "speaker")
        if before != after:
            self._speakers.add(after)
            self._former_speakers.add(before)
        if isinstance(write, Create):
            plan.actions.append(self._creation(write.entry, new.item, current, position))
            return
        assert current is not None
        plan.late += items.pieces_of(current, "image")
        if "chunks" in new.item:
            plan.late += items.pieces_of(current, "search")
        attributes = {name: value for name, value in new.item.items() if name not in ("u", "k")}
        plan.actions.append(Action.on(current, set=attributes, remove=new.removed(), own=True))

    def _creation(self, entry: Entry, item: Item, current: Item | None, position: int | None) -> Action:
        # To an index that lags, what replaces a forgotten memory is as old as that memory.
        item["made"] = current["made"] if current else item["w"]
        if position is not None and entry.memory.conversation_id is not None:
            item["position"] = position
            if entry.memory.source == "conversation":
                item["open"] = keys.open_turn(entry.memory.conversation_id, position, entry.memory.id)
        if current is None:
            return Action(text(item, "k"), "attribute_not_exists(#k)", put=item, own=True)
        return Action.on(current, put=item, own=True)

    def _fit(self, plan: _Plan, writes: Sequence[Write], extra: dict[str, Item]) -> None:
        """Put what goes along into the transaction while there is room, in the order of what it is worth."""
        if self._user is None:
            self._add_actions(plan, [users.creation(self._partition)])
        elif extra and any(referenced(write) for write in writes):
            # A purge that comes between would leave a link to what is gone.
            self._add_actions(plan, [users.unpurged(self._user)], is_required=False)
        if self._batch.is_guarded:
            self._add_actions(plan, [count_guarded_creation(self._read.get(keys.GUARD))])
        self._add_actions(plan, [Action(key, put=item) for key, item in extra.items()])

    def _add_actions(self, plan: _Plan, more: list[Action], *, is_required: bool = True) -> None:
        actions = [*plan.actions, *more]
        if len(actions) <= MOST_ACTIONS and sum(action.size for action in actions) <= MOST_BYTES:
            plan.actions = [*more, *plan.actions]
        elif is_required:
            conditional = [action for action in more if action.condition]
            for action in conditional:
                _run(self._partition, [action])
            plan.early += [a.put for a in more if not a.condition and a.put is not None]

    def _write(self, plan: _Plan) -> None:
        if plan.early:
            self._partition.tables.put_all(plan.early, self._partition.deadline)
        for group in _transactions(plan.actions):
            self._go_on()
            try:
                run(self._partition.tables, self._partition.key, group, self._partition.deadline)
            except Cancelled as cancelled:
                self._refuse(group, cancelled)
            self._written_ids |= {keys.id_of(action.key) for action in group if action.key.startswith(keys.MEMORIES)}

    def _go_on(self) -> None:
        """Write for longer than one look allows, where the user is still here. Raises Unavailable, ChangedSinceRead."""
        ends = self._partition.deadline
        if ends.before() < WRITE_SECONDS / 2 and ends.ends < self._whole.deadline.ends:
            partition = self._whole.within(WRITE_SECONDS)
            user = partition.user_item(USER)
            if not partition.admit(user) or (user is None and self._written_ids):
                raise ChangedSinceRead
            self._partition = partition

    def _refuse(self, group: Sequence[Action], cancelled: Cancelled) -> None:
        """Say why a transaction was refused, or that it should be tried again."""
        by_id = {write.entry.memory.id: write for write in self._batch.writes}
        for action, reason in zip(group, cancelled.reasons, strict=True):
            if reason is None or not action.key.startswith(keys.MEMORIES):
                continue
            # What stands there now is read by the next attempt, which goes in a forgotten memory's place.
            self._refused_keys.add(action.key)
            write, current = by_id.get(keys.id_of(action.key)), reason[1]
            if current is None or "gone" in current:
                continue
            if isinstance(write, Create):
                raise already_exists(write.entry.memory.id)
            if isinstance(write, Replace):
                check_version(write, number(current, "version"))
        raise ChangedSinceRead from None

    def _remove_pieces(self, plan: _Plan) -> None:
        """Remove the pieces that nothing names: the write did not happen."""
        pieces = [text(item, "k") for item in plan.early if text(item, "k").startswith(keys.PIECES)]
        with suppress(SteeltrapError):
            unnamed = [key for key in pieces if keys.owner(key) not in self._written_ids]
            self._partition.tables.delete_all(self._partition.key, unnamed, self._partition.deadline)


def _transactions(actions: Sequence[Action]) -> list[list[Action]]:
    """The transactions of a commit. Where there are several, each but the first checks that the user, whom it or
    an earlier commit has made, is still here."""
    if len(whole := list(groups(actions))) < 2:
        return whole
    first, *others = groups(actions, beside=1)
    return [first, *([users.is_here(), *group] for group in others)]


def _run(partition: Partition, actions: Sequence[Action]) -> None:
    try:
        run(partition.tables, partition.key, actions, partition.deadline)
    except Cancelled:
        raise ChangedSinceRead from None


def _close(plan: _Plan, id: str) -> None:
    key = keys.memory(id)
    for i, action in enumerate(plan.actions):
        if action.key == key:
            plan.actions[i] = replace(action, remove=[*action.remove, "open"])
            return
    plan.actions.append(Action(key, "attribute_exists(#k)", remove=["open"]))
