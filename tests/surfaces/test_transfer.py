"""Records in and out: what an export made comes back whole, poison does not get in, deleted is not there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from clock import SettableClock
from embedding import HashedWords
from steeltrap.engine import importing
from steeltrap.errors import AlreadyExists, NotFound
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Change
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ME = Caller(UserRef("ana"), "agent", "c" * 2000)
TIMES = {"created_at": "2026-01-01T10:00:00", "updated_at": "2026-01-01"}


class Memories:
    """The tools as methods, for one user of a store whose clock can be set."""

    def __init__(self, folder: Path, clock: SettableClock) -> None:
        embedder = HashedWords()
        self.clock = clock
        self.door = Door(
            catalogue=CATALOGUE, store=SqliteStore(folder, embedder, clock), embedder=embedder, clock=clock
        )

    def __call__(self, tool: str, user: Caller = ME, **arguments: Any) -> Any:
        result = self.door.invoke(f"core.{tool}", arguments, user)
        if result.error is not None:
            raise result.error
        return result.body


@pytest.fixture
def ask(tmp_path: Path, clock: SettableClock) -> Iterator[Memories]:
    memories = Memories(tmp_path, clock)
    yield memories
    memories.door.store.close()


def _record(**changes: Any) -> dict[str, Any]:
    return {"id": str(uuid4()), "content": "A fact.", **TIMES, **changes}


@pytest.mark.parametrize(
    ("poison", "field"),
    [
        ({"importance": {"score": "nan", "reason": "r", "set_at": "2026-01-01"}}, "importance.score"),
        ({"importance": {"score": 99, "reason": "r", "set_at": "2026-01-01"}}, "importance.score"),
        ({"version": 2**63 - 1}, "version"),
        ({"restored_version": -4}, "restored_version"),
        ({"context": "x" * 5_000_000}, "context"),
        ({"category": "x" * 1_000_000}, "category"),
        ({"agent_label": "x" * 100_000}, "agent_label"),
        ({"messages": [{"role": "u", "content": "c", "speaker": "s" * 3_000_000}]}, "messages"),
        ({"messages": [{"role": "u", "content": "c", "bogus": 1}]}, "messages.0.bogus"),
        ({"links": [{"target_id": str(uuid4()), "strength": 0.5}] * 3000}, "links"),
        ({"links": [{"target_id": str(uuid4()), "strength": 7}]}, "links.0.strength"),
        ({"links": [{"target_id": "nobody", "strength": 1}]}, "links.0.target_id"),
        ({"created_at": "2026"}, "created_at"),
        ({"history": [{"memory": {}, "replaced_at": "2026"}]}, "replaced_at"),
    ],
)
def test_poison_is_an_error_of_its_item_and_the_rest_is_written(
    ask: Memories, poison: dict[str, Any], field: str
) -> None:
    done = ask("import", records=[_record(), _record(**poison)])
    assert (done["written"], done["skipped"]) == (1, 0)
    [error] = done["errors"]
    assert error["index"] == 1
    assert f"`{field}" in error["message"]
    assert ask("list")["total"] == 1


def test_an_imported_record_can_be_changed_and_deleted(ask: Memories) -> None:
    good = _record(version=2**52, importance={"score": 1, "reason": "r", "set_at": "2026-01-01T10:00:00"})
    assert ask("import", records=[good])["written"] == 1
    assert ask("update", id=good["id"], tags=["a"])["version"] == 2**52 + 1
    ask("delete", id=good["id"])


def test_what_the_engine_stores_comes_back_from_its_export(ask: Memories) -> None:
    saved = ask("save", content="First.", messages=[{"role": "u", "content": "c", "speaker": "s" * 256}])
    ask("update", id=saved["id"], content="Second.")
    ask("undo", id=saved["id"])
    ask("append_messages", messages=[{"role": "user", "content": "Said."}])
    records = ask("export")["records"]
    other = Caller(UserRef("bob"), "agent")
    assert ask("import", other, records=records) == {"written": 2, "skipped": 0, "errors": []}
    assert ask("import", other, records=records) == {"written": 0, "skipped": 2, "errors": []}
    stamp = {"imported_by": "agent", "imported_at": ask.clock.now().isoformat()}
    for record in records:
        for image in (record, *(revision["memory"] for revision in record.get("history", []))):
            image.update(stamp)
    assert ask("export", other)["records"] == records


def test_the_order_of_the_records_is_kept(ask: Memories) -> None:
    records = [_record() for _ in range(5)]
    assert ask("import", records=[*records, records[0]]) == {"written": 5, "skipped": 1, "errors": []}
    assert [record["id"] for record in ask("export")["records"]] == [record["id"] for record in records]


def test_a_link_to_what_comes_later_is_kept_in_its_one_form(ask: Memories) -> None:
    later = _record()
    link = {"target_id": later["id"], "strength": 0.5}
    first = _record(links=[{**link, "target_id": f"note-{later['id'].upper()}"}])
    for record in (first, later):
        assert ask("import", records=[record])["written"] == 1
    assert ask("export")["records"][0]["links"] == [link]


def test_what_was_deleted_here_is_an_error_not_there_already(ask: Memories) -> None:
    records = [_record() for _ in range(3)]
    ask("import", records=records)
    gone = records[1]["id"]
    ask("delete", id=gone)
    done = ask("import", records=[*records, _record()])
    assert (done["written"], done["skipped"]) == (1, 2)
    [error] = done["errors"]
    assert (error["index"], error["code"]) == (1, "conflict")
    says = f"memory {gone} was deleted here; undo the delete, or forget it and import again."
    assert error["message"] == says
    ask("forget", id=gone)
    assert ask("import", records=records) == {"written": 1, "skipped": 2, "errors": []}


def test_what_has_expired_is_there_and_the_import_ends(ask: Memories) -> None:
    records = [_record(expires_at="2026-01-02T00:00:00Z") for _ in range(3)]
    assert ask("import", records=records)["written"] == 3
    fresh = _record()
    assert ask("import", records=[*records, fresh]) == {"written": 1, "skipped": 3, "errors": []}


def test_a_conflict_that_stays_is_no_endless_loop(ask: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
    call = ask.door.call_for(ME, seconds=60)
    records = [_record() for _ in range(3)]
    tries: list[int] = []

    def refuse(changes: list[Change]) -> None:
        tries.append(len(changes))
        if changes:
            raise AlreadyExists("It is there.", id=changes[0].entry.memory.id)

    monkeypatch.setattr(type(call.space), "commit", lambda self, changes: refuse(changes))
    done = importing.import_records(call, records)
    assert (done.written, done.skipped) == (0, 3)
    assert tries == [3, 2, 1, 0]


@pytest.mark.parametrize("after", ["zzz", "note-", "00000000-0000-4000-8000-000000000000"])
def test_an_export_behind_an_unknown_id_says_which(ask: Memories, after: str) -> None:
    ask("save", content="x")
    with pytest.raises(NotFound) as refused:
        ask("export", after=after)
    assert f"No memory with id {after}" in refused.value.message
