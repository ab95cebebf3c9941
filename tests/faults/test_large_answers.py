"""Histories and exports of any size are answered in pages of a few MiB, and nothing is left out of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.doors import open_door
from steeltrap.adapters.sqlite.space import SqliteSpace
from steeltrap.model import Caller, UserRef

MIB = 1024 * 1024
ME = Caller(UserRef("ana"), "agent")
SAID = [{"role": "user", "content": "x" * 1000}] * 120


class Memories:
    def __init__(self, folder: Path) -> None:
        self.door = open_door(folder)

    def __call__(self, tool: str, caller: Caller = ME, **arguments: Any) -> Any:
        result = self.door.invoke(f"core.{tool}", arguments, caller)
        if result.error is not None:
            raise result.error
        return result.body


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Memories]:
    memories = Memories(tmp_path)
    yield memories
    memories.door.store.close()


@pytest.fixture
def long(ask: Memories) -> str:
    """A memory of 120 versions with 45 kB in each."""
    id: str = ask("save", content="1" + "-" * 30_000, metadata={"n": "x" * 15_000})["id"]
    for version in range(2, 121):
        ask("update", id=id, content=f"{version}" + "-" * 30_000)
    return id


def _size(body: Any) -> int:
    return len(json.dumps(body).encode())


def test_a_long_history_comes_in_pages_of_a_few_mib(ask: Memories, long: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    revisions = SqliteSpace.revisions

    def counted(self: SqliteSpace, id: str, **which: Any) -> Any:
        found = revisions(self, id, **which)
        read.append(len(found))
        return found

    monkeypatch.setattr(SqliteSpace, "revisions", counted)
    seen: list[int] = []
    after = 0
    while True:
        page = ask("history", id=long, limit=1000, after=after)
        assert _size(page) < 5 * MIB
        assert sum(read) < 120, "more was read than fits in a page"
        seen += [image["memory"]["version"] for image in page["revisions"]]
        if "next" not in page:
            break
        after = page["next"]
        read.clear()
    assert seen == list(range(1, 121))
    assert "replaced_at" not in page["revisions"][-1]


def test_a_history_ends_at_its_limit_and_says_how_to_go_on(ask: Memories) -> None:
    id = ask("save", content="one")["id"]
    for content in ("two", "three"):
        ask("update", id=id, content=content)
    first = ask("history", id=id, limit=1)
    assert ([image["memory"]["content"] for image in first["revisions"]], first["next"]) == (["one"], 1)
    second = ask("history", id=id, limit=1, after=first["next"])
    assert ([image["memory"]["content"] for image in second["revisions"]], second["next"]) == (["two"], 2)
    last = ask("history", id=id, limit=1, after=second["next"])
    assert [image["memory"]["content"] for image in last["revisions"]] == ["three"]
    assert "next" not in last


def test_an_export_of_large_records_comes_in_pages_that_an_import_takes(ask: Memories) -> None:
    for n in range(60):
        ask("save", content=f"Fact {n}.", messages=SAID, metadata={"n": [0] * 5000}, associate=False)
    records: list[Any] = []
    after: dict[str, str] = {}
    while True:
        page = ask("export", limit=1000, **after)
        assert _size(page) < 5 * MIB
        body = json.dumps({"records": page["records"]}).encode()
        result = ask.door.invoke("core.import", body, Caller(UserRef("bob")))
        assert (result.error, result.body["written"]) == (None, len(page["records"]))
        records += page["records"]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert len({record["id"] for record in records}) == len(records) == 60


def test_a_record_with_a_long_history_is_a_page_of_its_own(ask: Memories, long: str) -> None:
    other = ask("save", content="Another.")["id"]
    first = ask("export")
    assert ([record["id"] for record in first["records"]], first["next"]) == ([long], long)
    assert len(first["records"][0]["history"]) == 119
    assert [record["id"] for record in ask("export", after=long)["records"]] == [other]
    both = ask("export", include_history=False)
    assert [record["id"] for record in both["records"]] == [long, other]


def test_a_record_that_no_import_takes_is_exported_with_its_latest_versions_and_says_from_which(
    ask: Memories, long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeltrap.engine.transfer.export.MAX_RECORD_BYTES", 2 * MIB)
    other = ask("save", content="Another.")["id"]
    [record] = [found for found in ask("export")["records"] if found["id"] == long]
    assert 1 * MIB < _size(record) <= 2 * MIB
    versions = [image["memory"]["version"] for image in record["history"]]
    assert versions == list(range(record["history_from"], record["version"]))
    assert [found["id"] for found in ask("export", after=long)["records"]] == [other]
    result = ask.door.invoke("core.import", {"records": [record]}, Caller(UserRef("bob")))
    assert (result.error, result.body["written"]) == (None, 1)


def test_no_more_of_a_history_is_held_than_its_record_may_have(
    ask: Memories, long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steeltrap.engine.transfer.export.MAX_RECORD_BYTES", 1)
    [record] = ask("export")["records"]
    assert (record["id"], record["history_from"], "history" in record) == (long, record["version"], False)
