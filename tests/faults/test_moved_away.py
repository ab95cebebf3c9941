"""Once a user's memories are elsewhere, or not yet here, no question to the store gets nothing for an answer."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.entries import embed, query
from faults.moving_sides import ANA, Open, cut_short, move
from spaces import in_time, space_of
from steeltrap.errors import MovedAway, SteeltrapError, Unavailable
from steeltrap.maintenance import Run
from steeltrap.model import Caller, Filter, UserRef
from steeltrap.ports import (
    Gone,
    IdStarts,
    LatestWrites,
    Naming,
    OfImport,
    OpenTurns,
    Pending,
    Probe,
    Space,
    TextKey,
)
from steeltrap.stores.sqlite import SqliteStore

QUESTIONS: list[Callable[[Space, str], Any]] = [
    lambda space, id: space.get([id]),
    lambda space, id: space.get([]),
    lambda space, id: space.find(IdStarts([id[:8]], 1)),
    lambda space, id: space.find(Naming("superseded_by", (id,))),
    lambda space, id: space.find(Naming("links", (id,))),
    lambda space, id: space.find(OfImport(id)),
    lambda space, id: space.find(LatestWrites(9)),
    lambda space, id: space.find(Gone(datetime.now(UTC))),
    lambda space, id: space.find(Pending()),
    lambda space, id: space.find(OpenTurns("talk")),
    lambda space, id: space.successions([id]),
    lambda space, id: space.copies([TextKey(fold=b"heron", scope="user/default", agent_id=None, conversation_id=None)]),
    lambda space, id: space.search(query("heron")),
    lambda space, id: space.look_around([Probe(embeddings=embed("heron"), scope="user/default")], floor=0.5, top_k=3),
    lambda space, id: space.page(Filter(), limit=9),
    lambda space, id: next(space.walk(), None),
    lambda space, id: next(space.images(), None),
    lambda space, id: next(space.images(earlier=True), None),
    lambda space, id: space.idle_conversations(datetime.now(UTC), limit=9),
    lambda space, id: space.embeddings([id]),
    lambda space, id: space.speakers(),
    lambda space, id: space.scopes(),
    lambda space, id: space.sessions(),
    lambda space, id: space.imports(),
    lambda space, id: space.revisions(id),
    lambda space, id: space.traces(id),
    lambda space, id: space.analysis(),
    lambda space, id: space.is_embedded(),
    lambda space, id: space.statistics(),
    lambda space, id: space.remove_session(id),
    lambda space, id: space.keep_review(id, previous=None, card="{}"),
    lambda space, id: space.purge([id]),
    lambda space, id: space.set_analysis(1),
]


@pytest.mark.parametrize("kind", ["folder", "log", "aws"])
@pytest.mark.parametrize("state", ["moved", "reserved"])
def test_no_question_to_a_place_is_answered_by_nothing_once_the_memories_are_elsewhere(
    open_side: Open, kind: str, state: str
) -> None:
    side, other = open_side(kind), open_side("log-2")
    if state == "moved":
        id = side.ask("core.save", content="A heron.")["id"]
        move(side, other)
    else:
        id = other.ask("core.save", content="A heron.")["id"]
        side.place.reserve(ANA, "log-2", "another move", in_time())
    asked = space_of(open_side(kind).store, "ana")
    for ask in QUESTIONS:
        with pytest.raises(Unavailable, match="These memories were moved to log-2: "):
            ask(asked, id)


def test_a_list_that_is_asked_for_before_all_memories_are_here_is_never_short(open_side: Open) -> None:
    log, aws, early = open_side("log"), open_side("aws"), open_side("aws")
    log.ask("core.save", content="A heron.")
    aws.place.reserve(ANA, "log", "another move", in_time())
    store: Any = early.store
    call = store.tables.call

    def moved_after(operation: str, request: Any, deadline: Any) -> Any:
        answer = call(operation, request, deadline)
        if operation == "query":
            store.tables.call = call
            move(log, aws)
        return answer

    store.tables.call = moved_after
    with pytest.raises(Unavailable, match="These memories were moved to log: "):
        space_of(store, "ana").page(Filter(), limit=9)


@pytest.mark.parametrize(("source", "target"), [("folder", "log"), ("log", "folder"), ("aws", "log"), ("log", "aws")])
def test_a_sweep_and_a_new_embedder_pass_over_a_user_who_is_being_moved(
    open_side: Open, caplog: pytest.LogCaptureFixture, source: str, target: str
) -> None:
    old, new = open_side(source), open_side(target)
    old.ask("core.save", content="A heron.")
    cut_short(old, new, "take")
    refusals: list[tuple[UserRef | None, type[SteeltrapError]]] = []

    def report(user: UserRef | None, error: SteeltrapError) -> None:
        refusals.append((user, type(error)))

    for side in (old, new):
        run = Run(store=side.store, call_for=side.door.call_for, report=report)
        run.sweep([ANA])
        assert (run.users, run.failed, run.moved) == (0, 0, 1)
        run.reembed([ANA])
        assert (run.users, run.failed, run.moved) == (0, 0, 2)
        if isinstance(side.store, SqliteStore):
            side.store.sweep()
    assert refusals == [(ANA, MovedAway)] * 4
    assert "a sweep failed" not in caplog.text


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("aws:acme-prod-memories", "aws"),
        ("dynamodb://acme-entries?bases=s3://acme/prod", "dynamodb"),
        ("postgresql://app@db.acme.example/memories", "postgresql"),
    ],
)
def test_a_client_is_told_of_no_table_and_no_database(open_side: Open, place: str, says: str) -> None:
    for kind in ("folder", "log", "aws"):
        side = open_side(kind)
        side.ask("core.save", content="A heron.")
        assert side.place.mark(ANA, place, "a move", in_time())
        result = side.door.invoke("core.list", {}, Caller(ANA))
        assert f"These memories were moved to {says}: use the store there." in str(result.body)
        assert "acme" not in str(result.body)
