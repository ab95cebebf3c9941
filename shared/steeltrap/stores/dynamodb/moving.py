"""A user's memories moved into the tables from a store of another kind, and out of them.

The user's own item says where the memories are, if not here (`moved_to`), and by which move (`move`). While it is only
reserved for a move (`reserved`), each transaction checks that it still is: of two moves at once, one writes.

    into the tables                                 out of them
      the user's item is reserved, the rest removed   the user's item is marked
        └─> the source is marked                        └─> PAUSE_SECONDS pass: who read the item before has written
              └─> all is written and compared                 └─> all is read
                    └─> the user's item is opened
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from secrets import token_hex
from typing import Final

from ...changes.images import entry, out_of_search
from ...errors import Conflict, Unavailable, being_embedded
from ...model import Revision, Usage, to_micros
from ...ports import Create, Entry
from ...ports.space import Beside, Stored
from ...record import from_image, import_to_image
from . import conversations, items, keys, listing, users
from .client import Action, Cancelled, run
from .items import Item, number, text
from .partition import WRITE_SECONDS, Partition, incomplete
from .searching import last_before
from .usage import to_usage
from .writing import hints

PAUSE_SECONDS: Final = WRITE_SECONDS + 5.0
"""After this time nobody writes any more who saw the user's item before it was marked."""
_BLOCK: Final = 100


def own_item(partition: Partition) -> Item | None:
    """The user's own item as it is; None for a user of whom nothing is here."""
    user = partition.user_item()
    if user is None and _has_memories(partition) and users.recreate(partition):
        user = partition.user_item()
    return user


def reserve(partition: Partition, source: str, move: str) -> None:
    """Say that the memories are at the source still, and remove what was moved there, or what an earlier move brought.

    Whoever calls has looked whether there are other ones. Raises Conflict for a user who is being forgotten, Cancelled
    where another move came between.
    """
    user = own_item(partition)
    if user is not None and "forgetting" in user:
        raise Conflict("This user is being forgotten: run `steeltrap admin forget-user` to its end first.")
    signs: Item = {"everyone": keys.MOVED, "moved_to": source, "move": move, "reserved": 1}
    is_free = "attribute_not_exists(#k)"
    condition = is_free if user is None else "#moved_to = :moved_to AND attribute_not_exists(#forgetting)"
    values: Item = {} if user is None else {":moved_to": source}
    put = (users.creation(partition).put or {}) | signs
    run(partition.tables, partition.key, [Action(keys.USER, condition, values, put=put, own=True)], partition.deadline)
    clear(partition, move)
    users.forget_counters(partition)


def clear(partition: Partition, move: str) -> None:
    """Remove all items of a user but the user's own, for a move; tombstones stand where memories were.

    Raises Cancelled where another move came between.
    """
    users.remove_all(partition, _is_reserved(move))


def release(partition: Partition, source: str) -> None:
    """Remove a user for whom there is only a reservation for the memories of a source."""
    user = partition.user_item()
    if user is not None and "reserved" in user and user["moved_to"] == source:
        move = text(user, "move")
        clear(partition, move)
        run(partition.tables, partition.key, [replace(_is_reserved(move), delete=True)], partition.deadline)


def withdraw(partition: Partition, move: str) -> bool:
    """End a move for which the user's item is reserved. False where the memories are there, or another move came."""
    return _is_run(partition, replace(_is_reserved(move), set={"move": token_hex(8)}, own=True))


def clean(partition: Partition) -> None:
    """Remove what a move that failed has brought: it would outlive what is forgotten at the source."""
    user = partition.user_item()
    if user is not None and "reserved" in user:
        clear(partition, text(user, "move"))


def mark(partition: Partition, target: str, move: str) -> bool:
    """Say where the memories are from now on. Who has not read it yet writes for `PAUSE_SECONDS` at most.

    False for a user of whom nothing is here. Raises Conflict for memories of another embedder, Cancelled where another
    move came between.
    """
    user = own_item(partition)
    if user is None or "forgetting" in user or "reserved" in user:
        return False
    partition.admit({name: value for name, value in user.items() if name != "moved_to"})
    if "taking" in user:
        raise being_embedded()
    condition = (
        "attribute_exists(#k) AND attribute_not_exists(#forgetting) AND attribute_not_exists(#taking) "
        "AND attribute_not_exists(#reserved) AND (attribute_not_exists(#moved_to) OR #moved_to = :target)"
    )
    action = Action(keys.USER, condition, {":target": target}, set={"moved_to": target, "move": move}, own=True)
    run(partition.tables, partition.key, [action], partition.deadline)
    return True


