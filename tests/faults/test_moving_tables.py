"""DynamoDB's tables as a place of a move: what a user has is the same on both sides, late writers arrive."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from threading import Event
from typing import Any

import pytest

from clock import NOON, SettableClock
from contracts.entries import embed, memory, query, save, turn, update
from embedding import HashedWords
from faults.moving_sides import ANA, Open, Side, cut_short, killed, move
from spaces import in_time, space_of
from steeltrap.changes.images import entry
from steeltrap.errors import Conflict, SteeltrapError, Unavailable, moved_away
from steeltrap.maintenance import Run
from steeltrap.model import Message, Session, UserRef
from steeltrap.ports import Create, Deadline, LatestWrites, OpenTurns, Space
from steeltrap.record import to_image
from steeltrap.stores.dynamodb import keys, moving, purging, users
from steeltrap.stores.dynamodb.documents import DynamoTruth
from steeltrap.stores.dynamodb.partition import WRITE_SECONDS, Partition
from steeltrap.stores.replica.moving import move_user
from steeltrap.stores.sqlite import moving as rows
from steeltrap.stores.sqlite.header import begin_staging
from steeltrap.stores.table_place import TablePlace
from steeltrap.text.words import WORDS_VERSION
from steeltrap.toolsets import CATALOGUE

ONE = "3b6c4fd0-8b7f-4a52-9c6c-0f3df1f1e001"


def story(side: Side) -> None:
    """A user's months: everything that a store keeps of one."""
    ask = side.ask
    lisbon = ask("core.save", content="Ana lives in Lisbon.", tags=["Home"], metadata={"floor": 3, "lift": True})["id"]
    porto = ask("core.save", content="Ana moved to Porto on 12 May 2026.", supersedes=[lisbon])["id"]
    ask("core.update", id=porto, content="Ana moved to Porto in May.")
    ask("core.update", id=porto, content="Ana moved to Porto on 13 May 2026.")
    ask("core.save", content="Ana moved to Porto, near the river.", pinned=True, category="Fact")
    heron = ask("core.save", content="A heron stands in the river.")["id"]
    ask("core.associate", id=porto, target_id=heron, strength=0.9)
    ask("core.save", content="The otter sleeps.", ttl_seconds=3600)
    deleted = ask("core.save", content="The frog sings at night.")["id"]
    ask("core.delete", id=deleted)
    forgotten = ask("core.save", content="An egret.")["id"]
    ask("core.forget", id=forgotten)
    for at, said in enumerate(["Where is the heron?", "In the river.", "And the otter?"]):
        ask(
            "core.append_messages",
            conversation_id="talk",
            messages=[{"role": "user", "content": said, "speaker": "Bo"}],
        )
        long_ago = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=at)).isoformat()
        ask(
            "core.append_messages",
            conversation_id="long ago",
            messages=[{"role": "user", "content": f"{said} Then.", "time": long_ago}],
        )
    ask("core.create_session", session_id="release-42")
    record = {"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "Brought from elsewhere."}
    times = {"created_at": "2020-01-31T09:30:00+00:00", "updated_at": "2020-01-31T09:30:00+00:00"}
    ask("core.import", records=[record | times])
    ask("core.review", id=porto, grade="easy")
    ask("core.get", id=heron)
    ask("core.get", id=heron)
    ask("core.set_score", id=heron, score=0.9, reason="It is dear to Ana.")
    said_long = tuple(Message(role="user", content=f"{n} " + "reed " * 4000) for n in range(6))
    large = replace(memory("A long episode " + "of the reeds " * 600), messages=said_long)
    space_of(side.store, "ana").commit([Create(entry=entry(large, embed(large.content)))])
    space_of(side.store, "ana").set_analysis(WORDS_VERSION - 1)
    side.store.flush()


def everything(side: Side) -> dict[str, Any]:
    """All that a store has of Ana, so that two stores that have the same are equal."""
    space = space_of(side.store, "ana")
    images = sorted(map(to_image, space.images()))
    ids = [each.id for each in space.images()]
    figures = dict(space.statistics())
    figures.pop("bytes")
    return {
        "images": images,
        "earlier": sorted(map(to_image, space.images(earlier=True))),
        "revisions": {id: space.revisions(id) for id in ids},
        "embeddings": space.embeddings(sorted(ids)),
        "usage": space.usage(sorted(ids)),
        "sessions": space.sessions(),
        "imports": space.imports(),
        "open": [space.find(OpenTurns(name)) for name in ("talk", "long ago")],
        "idle": space.idle_conversations(datetime.now(UTC), limit=9),
        "latest": [id for id in space.find(LatestWrites(100)) if id in ids],
        "speakers": space.speakers(),
        "scopes": space.scopes(),
        "analysis": space.analysis(),
        "statistics": figures,
        "found": [_found(space, text) for text in ("where does Ana live", "heron river", "otter", "reed")],
        "export": sorted(map(str, side.ask("core.export", limit=500)["records"])),
    }


def walked(side: Side) -> list[str]:
    return [each.id for each in space_of(side.store, "ana").walk(turns=True)]


def _found(space: Space, text: str) -> list[tuple[str, float | None, float | None]]:
    candidates = space.search(query(text, include_turns=True)).candidates
    return sorted((hit.id, round(hit.cosine or 0, 5), round(hit.bm25 or 0, 5)) for hit in candidates)


@pytest.mark.parametrize("kind", ["folder", "log"])
def test_a_user_who_goes_to_the_tables_and_back_has_everything_at_each_place(open_side: Open, kind: str) -> None:
    place, aws, elsewhere = open_side(kind), open_side("aws"), open_side(f"{kind}-2")
    story(place)
    before, in_order = everything(place), walked(place)
    count = move(place, aws)
    assert count == len(before["images"]) == 14
    assert everything(aws) == before
    assert move(aws, elsewhere) == count
    assert everything(elsewhere) == before
    assert walked(elsewhere) == in_order
    [deleted] = [each.id for each in space_of(elsewhere.store, "ana").images() if each.deleted_at is not None]
    open_side(f"{kind}-2").ask("core.undo", id=deleted)
    assert "The frog sings at night." in elsewhere.contents()


@pytest.mark.parametrize("kind", ["folder", "log"])
def test_a_user_who_began_in_the_tables_has_everything_elsewhere_and_back(open_side: Open, kind: str) -> None:
    aws, place = open_side("aws"), open_side(kind)
    story(aws)
    before, in_order = everything(aws), walked(aws)
    move(aws, place)
    assert everything(place) == before
    move(place, aws)
    assert everything(aws) == before
    assert walked(aws) == in_order
    aws.ask("core.append_messages", conversation_id="talk", messages=[{"role": "user", "content": "So it went on."}])
    turns = space_of(aws.store, "ana")
    said = [turns.get([id])[id].content for id in turns.find(OpenTurns("talk"))]
    assert said == ["Where is the heron?", "In the river.", "And the otter?", "So it went on."]


READS: list[tuple[str, dict[str, Any]]] = [
    ("core.get", {"id": "ID"}),
    ("core.list", {}),
    ("core.search", {"query": "heron"}),
    ("core.retrieve_memory", {"query": "heron"}),
    ("core.associations", {"id": "ID"}),
    ("core.list_scopes", {}),
    ("core.suggest_scope", {"content": "heron"}),
    ("core.list_sessions", {}),
    ("core.simulate_decay", {"id": "ID", "at": "2027-01-31"}),
    ("core.score", {"id": "ID"}),
    ("core.history", {"id": "ID"}),
    ("core.export", {}),
    ("core.list_imports", {}),
    ("core.stats", {}),
]
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("core.save", {"content": "Lost?"}),
    ("core.batch_save", {"items": [{"content": "Lost?"}, {"content": "Both?"}]}),
    ("core.update", {"id": "ID", "content": "Lost?"}),
    ("core.delete", {"id": "ID"}),
    ("core.undo", {"id": "ID"}),
    ("core.forget", {"id": "ID"}),
    ("core.set_score", {"id": "ID", "score": 0.5, "reason": "lost?"}),
    ("core.review", {"id": "ID", "grade": "good"}),
    ("core.append_messages", {"messages": [{"role": "user", "content": "Lost?"}], "conversation_id": "talk"}),
    ("core.create_session", {}),
    ("core.cleanup_sessions", {}),
    ("core.import", {"records": [{"content": "Lost?"}]}),
]


