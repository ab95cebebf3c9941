"""A database that somebody else made: nothing of theirs runs, and nothing is written beside it."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest

from steeltrap.errors import InvalidInput, Unavailable
from steeltrap.stores.sqlite import foreign
from steeltrap.stores.sqlite.foreign import opened

PLAIN = "CREATE TABLE memories (content TEXT, tags TEXT)"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS content, x AS tags FROM n"


def made(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()
    return path


def rewritten(path: Path, sql: str) -> Path:
    """The file with another SQL for its table, as only a hostile program writes it."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA writable_schema = ON")
        file.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'memories'", (sql,))
        file.commit()
    return path


def test_an_ordinary_table_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", PLAIN, "INSERT INTO memories VALUES ('one', 'x'), ('two', '')")
    with opened(path, "a.db") as file:
        assert file.columns("memories") == ("content", "tags")
        assert file.count("memories") == 2
        assert list(file.rows("memories", ["tags", "content"])) == [("x", "one"), ("", "two")]


@pytest.mark.parametrize(
    "statements",
    [
        (f"CREATE VIEW memories AS {ENDLESS}",),
        ("CREATE VIRTUAL TABLE memories USING fts5(content, tags)",),
        ("CREATE VIRTUAL TABLE memories USING rtree(id, content, tags)",),
        ("CREATE TABLE memories (content TEXT AS (replace(hex(zeroblob(500000000)), '0', 'xxxx')), tags TEXT)",),
        ("CREATE TABLE memories (tags TEXT, content TEXT GENERATED ALWAYS AS (tags || 'x') STORED)",),
    ],
)
def test_what_only_passes_for_a_table_is_refused_before_anything_of_it_runs(
    tmp_path: Path, statements: tuple[str, ...]
) -> None:
    path = made(tmp_path / "a.db", *statements)
    with opened(path, "a.db") as file:
        with pytest.raises(InvalidInput, match="is no ordinary table"):
            file.columns("memories")
        with pytest.raises(InvalidInput, match="can't be read"):
            list(file.rows("memories", ["content"]))


@pytest.mark.parametrize(
    "sql", [f"CREATE VIEW memories AS {ENDLESS}", "CREATE VIRTUAL TABLE memories USING fts5(content)"]
)
def test_a_schema_that_calls_something_else_a_table_is_refused(tmp_path: Path, sql: str) -> None:
    path = rewritten(made(tmp_path / "a.db", PLAIN), sql)
    with opened(path, "a.db") as file, pytest.raises(InvalidInput):
        file.columns("memories")


def test_other_tables_can_not_be_reached_through_the_one_that_is_read(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", PLAIN, "CREATE TABLE other (content TEXT)")
    with opened(path, "a.db") as file:
        file.columns("memories")
        with pytest.raises(InvalidInput, match="not allowed"):
            list(file.rows("other", ["content"]))
        with pytest.raises(InvalidInput, match="not allowed"):
            list(file.rows("memories", ["zeroblob(1000)"]))


class Gone(Exception):
    pass


def test_a_reading_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 50000)"
    rows = f"INSERT INTO memories {many} SELECT x, x FROM n"
    path = made(tmp_path / "a.db", PLAIN, rows)

    def gone() -> None:
        raise Gone

    with opened(path, "a.db", gone) as file:
        file.columns("memories")
        with pytest.raises(Gone):
            list(file.rows("memories", ["content"]))


def test_a_row_that_is_too_large_is_a_sentence(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", PLAIN, "INSERT INTO memories VALUES (hex(zeroblob(10000000)), '')")
    with opened(path, "a.db") as file:
        file.columns("memories")
        with pytest.raises(InvalidInput, match="larger than 16 MiB"):
            list(file.rows("memories", ["content"]))


@pytest.fixture
def with_log(tmp_path: Path) -> Iterator[Path]:
    """A database whose last row is in its write-ahead log alone, as another program left it."""
    path = made(tmp_path / "source.db", "PRAGMA journal_mode = WAL", PLAIN)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("INSERT INTO memories VALUES ('in the log', '')")
        writer.commit()
        folder = tmp_path / "brought"
        folder.mkdir()
        for end in ("", "-wal"):
            (folder / f"a.db{end}").write_bytes((tmp_path / f"source.db{end}").read_bytes())
        yield folder


@pytest.mark.parametrize(("ends", "rows"), [(("", "-wal"), [("in the log",)]), (("",), [])])
def test_a_database_with_a_log_is_read_with_it_and_nothing_is_written_beside_it(
    with_log: Path, ends: tuple[str, ...], rows: list[tuple[str]]
) -> None:
    if "-wal" not in ends:
        (with_log / "a.db-wal").unlink()
    before = {path.name: path.read_bytes() for path in with_log.iterdir()}
    with opened(with_log / "a.db", "a.db") as file:
        file.columns("memories")
        assert list(file.rows("memories", ["content"])) == rows
        assert {path.name: path.read_bytes() for path in with_log.iterdir()} == before
    assert {path.name: path.read_bytes() for path in with_log.iterdir()} == before


def test_what_is_no_database_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    with (
        pytest.raises(InvalidInput, match=r"no SQLite database, or it is encrypted|damaged"),
        opened(tmp_path / "a.db", "a.db") as file,
    ):
        file.columns("memories")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_temporary_folder_is_no_fault_of_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a.db", PLAIN, "INSERT INTO memories VALUES ('one', 'x')")
    (tmp_path / "a.db-wal").write_bytes(b"log")
    copies = tmp_path / "copies"
    copies.mkdir()
    (copies / "a.db").symlink_to("/dev/full")
    monkeypatch.setattr(foreign.tempfile, "TemporaryDirectory", lambda **_: nullcontext(str(copies)))
    with pytest.raises(Unavailable) as raised, opened(path, "a.db"):
        pass
    assert f"The temporary folder {tempfile.gettempdir()} is full: free some space there" in raised.value.message
    assert raised.value.can_retry


def test_a_disk_that_fills_while_a_copied_log_is_written_back_is_the_temporary_folder_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> apsw.Connection:
        raise apsw.FullError("database or disk is full")

    path = made(tmp_path / "a.db", PLAIN)
    monkeypatch.setattr(apsw, "Connection", full)
    with pytest.raises(Unavailable, match="is full: free some space there"), opened(path, "a.db"):
        pass