def unmark(partition: Partition, move: str) -> None:
    """Let the memories be used here again, where it was this move that marked them."""
    condition = "#move = :move AND attribute_not_exists(#reserved)"
    changes: Item = {"everyone": keys.HERE}
    _is_run(partition, Action(keys.USER, condition, {":move": move}, set=changes, remove=["moved_to"]))


def unlist(partition: Partition) -> None:
    """Take a user whose memories were moved out of the list of everyone."""
    _is_run(partition, Action(keys.USER, "attribute_exists(#moved_to)", set={"everyone": keys.MOVED}))


def stored(partition: Partition) -> Iterator[Stored]:
    """All memories of a user, by id, whether or not they were moved."""
    places = _places(partition)
    usage_items = partition.tables.usage_items(partition.key, partition.deadline)
    usages = {text(item, "k"): to_usage(item) for item in usage_items}
    live_items = (item for item in partition.under(keys.MEMORIES) if "gone" not in item)
    while block := list(islice(live_items, _BLOCK)):
        histories = _histories(partition, block)
        images, searches = (partition.contents(block, name) for name in ("image", "search"))
        for item, image, search in zip(block, images, searches, strict=True):
            id = keys.id_of(text(item, "k"))
            if image is None or (search is None and "search_at" in item):
                raise incomplete(id)
            if id not in places:
                raise Unavailable(
                    "An earlier release wrote while the memories were moved; nothing was changed. Try again.",
                    part="store",
                )
            n, written = places[id]
            yield Stored(
                memory=from_image(image),
                n=n,
                written=written,
                embeddings=items.unpacked(search, number(item, "chunks"))[1] if search else (),
                history=tuple(histories[id]),
                usage=usages.get(id, Usage()),
                is_open="open" in item and not text(item, "open").startswith(keys.PENDING),
            )


def beside(partition: Partition) -> Beside:
    """All that a user has beside memories."""
    user = partition.user_item() or {}
    return Beside(
        sessions=tuple(conversations.read_sessions(partition)),
        imports=tuple(conversations.read_imports(partition)),
        analysis=number(user, "analysis"),
    )


def put(partition: Partition, memories: Iterable[Stored], count: int, others: Beside, move: str) -> None:
    """Write what a move brings. Raises Cancelled where another move came between, or the user was forgotten."""
    users.run_beside(_is_reserved(move), _actions(partition, memories, count, others), partition)


def open(partition: Partition, others: Beside, move: str) -> None:
    """Let the memories that a move brought be used. Raises Cancelled where another move came between."""
    names = listing.speakers(partition) | {""}
    changes: Item = {"everyone": keys.HERE, "analysis": others.analysis, "speakers": names}
    is_reserved = _is_reserved(move)
    action = replace(is_reserved, set=changes, remove=["moved_to", "reserved"], own=True)
    run(partition.tables, partition.key, [action], partition.deadline)


def _is_reserved(move: str) -> Action:
    """Check that the user's item is still reserved for a move."""
    condition = "#move = :move AND attribute_exists(#reserved) AND attribute_not_exists(#forgetting)"
    return Action(keys.USER, condition, {":move": move})


def _is_run(partition: Partition, action: Action) -> bool:
    """Whether the condition of a write held."""
    try:
        run(partition.tables, partition.key, [action], partition.deadline)
    except Cancelled:
        return False
    return True


def _has_memories(partition: Partition) -> bool:
    """Whether there are memories without the user's own item."""
    live = partition.under(keys.MEMORIES, ProjectionExpression="k", FilterExpression="attribute_not_exists(gone)")
    return any(True for _ in live)