@pytest.mark.parametrize("state", ["moved", "reserved"])
def test_every_tool_says_where_the_memories_are(open_side: Open, state: str) -> None:
    aws, log = open_side("aws"), open_side("log")
    if state == "moved":
        id = aws.ask("core.save", content="A heron.")["id"]
        move(aws, log)
    else:
        id = log.ask("core.save", content="A heron.")["id"]
        aws.place.reserve(ANA, "log", "another move", in_time())
    for tool, arguments in READS + WRITES:
        values = {name: id if value == "ID" else value for name, value in arguments.items()}
        with pytest.raises(Unavailable, match="These memories were moved to log: "):
            open_side("aws").ask(tool, **values)
    with pytest.raises(SteeltrapError, match="moved to log"):
        space_of(aws.store, "ana").reembed(lambda memories: [])


def test_no_call_takes_longer_than_a_move_waits_for() -> None:
    assert max(tool.timeout for tool in CATALOGUE.tools()) <= WRITE_SECONDS < moving.PAUSE_SECONDS


def table_place(side: Side) -> TablePlace:
    assert isinstance(side.place, TablePlace)
    return side.place


def test_a_save_that_began_before_the_mark_and_ends_after_it_arrives(open_side: Open) -> None:
    aws, late, log = open_side("aws"), open_side("aws"), open_side("log")
    aws.ask("core.save", content="one")
    marked, written = Event(), Event()

    def pause(seconds: float) -> None:
        marked.set()
        assert written.wait(60)

    place = replace(table_place(aws), pause=pause)
    store: Any = late.store
    call = store.tables.call
    with ThreadPoolExecutor(1) as thread:
        moves: list[Future[int | None]] = []

        def move_before(operation: str, request: Any, deadline: Any) -> Any:
            if operation == "put_item" and not moves:
                moves.append(thread.submit(move_user, ANA, place, log.place, in_time()))
                assert marked.wait(60)
            return call(operation, request, deadline)

        store.tables.call = move_before
        late.ask("core.save", content="two")
        written.set()
        assert moves[0].result(60) == 2
    assert log.contents() == {"one", "two"}


