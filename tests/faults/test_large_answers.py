"""Histories and exports of any size are answered in pages of a few MiB, and nothing is left out of them."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.doors import open_door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.sqlite.space import SqliteSpace

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


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The files of a memory of 120 versions with 45 kB in each, and its id."""
    folder = tmp_path_factory.mktemp("long")
    ask = Memories(folder)
    id: str = ask("save", content="1" + "-" * 30_000, metadata={"n": "x" * 15_000})["id"]
    for version in range(2, 121):
        ask("update", id=id, content=f"{version}" + "-" * 30_000)
    ask.door.store.close()
    return folder / "users", id


@pytest.fixture
def long(ask: Memories, tmp_path: Path, made_once: tuple[Path, str]) -> str:
    """The memory of 120 versions, in this test's store."""
    files, id = made_once
    shutil.copytree(files, tmp_path / "users", dirs_exist_ok=True)
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


def _pages(ask: Memories, **arguments: Any) -> Iterator[list[Any]]:
    after: dict[str, str] = {}
    while True:
        page = ask("export", **after, **arguments)
        assert _size(page) < 5 * MIB
        yield page["records"]
        if "next" not in page:
            return
        after = {"after": page["next"]}


def _versions(records: list[Any], id: str) -> list[int]:
    return [image["memory"].get("version", 1) for r in records if r["id"] == id for image in r.get("history", [])]


def test_a_long_history_is_exported_whole_on_pages_of_a_few_mib(ask: Memories, long: str) -> None:
    other = ask("save", content="Another.")["id"]
    pages = list(_pages(ask))
    records = [record for page in pages for record in page]
    assert len(pages) == 2
    assert all(_size(record) < 1.2 * MIB for record in records)
    assert _versions(records, long) == list(range(1, 120))
    assert [record["id"] for record in records if "content" in record] == [long, other]
    assert [record["id"] for record in ask("export", include_history=False)["records"]] == [long, other]


@pytest.mark.parametrize("limit", [1, 1000])
def test_pages_of_a_long_history_that_are_imported_one_by_one_restore_every_version(
    ask: Memories, long: str, limit: int
) -> None:
    bob = Caller(UserRef("bob"), "agent")
    written = 0
    for page in _pages(ask, limit=limit):
        result = ask.door.invoke("core.import", {"records": page}, bob)
        assert (result.error, result.body["errors"]) == (None, [])
        written += result.body["written"]
    assert written == 1
    seen: list[str] = []
    after = 0
    while True:
        page = ask("history", bob, id=long, limit=1000, after=after)
        seen += [image["memory"]["content"].rstrip("-") for image in page["revisions"]]
        if "next" not in page:
            break
        after = page["next"]
    assert seen == [str(version) for version in range(1, 121)]
    again = ask("import", bob, records=next(iter(_pages(ask))))
    assert (again["written"], again["skipped"], again["errors"]) == (0, 1, [])


def test_each_version_of_a_long_history_is_read_about_once(
    ask: Memories, long: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    revisions = SqliteSpace.revisions

    def counted(self: SqliteSpace, id: str, **which: Any) -> Any:
        found = revisions(self, id, **which)
        read.append(len(found))
        return found

    monkeypatch.setattr(SqliteSpace, "revisions", counted)
    pages = sum(1 for _ in _pages(ask))
    assert sum(read) <= 119 + 20 * pages


def test_the_rest_of_a_history_is_added_only_to_what_its_importer_imported(ask: Memories, long: str) -> None:
    rests = [r for page in _pages(ask) for r in page if "content" not in r]
    missing = ask("import", Caller(UserRef("bob"), "agent"), records=rests[:1])
    assert "import the record of the memory before it" in missing["errors"][0]["message"]
    id = ask("save", content="one")["id"]
    ask("update", id=id, content="two")
    image = {"id": id, "content": "forged", "version": 3, "created_at": "2026-01-01T00:00:00Z"}
    forged = {"memory": {**image, "updated_at": "2026-01-01T00:00:00Z"}, "replaced_at": "2026-01-01T00:00:00Z"}
    assert ask("import", records=[{"id": id, "history": [forged]}])["errors"] == []
    assert [r["memory"]["content"] for r in ask("history", id=id)["revisions"]] == ["one", "two"]


def test_an_export_goes_on_behind_a_version_of_a_memory_that_was_deleted_meanwhile(ask: Memories, long: str) -> None:
    other = ask("save", content="Another.")["id"]
    first = ask("export")
    assert first["next"].startswith(f"{long}:")
    ask("delete", ids=[long])
    assert [record["id"] for record in ask("export", after=first["next"])["records"]] == [other]


@pytest.mark.parametrize("after", [":5", "{id}:", "{id}:x", "{id}:0", "{id}:99999999999", "nothing:3"])
def test_an_export_behind_what_no_answer_gave_is_refused(ask: Memories, after: str) -> None:
    id = ask("save", content="one")["id"]
    result = ask.door.invoke("core.export", {"after": after.format(id=id)}, ME)
    assert result.error is not None
    assert result.error.code == "not_found"