def _places(partition: Partition) -> dict[str, tuple[int, int]]:
    """The places of the memories in the order of creation, where turns follow each other as they were said, and in that
    of the last writes, by id."""
    names = {f"#{name}": name for name in ("k", "w", "made", "position", "conversation_id", "gone")}
    request = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
    rows = [row for row in partition.under(keys.MEMORIES, **request) if "gone" not in row]
    created = sorted(rows, key=lambda row: (number(row, "made"), text(row, "k")))
    said: dict[str, list[Item]] = defaultdict(list)
    for row in created:
        said[text(row, "conversation_id")].append(row)
    in_turn = {
        conversation: iter(sorted(rows, key=lambda row: number(row, "position")) if conversation else rows)
        for conversation, rows in said.items()
    }
    created = [next(in_turn[text(row, "conversation_id")]) for row in created]
    written = sorted(created, key=lambda row: number(row, "w"))
    place_of_write = {text(row, "k"): at for at, row in enumerate(written, 1)}
    return {keys.id_of(text(row, "k")): (at, place_of_write[text(row, "k")]) for at, row in enumerate(created, 1)}


def _histories(partition: Partition, block: list[Item]) -> dict[str, list[Revision]]:
    """The images that updates of a block's memories replaced, oldest first, by id."""
    versions = {keys.id_of(text(item, "k")): number(item, "version") for item in block}
    first, last = min(versions), max(versions)
    bounds = {":first": keys.revisions(first), ":last": keys.revisions(last) + "~"}
    rows = [
        row
        for row in partition.items("k BETWEEN :first AND :last", bounds)
        # An update that did not happen may have left the image that it would have replaced.
        if text(row, "k") < keys.revision(keys.owner(text(row, "k")), versions.get(keys.owner(text(row, "k")), 0))
    ]
    histories: dict[str, list[Revision]] = defaultdict(list)
    for row, image in zip(rows, partition.contents(rows, "image"), strict=True):
        if image is not None:
            histories[keys.owner(text(row, "k"))].append(items.to_revision(row, image))
    return histories


def _actions(partition: Partition, memories: Iterable[Stored], count: int, others: Beside) -> Iterator[Action]:
    """The writes of all that a user has."""
    before = partition.stamp(last_before(partition, keys.LAST_WRITE))
    said: dict[str, int] = defaultdict(int)
    for each in memories:
        conversation, position = each.memory.conversation_id, None
        if conversation is not None:
            position = said[conversation]
            said[conversation] += 1
        search = entry(each.memory, each.embeddings) if each.embeddings else out_of_search(each.memory)
        for item in _items_of(partition, each, search, w=before + count + each.written, position=position):
            if item["k"] == keys.memory(each.memory.id):
                item["made"] = before + each.n
                if conversation is not None and position is not None:
                    item["position"] = position
                    if each.is_open:
                        item["open"] = keys.open_turn(conversation, position, each.memory.id)
            yield Action(text(item, "k"), put=item)
        if each.usage != Usage():
            yield Action(each.memory.id, put=_usage_item(partition, each), table=partition.tables.usage)
    for conversation, turns in said.items():
        yield _put(partition, keys.conversation(conversation), said=turns)
    for session in others.sessions:
        yield _put(partition, keys.session(session.id), created_at=to_micros(session.created_at))
    for record in others.imports:
        yield _put(partition, keys.import_(record.id), image=import_to_image(record))


def _items_of(partition: Partition, each: Stored, search: Entry, *, w: int, position: int | None) -> Iterator[Item]:
    """The memory's item, the pieces of what is too large for it, its earlier images, and its links from their ends."""
    new = items.memory_item(partition.key, search, w=w, position=position, room=items.Room())
    earlier = [items.revision(partition.key, revision, items.Room()) for revision in each.history]
    for one in (*earlier, new):
        yield from one.pieces
        yield one.item
    yield from hints(partition.key, Create(entry=search, history=each.history)).values()


def _usage_item(partition: Partition, each: Stored) -> Item:
    item: Item = {"u": partition.key, "k": each.memory.id}
    if each.usage.access_count:
        item["count"] = each.usage.access_count
    if each.usage.last_accessed_at is not None:
        item["at"] = to_micros(each.usage.last_accessed_at)
    if each.usage.card is not None:
        item["card"] = each.usage.card
    return item


def _put(partition: Partition, key: str, **values: str | int) -> Action:
    return Action(key, put={"u": partition.key, "k": key, **values})