def test_a_forgetting_beside_a_move_is_not_acknowledged(open_side: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = open_side("aws")
    id = aws.ask("core.save", content="one")["id"]
    clear = purging._replace_by_tombstone

    def mark_after(partition: Partition, id: str) -> Any:
        buried = clear(partition, id)
        aws.place.mark(ANA, "log", "a move", in_time())
        return buried

    monkeypatch.setattr(purging, "_replace_by_tombstone", mark_after)
    with pytest.raises(Unavailable, match="moved to log"):
        space_of(aws.store, "ana").purge([id])


def test_of_two_moves_at_once_one_writes_and_the_other_puts_nothing_back(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, aws, second = open_side("log"), open_side("aws"), open_side("aws")
    log.ask("core.save", content="one")
    put = moving.put

    def overtaken(*arguments: Any) -> None:
        second.place.reserve(ANA, "log", "another move", in_time())
        put(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "put", overtaken)
        with pytest.raises(Conflict, match="Another move of this user came between"):
            move(log, aws)
    for side in (log, aws):
        with pytest.raises(Unavailable, match="moved to"):
            side.ask("core.save", content="lost?")
    assert move(open_side("log"), second) == 1
    assert aws.contents() == {"one"}


@pytest.mark.parametrize(("source", "target"), [("aws", "log"), ("log", "aws")])
def test_a_copy_that_differs_is_not_used(
    open_side: Open, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    old, new = open_side(source), open_side(target)
    for content in ("one", "two"):
        old.ask("core.save", content=content)
    copied = rows if target == "log" else moving
    stored = copied.stored
    with monkeypatch.context() as patch:
        patch.setattr(copied, "stored", lambda *where: islice(stored(*where), 1))
        with pytest.raises(Unavailable, match="The copy differs"):
            move(old, new)
    old.ask("core.save", content="three")
    assert move(old, new) == 3
    assert new.contents() == {"one", "two", "three"}


def test_turns_keep_their_order_where_the_clocks_of_those_who_wrote_them_differ(open_side: Open) -> None:
    aws, log = open_side("aws"), open_side("log")
    behind = open_side("aws")
    store = table_place(behind).store
    store._clock = SettableClock(datetime.now(UTC) - timedelta(seconds=30))
    turns = [turn(f"said {n}", "talk") for n in range(6)]
    for n, said in enumerate(turns):
        space = space_of((aws, behind)[n % 2].store, "ana")
        space.commit([Create(entry=entry(said, embed(said.content)))])
    assert move(aws, log) == 6
    assert space_of(log.store, "ana").find(OpenTurns("talk")) == [each.id for each in turns]


@pytest.mark.parametrize(("source", "target"), [("aws", "log"), ("log", "aws")])
def test_memories_of_another_embedder_stay_where_they_are(open_side: Open, source: str, target: str) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="one")
    table = table_place(old if source == "aws" else new)
    table.store._embedder = HashedWords(dimension=16)
    with pytest.raises(Conflict, match="Run `steeltrap reembed`"):
        move(old, new)
    table.store._embedder = HashedWords()
    assert old.contents() == {"one"}
    assert move(old, new) == 1


def test_memories_that_are_being_embedded_anew_are_moved_when_that_is_done(open_side: Open) -> None:
    log, aws, other = open_side("log"), open_side("aws"), HashedWords(dimension=16)
    log.ask("core.save", content="one")
    file: Any = log.store
    file.open_file(ANA, in_time()).transaction(
        "vectors", lambda connection, _: begin_staging(connection, other.name, other.dimension)
    )
    with pytest.raises(Conflict, match="to its end first"):
        move(log, aws)
    assert log.contents() == {"one"}


def test_what_was_moved_out_of_the_tables_is_removed_by_forgetting_the_user_there(open_side: Open) -> None:
    aws, log = open_side("aws"), open_side("log")
    aws.ask("core.save", content="one")
    move(aws, log)
    assert list(DynamoTruth(table_place(aws).store.tables).users()) == [ANA], "the index still has what is there"
    assert aws.store.forget_user(ANA)
    assert list(DynamoTruth(table_place(aws).store.tables).users()) == []
    assert not aws.store.forget_user(ANA)
    assert space_of(aws.store, "ana").statistics()["memories"] == 0
    assert log.contents() == {"one"}


def test_a_user_who_is_forgotten_while_memories_are_written_to_the_tables_does_not_come_back(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, aws = open_side("log"), open_side("aws")
    log.ask("core.save", content="one")
    put = moving.put

    def forgotten(*arguments: Any) -> None:
        aws.store.forget_user(ANA)
        put(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "put", forgotten)
        with pytest.raises(Conflict, match="Another move of this user came between"):
            move(log, aws)
    with pytest.raises(Conflict, match="they were forgotten there"):
        move(log, aws)
    assert aws.contents() == set()


def test_a_user_who_is_being_moved_out_of_the_tables_is_not_forgotten_in_them_alone(open_side: Open) -> None:
    aws, log = open_side("aws"), open_side("log")
    aws.ask("core.save", content="one")
    cut_short(aws, log, "take")
    with pytest.raises(Unavailable, match="moved to log"):
        aws.store.forget_user(ANA)
    assert move(aws, log) == 1
    assert aws.store.forget_user(ANA), "what is left of a move that has ended"
    assert log.contents() == {"one"}


def test_a_user_whose_move_was_cut_short_is_counted_and_named_by_a_sweep(open_side: Open) -> None:
    aws, log = open_side("aws"), open_side("log")
    aws.ask("core.save", content="one")
    cut_short(aws, log, "take")
    named: list[tuple[UserRef | None, str]] = []
    run = Run(
        store=aws.store,
        call_for=aws.door.call_for,
        report=lambda user, error: named.append((user, error.message)),
    )
    run.sweep_due()
    assert (run.users, run.moved, run.failed) == (0, 1, 0)
    assert named == [(ANA, moved_away("log").message)]


def test_a_user_who_is_being_forgotten_in_the_tables_is_not_moved_there(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, aws = open_side("log"), open_side("aws")
    log.ask("core.save", content="one")
    aws.ask("core.save", content="secret")
    with monkeypatch.context() as patch:
        patch.setattr(users, "finish_forgetting", killed)
        with pytest.raises(SystemExit):
            aws.store.forget_user(ANA)
    with pytest.raises(Conflict, match="This user is being forgotten"):
        move(log, aws)
    assert log.contents() == {"one"}
    assert aws.store.forget_user(ANA)
    assert move(log, aws) == 1
    assert aws.contents() == {"one"}


def test_what_a_failed_move_brought_is_removed_once_the_source_is_used_again(
    open_side: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, aws = open_side("log"), open_side("aws")
    log.ask("core.save", content="one")
    clean = TablePlace.clean

    def clean_beside_a_save(self: TablePlace, *arguments: Any) -> None:
        log.ask("core.save", content="two")
        clean(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "open", killed)
        patch.setattr(TablePlace, "clean", clean_beside_a_save)
        with pytest.raises(SystemExit):
            move(log, aws)
    left = table_place(aws).store.partition(ANA, in_time()).under(keys.MEMORIES)
    assert all("gone" in item for item in left)
    assert log.contents() == {"one", "two"}
    assert move(log, aws) == 2


def tell_story_of_one(side: Side) -> None:
    """Save a memory under its one id, change it, and read it; and make a session under its one name."""
    space = space_of(side.store, "ana")
    update(space, save(space, "the heron", id=ONE), content="the otter")
    space.note_access([ONE], NOON)
    space.add_session(Session(id="release-42", created_at=NOON))
    side.store.flush()


def forget_late(aws: Side, at: int, meanwhile: Callable[[], object]) -> None:
    """A forgetting that sleeps before its write of a number."""
    store: Any = aws.store
    call, writes = store.tables.call, 0

    def overtaken(operation: str, request: Any, deadline: Any) -> Any:
        nonlocal writes
        writes += operation not in ("query", "batch_get_item")
        if writes == at:
            store.tables.call = call
            meanwhile()
        return call(operation, request, deadline)

    store.tables.call = overtaken
    assert aws.store.forget_user(ANA)
    assert writes == at


@pytest.mark.parametrize("at", [2, 3])
def test_a_forgetting_that_ends_late_leaves_what_the_user_has_saved_since(open_side: Open, at: int) -> None:
    aws, other = open_side("aws"), open_side("aws")
    tell_story_of_one(aws)
    before = everything(aws)
    forget_late(aws, at, lambda: tell_story_of_one(other))  # the first write finishes the forgetting
    assert everything(open_side("aws")) == before
    assert list(other.store.users()) == [ANA]
    assert other.store.forget_user(ANA)
    assert everything(open_side("aws"))["images"] == []


@pytest.mark.parametrize("at", [2, 3])
def test_of_two_forgettings_at_once_neither_ends_before_all_is_forgotten(open_side: Open, at: int) -> None:
    aws, other = open_side("aws"), open_side("aws")
    tell_story_of_one(aws)

    def begin_another() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(users, "finish_forgetting", killed)
            with pytest.raises(SystemExit):
                other.store.forget_user(ANA)

    forget_late(aws, at, begin_another)
    assert everything(open_side("aws"))["images"] == []
    assert not other.store.forget_user(ANA)


@pytest.mark.parametrize("at", [2, 3])
def test_a_forgetting_that_ends_late_leaves_what_says_where_new_memories_are(open_side: Open, at: int) -> None:
    aws, other, log = open_side("aws"), open_side("aws"), open_side("log")
    aws.ask("core.save", content="one")

    def go_elsewhere() -> None:
        other.ask("core.save", content="two")  # it finishes the forgetting
        move(other, log)

    forget_late(aws, at, go_elsewhere)
    with pytest.raises(Unavailable, match="moved to log"):
        open_side("aws").ask("core.list")
    assert log.contents() == {"two"}


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_large_commit_takes_as_long_as_its_call_may_unless_the_user_is_moved(open_side: Open, is_moved: bool) -> None:
    aws, clock = open_side("aws"), SettableClock()
    aws.ask("core.save", content="one")
    store: Any = aws.store
    call = store.tables.call

    def slow(operation: str, request: Any, deadline: Any) -> Any:
        answer = call(operation, request, deadline)
        if operation == "transact_write_items" and deadline.clock is clock:
            clock.advance(seconds=20)
            if is_moved:
                aws.place.mark(ANA, "log", "a move", in_time())
        return answer

    store.tables.call = slow
    herons = [memory(f"heron {n}") for n in range(449)] + [memory("reed " * 6_000)]  # the last has pieces of its own
    space = store.space(ANA, Deadline.after(600, clock))
    with pytest.raises(Unavailable, match="moved to log") if is_moved else nullcontext():
        space.commit([Create(entry=entry(heron, embed(heron.content))) for heron in herons])
    assert is_moved or len(aws.contents()) == 451
    pieces = list(store.partition(ANA, in_time()).under(keys.PIECES))
    assert (pieces == []) == is_moved
