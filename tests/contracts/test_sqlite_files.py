"""Promises of the SQLite store alone: its files, its errors, its limits."""

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import apsw
import pytest

from clock import NOON, SettableClock
from contracts.entries import (
    EMBEDDER,
    SECONDS,
    creation,
    delete,
    embed,
    entry,
    found,
    later,
    memory,
    save,
    search,
    turn,
    update,
    vector,
)
from spaces import in_time, space_of
from steeltrap.engine import reading
from steeltrap.errors import Internal, Unavailable
from steeltrap.model import Filter, Importance, Memory, Message, UserRef
from steeltrap.ports import Guard
from steeltrap.stores.sqlite import SqliteStore, connection, opening, schema
from steeltrap.stores.sqlite import file as connections
from steeltrap.stores.sqlite import store as stores
from steeltrap.stores.sqlite.file import UserFile
from steeltrap.stores.sqlite.records import COLUMNS, to_row, to_terms
from steeltrap.stores.sqlite.schema import APPLICATION, MIGRATIONS, migrate
from steeltrap.text.limits import from_key, to_key
from steeltrap.text.words import WORDS_AS_TODAY_SINCE, Trait, indexed_words

Opening = Callable[[], SqliteStore]
ANA = UserRef("ana")


@pytest.fixture
def open_store(tmp_path: Path, clock: SettableClock) -> Iterator[Opening]:
    opened: list[SqliteStore] = []

    def open_store() -> SqliteStore:
        opened.append(SqliteStore(tmp_path / "data", EMBEDDER, clock))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


# Errors


def test_every_error_of_the_binding_is_mapped_on_purpose() -> None:
    there = {
        kind
        for kind in vars(apsw).values()
        if isinstance(kind, type) and issubclass(kind, apsw.Error) and kind is not apsw.Error
    }
    mapped = [*connection._MENDABLE, *connection._PERMANENT, *connection.OURS]
    assert len(mapped) == len(set(mapped))
    assert set(mapped) == there


@pytest.mark.parametrize("kind", [*connection._MENDABLE, *connection._PERMANENT, *connection.OURS])
def test_an_error_never_quotes_its_cause(kind: type[apsw.Error]) -> None:
    error = connection.translate(kind("near 'secret text'"), Path("secret folder/x.db"))
    assert "secret" not in error.message
    assert isinstance(error, Internal if kind in connection.OURS else Unavailable)
    assert error.can_retry == (kind in connection._MENDABLE)


def test_a_mistake_of_ours_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("ERROR", "steeltrap"):
        connection.translate(apsw.SQLError("no such table: memory"), Path("x.db"))
    assert caplog.messages == ["the memory store failed: SQLError: no such table: memory"]


# Files


def test_only_the_owner_may_read_a_users_files(open_store: Opening) -> None:
    space = space_of(open_store(), "ana")
    save(space, "one")
    search(space, "one")
    files = [path for path in open_store().folder.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_users_file_is_private_from_the_moment_it_exists(
    open_store: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    connect = apsw.Connection

    def look(path: str, **how: int) -> apsw.Connection:
        opened = connect(path, **how)
        seen.add(stat.S_IMODE(Path(path).stat().st_mode))
        return opened

    monkeypatch.setattr(apsw, "Connection", look)
    save(space_of(open_store(), "ana"), "one")
    assert seen == {0o600}


def test_the_folders_that_a_store_makes_are_open_to_their_owner_only(open_store: Opening) -> None:
    store = open_store()
    store.check()
    save(space_of(store, "ana"), "one")
    folders = [store.folder, *(path for path in store.folder.rglob("*") if path.is_dir())]
    assert len(folders) == 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


def test_a_folder_that_was_there_keeps_its_mode(open_store: Opening) -> None:
    store = open_store()
    store.folder.mkdir(mode=0o755)
    save(space_of(store, "ana"), "one")
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o755


def test_a_file_under_another_users_name_is_refused_and_left_as_it_is(open_store: Opening) -> None:
    store = open_store()
    save(space_of(store, "ana"), "the secret of ana")
    store.close()
    theirs = store.path(UserRef("bob"))
    theirs.parent.mkdir()
    shutil.copy(store.path(ANA), theirs)
    before = theirs.read_bytes()
    again = open_store()
    bob = space_of(again, "bob")
    uses: list[Callable[[], object]] = [
        lambda: search(bob, "secret"),
        lambda: bob.page(Filter(), limit=10),
        lambda: save(bob, "two"),
        lambda: bob.reembed(lambda memories: []),
        lambda: again.forget_user(UserRef("bob")),
        lambda: list(again.users()),
    ]
    for use in uses:
        with pytest.raises(Unavailable, match=f"{theirs.name} holds the memories of another user") as refused:
            use()
        assert "ana" not in refused.value.message
    assert search(space_of(again, "ana"), "secret").stored == 1
    again.close()
    assert theirs.read_bytes() == before


def test_the_file_of_a_user_with_ten_memories_is_small(open_store: Opening) -> None:
    store = open_store()
    space_of(store, "ana").commit([creation("a sentence of usual length, " * 4) for _ in range(10)])
    store.close()
    assert store.path(ANA).stat().st_size <= 200 * 1024


def _damaged(path: Path, how: str) -> bytes:
    whole = path.read_bytes()
    if how == "text":
        bad = b"This is not a database, and somebody may want it back.\n" * 100
    elif how == "truncated":
        bad = whole[: len(whole) // 3 + 7]
    elif how == "zeros":
        bad = whole[:4096] + bytes(len(whole) - 4096)
    elif how == "noise":
        bad = whole[:4096] + bytes((i * 197 + 31) % 256 for i in range(len(whole) - 4096))
    else:
        bad = b"\x00" * 16 + whole[16:]
    path.write_bytes(bad)
    return bad


def test_a_text_that_is_damaged_on_the_disk_is_an_error_that_names_the_file(open_store: Opening) -> None:
    store = open_store()
    save(space_of(store, "ana"), "the heron waits")
    path = store.path(ANA)
    store.close()
    path.write_bytes(path.read_bytes().replace(b"heron", b"her\x90n"))
    with pytest.raises(Unavailable, match=f"{path.name} is damaged"):
        list(space_of(open_store(), "ana").walk())


@pytest.mark.parametrize("how", ["text", "truncated", "zeros", "noise", "header"])
def test_a_damaged_file_is_named_and_left_as_it_is(open_store: Opening, how: str) -> None:
    store = open_store()
    space_of(store, "ana").commit([creation(f"note {i} " * 30, tags=("t",)) for i in range(200)])
    store.close()
    path = store.path(ANA)
    bad = _damaged(path, how)
    space = space_of(open_store(), "ana")
    for use in (
        lambda: space.page(Filter(tags=("t",)), limit=200),
        lambda: search(space, "note", near=embed("note")[0]),
        lambda: space.commit([creation(f"more {i}") for i in range(50)]),
    ):
        with pytest.raises(Unavailable, match=path.name) as refused:
            use()
        assert not refused.value.can_retry
    for opened in (store, open_store()):
        opened.close()
    space._file.close()
    assert path.read_bytes() == bad


def test_another_programs_database_is_refused_and_left_as_it_is(open_store: Opening) -> None:
    store = open_store()
    path = store.path(ANA)
    path.parent.mkdir(parents=True)
    foreign = apsw.Connection(str(path))
    foreign.execute("CREATE TABLE memory (n INTEGER PRIMARY KEY, image TEXT); INSERT INTO memory VALUES (1, 'mine')")
    foreign.close()
    before = path.read_bytes()
    for use in (lambda: save(space_of(store, "ana"), "one"), lambda: search(space_of(store, "ana"), "one")):
        with pytest.raises(Unavailable, match="not a steeltrap database"):
            use()
    store.close()
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_space(open_store: Opening) -> None:
    store = open_store()
    store.path(ANA).parent.mkdir(parents=True)
    store.path(ANA).touch()
    assert search(space_of(store, "ana"), "one").stored == 0
    save(space_of(store, "ana"), "one")
    assert search(space_of(store, "ana"), "one").stored == 1


def test_a_file_of_a_newer_steeltrap_is_refused(open_store: Opening) -> None:
    store = open_store()
    save(space_of(store, "ana"), "one")
    store.close()
    newer = apsw.Connection(str(store.path(ANA)))
    newer.pragma("user_version", len(MIGRATIONS) + 1)
    newer.close()
    with pytest.raises(Unavailable, match="newer steeltrap") as refused:
        save(space_of(open_store(), "ana"), "two")
    assert not refused.value.can_retry


def test_a_data_folder_that_is_a_file_is_a_clear_error(tmp_path: Path, clock: SettableClock) -> None:
    (tmp_path / "data").write_text("not a folder")
    store = SqliteStore(tmp_path / "data", EMBEDDER, clock)
    for use in (store.check, lambda: save(space_of(store, "ana"), "one")):
        with pytest.raises(Unavailable, match="data folder") as refused:
            use()
        assert not refused.value.can_retry
    store.close()


_AS_NOBODY = """
import os, sys
from clock import SettableClock
from contracts.entries import EMBEDDER, save, search
from spaces import space_of
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from pathlib import Path

folder = Path(sys.argv[1])
store = SqliteStore(folder, EMBEDDER, SettableClock())
save(space_of(store, "ana"), "one")
save(space_of(store, "bob"), "one")
store.close()
for path in sorted(folder.rglob("*"), reverse=True):
    path.chmod(0o555 if path.is_dir() else 0o444)
if (hidden := store.path(UserRef("bob")).parent):
    hidden.chmod(0)
folder.chmod(0o555)
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
store = SqliteStore(folder, EMBEDDER, SettableClock())
uses = (
    store.check,
    lambda: save(space_of(store, "ana"), "two"),
    lambda: save(space_of(store, "bob"), "two"),
    lambda: search(space_of(store, "bob"), "one"),
    lambda: save(space_of(store, "eve"), "two"),
)
for use in uses:
    try:
        use()
    except Unavailable as refused:
        print(refused.can_retry, refused.message)
    else:
        print("written")
"""


def test_a_folder_that_may_not_be_written_to_is_a_clear_error() -> None:
    # Another user has to reach it, which pytest's own folders forbid.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "data"
        data.mkdir()
        data.chmod(0o755)
        lines = _run(_AS_NOBODY, str(data)).stdout.splitlines()
        for path in (data, *data.rglob("*")):
            path.chmod(0o755)
    assert len(lines) == 5
    for line in lines:
        assert line.startswith("False "), lines
        assert "written to" in line or "permissions" in line


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        timeout=60,
    )


# Open files


_MANY_USERS = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from clock import SettableClock
from contracts.entries import EMBEDDER, save, search
from spaces import space_of
from steeltrap.stores.sqlite import SqliteStore
from pathlib import Path

store = SqliteStore(Path(sys.argv[1]), EMBEDDER, SettableClock(), cache_bytes=int(sys.argv[2]))
names = [f"user {i}" for i in range(40)]
for name in names:
    save(space_of(store, name), f"note of {name}")
for _ in range(2):
    for name in names:
        [candidate] = search(space_of(store, name), "note").candidates
        space_of(store, name).note_access([candidate.id], SettableClock().now())
store.close()
counts = [space_of(store, n).usage([m.id])[m.id].access_count for n in names for m in space_of(store, n).walk()]
print(len(list(store.users())), counts == [2] * len(names))
"""


def test_a_flush_of_what_was_read_never_raises(
    open_store: Opening, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store()
    one = save(space_of(store, "ana"), "one")
    space_of(store, "ana").note_access([one.id], NOON)

    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(connections, "identity", refused)
        store.flush()
    assert "reading statistics were not kept; nothing else is affected: " in caplog.text


@contextlib.contextmanager
def written_meanwhile(file: UserFile) -> Iterator[None]:
    """Another thread writes to a file as long as the block lasts."""
    begun, ended = threading.Event(), threading.Event()

    def redo(connection: apsw.Connection, number: int) -> None:
        begun.set()
        assert ended.wait(SECONDS)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(file.transaction, "change", redo, in_time(SECONDS))
        assert begun.wait(SECONDS)
        try:
            yield
        finally:
            ended.set()
        writing.result(SECONDS)


@pytest.mark.parametrize("cache_bytes", [1, 10**9])
def test_many_users_do_not_run_out_of_descriptors(tmp_path: Path, cache_bytes: int) -> None:
    assert _run(_MANY_USERS, str(tmp_path), str(cache_bytes)).stdout.split() == ["40", "True"]


def test_nobody_waits_for_a_long_write_of_another_user(tmp_path: Path, clock: SettableClock) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock, cache_bytes=1)
    save(space_of(store, "bob"), "the otter")
    with ThreadPoolExecutor(1) as pool, written_meanwhile(store._file(ANA)):
        # With ana's file written to, and a cache that holds one file, bob's takes its place.
        reading = pool.submit(search, space_of(store, "bob"), "otter")
        assert reading.result(SECONDS).stored == 1
        assert store._file(ANA).is_open_to_write
    store.close()


def test_a_file_that_was_in_use_is_put_away_later(tmp_path: Path, clock: SettableClock) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock, cache_bytes=1)
    written = store._file(ANA)
    with written_meanwhile(written):
        save(space_of(store, "bob"), "the otter")
    assert written.is_open
    search(space_of(store, "bob"), "otter")
    assert not written.is_open
    store.close()


def test_what_was_read_is_kept_when_another_process_writes_while_its_file_is_put_away(
    tmp_path: Path, clock: SettableClock
) -> None:
    store, other = (SqliteStore(tmp_path, EMBEDDER, clock, cache_bytes=1) for _ in range(2))
    one = save(space_of(store, "ana"), "the heron")
    space_of(store, "ana").note_access([one.id], NOON)
    with written_meanwhile(other._file(ANA)):
        save(space_of(store, "bob"), "the otter")
    assert space_of(store, "ana").usage([one.id])[one.id].access_count == 1
    store.close()
    assert space_of(other, "ana").usage([one.id])[one.id].access_count == 1
    other.close()


def test_a_tiny_cache_answers_alike(tmp_path: Path, clock: SettableClock) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock, cache_bytes=1)
    made = {name: save(space_of(store, name), f"heron of {name}") for name in "abcdefgh"}
    spaces = {name: space_of(store, name) for name in made}
    for _ in range(2):
        for name, kept in made.items():
            assert found(search(spaces[name], "heron", near=embed("heron")[0])) == {kept.id}
    store.close()


def test_what_a_search_has_loaded_is_counted_when_it_notes_its_reads(tmp_path: Path, clock: SettableClock) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    kept = save(space_of(store, "ana"), "the heron")
    store.close()
    store = SqliteStore(tmp_path, EMBEDDER, clock)
    space = space_of(store, "ana")

    def read() -> None:
        assert found(search(space, "heron", near=embed("heron")[0])) == {kept.id}
        space.note_access([kept.id], NOON)

    space.ahead(read)
    assert store.cached() == (1, store._file(ANA).memory())
    store.close()


def test_writers_that_look_around_do_not_put_each_others_files_away_forever(
    tmp_path: Path, clock: SettableClock
) -> None:
    store = SqliteStore(tmp_path, EMBEDDER, clock, cache_bytes=1)
    guard = Guard(same_text=True, threshold=0.9999)

    def write(name: str) -> int:
        space = space_of(store, name)
        for i in range(40):
            save(space, "heron " * (i + 1), vectors=[vector(*[0] * i, 1)], guard=guard)
        return search(space, "heron").stored

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, "abcdefgh")) == [40] * 8
    store.close()


def test_a_reader_that_waits_to_migrate_a_file_keeps_nobody_from_the_index(
    open_store: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    save(space_of(store, "ana"), "one")
    file = store._file(ANA)
    begun, locked = threading.Event(), threading.Event()

    def migrate(opened: apsw.Connection) -> None:
        begun.set()
        assert locked.wait(SECONDS)
        opened.execute("BEGIN IMMEDIATE")
        opened.execute("COMMIT")

    def look_into_the_index(writer: apsw.Connection, _: int) -> None:
        locked.set()
        with file.index_under_lock(writer) as index:
            assert index.memory() > 0
        assert not reader.done()

    monkeypatch.setattr(opening, "migrate", migrate)
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(search, space_of(store, "ana"), "one")
        assert begun.wait(SECONDS)
        file.transaction("change", look_into_the_index, in_time(SECONDS))
        assert reader.result(SECONDS).stored == 1


def test_a_healthy_file_is_opened_and_read_beside_a_write(open_store: Opening) -> None:
    one = save(space_of(open_store(), "ana"), "one")
    store = open_store()
    with written_meanwhile(store._file(ANA)), ThreadPoolExecutor(1) as pool:
        assert pool.submit(space_of(store, "ana").get, [one.id]).result(SECONDS) == {one.id: one}


def test_a_transaction_that_fails_leaves_nothing_and_can_be_run_again(tmp_path: Path, open_store: Opening) -> None:
    space = space_of(open_store(), "ana")
    one = save(space, "the heron")
    file = open_store()._file(ANA)
    numbers: list[int] = []

    def redo(connection: apsw.Connection, number: int) -> None:
        numbers.append(number)
        connection.execute("UPDATE memory SET scope = 'elsewhere'")
        if len(numbers) == 1:
            raise Unavailable("Another replica came first.", part="store")

    with pytest.raises(Unavailable):
        file.transaction("change", redo, in_time(SECONDS))
    assert space.scopes().keys() == {one.scope}
    file.transaction("change", redo, in_time(SECONDS))
    assert space.scopes().keys() == {"elsewhere"}
    assert numbers[0] == numbers[1]


# Migrations


def columns(connection: apsw.Connection) -> list[tuple[object, ...]]:
    """The tables of a file with their columns in order, and its indexes."""
    question = (
        "SELECT made.name, made.type, info.name, info.type, info.[notnull], info.dflt_value, info.pk, made.sql IS NULL "
        "FROM sqlite_schema AS made LEFT JOIN pragma_table_xinfo(made.name) AS info ORDER BY made.name, info.cid"
    )
    return list(connection.execute(question))


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_a_file_of_every_earlier_schema_becomes_like_a_new_one(version: int) -> None:
    old, new = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    old.create_scalar_function("fold_tag", lambda tag: tag, 1)
    old.create_scalar_function("fold_category", lambda category: category, 1)
    for migration in MIGRATIONS[:version]:
        old.execute(migration)
    old.execute("INSERT INTO purge VALUES (7, 1), (7, 1), (8, 2)")
    old.execute("ALTER TABLE memory ADD COLUMN traits INTEGER NOT NULL DEFAULT 0")  # by a release between
    old.pragma("application_id", APPLICATION)
    old.pragma("user_version", version)
    migrate(old)
    migrate(new)
    assert columns(old) == columns(new)
    assert list(old.execute("SELECT change, n FROM purge")) == [(7, 1), (8, 2)]
    assert old.pragma("user_version") == len(MIGRATIONS)
    assert old.execute("PRAGMA integrity_check").get == "ok"


def test_a_new_file_is_what_the_migrations_make_one_after_the_other() -> None:
    made, migrated = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    migrate(made)
    schema._change_tables(migrated, 0, MIGRATIONS)
    question = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    assert sorted(made.execute(question)) == sorted(migrated.execute(question))
    tables = [name for (name,) in migrated.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    assert [list(migrated.execute(f"SELECT * FROM {table}")) for table in tables] == [[]] * len(tables)


def test_every_table_has_a_primary_key(open_store: Opening) -> None:
    save(space_of(open_store(), "ana"), "the heron")
    with contextlib.closing(apsw.Connection(str(open_store().path(ANA)))) as connection:
        keyed = "SELECT count(*) FROM pragma_table_info(made.name) WHERE pk > 0"
        tables = f"SELECT name, ({keyed}) FROM sqlite_schema AS made WHERE type = 'table'"
        assert [name for name, keys in connection.execute(tables) if not keys] == []


def test_opening_a_file_leaves_its_schema_as_it_is_until_it_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with contextlib.closing(apsw.Connection(str(path))) as old:
        old.execute(MIGRATIONS[0])
        old.pragma("application_id", APPLICATION)
        old.pragma("user_version", 1)
    opened = opening.open_file(path)
    assert opened.connection.pragma("user_version") == 1
    assert opening.bring_up_to_date(opened).connection.pragma("user_version") == len(MIGRATIONS)
    opened.connection.close()


def test_a_file_of_the_first_schema_is_brought_up_with_all_that_is_in_it(open_store: Opening) -> None:
    scored = memory("the heron fishes", importance=Importance(score=0.0, reason="no", set_at=NOON))
    said = turn("the heron said?", "talk", messages=(Message(role="user", content="the heron said?"),))
    episode = memory("a walk", messages=said.messages, conversation_id="talk")
    store = open_store()
    path = store.path(ANA)
    path.parent.mkdir(parents=True)
    later = {
        "updated_at",
        "importance",
        "episode",
        "traits",
        "superseded_by",
        "superseded_at",
        "untrusted",
        "import_id",
    }
    with contextlib.closing(apsw.Connection(str(path))) as old:
        old.execute(MIGRATIONS[0])
        old.pragma("application_id", APPLICATION)
        old.pragma("user_version", 1)
        meta = {"generation": "g", "change": 3, "user_id": "ana", "tenant": "", "embedder": EMBEDDER.name}
        old.executemany("INSERT INTO meta VALUES (?, ?)", (meta | {"dimension": EMBEDDER.dimension}).items())
        for n, each in enumerate((scored, said, episode), 1):
            made = entry(each)
            row = dict(zip(COLUMNS.split(", "), to_row(made, n), strict=True))
            known = [name for name in row if name not in later]
            old.execute(
                f"INSERT INTO memory ({', '.join(known)}) VALUES ({', '.join('?' * len(known))})",
                [row[name] for name in known],
            )
            terms, vectors = to_terms(made.tokens or ()), b"".join(made.embeddings or ())
            old.execute("INSERT INTO search VALUES (?, ?, ?)", (n, terms, vectors))
        old.execute("INSERT INTO tag VALUES ('cafe\u0301', 1), ('caf\u00e9', 1), ('cafe\u0301', 3), ('plain', 3)")
        old.execute("UPDATE memory SET category = 'cafe\u0301' WHERE n = 1")
    space = space_of(store, "ana")
    assert space.get([scored.id, said.id]) == {scored.id: scored, said.id: said}
    assert reading.open_turns(space, "talk") == [said]
    assert space.scopes()["user/default"].last_written_at == NOON
    matches = search(space, "heron", near=embed("heron")[0], include_turns=True)
    assert {c.id: c.importance for c in matches.candidates} == {scored.id: 0.0, said.id: None, episode.id: None}
    assert {c.id: c.traits for c in matches.candidates if c.traits} == {said.id: Trait.QUESTION | Trait.BY_USER}
    assert found(search(space, near=embed("walk")[0], episodes=False)) == {scored.id}
    assert [m.id for m in space.page(Filter(episodes=False), limit=5).memories] == [scored.id]
    assert {m.id for m in space.page(Filter(tags=("CAF\u00c9",)), limit=5).memories} == {scored.id, episode.id}
    assert [m.id for m in space.page(Filter(tags=("plain",)), limit=5).memories] == [episode.id]
    assert [m.id for m in space.page(Filter(category="caf\u00e9"), limit=5).memories] == [scored.id]
    save(space, "and goes on")


# Words


def by_an_earlier_analysis(store: SqliteStore, words: Mapping[str, Sequence[str]]) -> Path:
    """A closed file as an earlier version left it, with these words of its memories."""
    path = store.path(ANA)
    store.close()
    with contextlib.closing(apsw.Connection(str(path))) as raw:
        raw.execute("DELETE FROM meta WHERE key = 'words_version'")
        for id, old in words.items():
            raw.execute(
                "UPDATE search SET terms = ? WHERE n = (SELECT n FROM memory WHERE id = ?)", (to_terms(old), to_key(id))
            )
    return path


def rows_of(path: Path) -> dict[str, tuple[int, bytes]]:
    """The number of the change and the vectors of each memory."""
    with contextlib.closing(apsw.Connection(str(path))) as raw:
        found = raw.execute("SELECT id, change, vectors FROM memory JOIN search USING (n)").fetchall()
    return {from_key(id): (change, vectors) for id, change, vectors in found}


def test_words_are_not_made_again_for_a_version_that_changed_vectors_alone(open_store: Opening) -> None:
    store = open_store()
    memory = save(space_of(store, "ana"), "the heron fishes")
    path = by_an_earlier_analysis(store, {memory.id: ["egret"]})
    with contextlib.closing(apsw.Connection(str(path))) as raw:
        raw.execute("INSERT INTO meta (key, value) VALUES ('words_version', ?)", (WORDS_AS_TODAY_SINCE,))
    assert found(search(space_of(open_store(), "ana"), "egret")) == {memory.id}


def test_memories_that_an_earlier_analysis_stored_are_found_by_the_words_of_today(open_store: Opening) -> None:
    store = open_store()
    space = space_of(store, "ana")
    city, plain = save(space, "Łódź by night"), save(space, "the heron fishes")
    run = save(space, "a run", occurred_at=datetime(2026, 5, 12, 23, 30, tzinfo=UTC))
    deleted = delete(space, save(space, "a Łódź of the past"))
    path = by_an_earlier_analysis(store, {city.id: ["łodz", "night"], run.id: ["run", "12", "may", "2026"]})
    before = rows_of(path)
    space = space_of(open_store(), "ana")
    assert found(search(space, "Lodz")) == {city.id}
    assert found(search(space, "may")) == set()
    assert found(search(space, "heron")) == {plain.id}
    assert found(search(space, "run")) == {run.id}
    after = rows_of(path)
    assert {id: vectors for id, (_, vectors) in after.items()} == {id: vectors for id, (_, vectors) in before.items()}
    assert {id for id in after if after[id] != before[id]} == {city.id, run.id}
    assert deleted.id not in after
    save(space, "and goes on")


def test_a_file_that_another_process_has_open_is_found_by_the_words_of_today(open_store: Opening) -> None:
    store, other = open_store(), open_store()
    city = save(space_of(store, "ana"), "Łódź by night")
    assert found(search(space_of(other, "ana"), "Lodz")) == {city.id}
    by_an_earlier_analysis(store, {city.id: ["łodz", "night"]})
    space_of(open_store(), "ana").statistics()
    assert found(search(space_of(other, "ana"), "Lodz")) == {city.id}


def test_words_that_take_long_to_make_again_are_made_from_call_to_call(
    open_store: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    saved = [save(space_of(store, "ana"), f"Łódź number {n}") for n in range(5)]
    by_an_earlier_analysis(store, {each.id: ["łodz"] for each in saved})
    made: list[Memory] = []
    monkeypatch.setattr(opening, "SECONDS", 0.0)
    monkeypatch.setattr(opening, "_BLOCK", 2)
    monkeypatch.setattr(opening, "indexed_words", lambda of: made.append(of) or indexed_words(of))
    space = space_of(open_store(), "ana")
    for done, use in ((2, lambda: search(space, "Lodz")), (4, lambda: save(space, "more"))):
        with pytest.raises(Unavailable, match=f"{done} of 5 are done; try again") as refused:
            use()
        assert refused.value.can_retry
    assert found(search(space, "Lodz")) == {each.id for each in saved}
    assert [each.id for each in made] == [each.id for each in saved]


def test_an_upgrade_that_is_killed_goes_on_where_it_was(open_store: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store()
    saved = [save(space_of(store, "ana"), f"Łódź number {n}") for n in range(4)]
    by_an_earlier_analysis(store, {each.id: ["łodz"] for each in saved})
    made: list[str] = []

    def killed(of: Memory) -> tuple[str, ...]:
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(of.id)
        return indexed_words(of)

    monkeypatch.setattr(opening, "_BLOCK", 2)
    monkeypatch.setattr(opening, "indexed_words", killed)
    with pytest.raises(KeyboardInterrupt):
        search(space_of(open_store(), "ana"), "Lodz")
    monkeypatch.setattr(opening, "indexed_words", lambda of: made.append(of.id) or indexed_words(of))
    assert found(search(space_of(open_store(), "ana"), "Lodz")) == {each.id for each in saved}
    assert made[3:] == [each.id for each in saved[2:]]


def test_a_file_with_the_words_of_a_newer_steeltrap_is_refused(open_store: Opening) -> None:
    space = space_of(open_store(), "ana")
    save(space, "the heron fishes")
    with contextlib.closing(apsw.Connection(str(open_store().path(ANA)))) as raw:
        raw.execute("UPDATE meta SET value = value + 1 WHERE key = 'words_version'")
    for use in (lambda: search(space, "heron"), lambda: save(space, "more")):
        with pytest.raises(Unavailable, match="a newer steeltrap"):
            use()


# Sweeping


@pytest.fixture
def sweeping(tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A store that sweeps when it is told to, not in the background."""
    monkeypatch.setattr(stores, "FLUSH_SECONDS", 3600)
    store = SqliteStore(tmp_path / "data", EMBEDDER, clock, retention=timedelta(days=30))
    yield store
    store.close()


def test_a_file_that_is_written_is_swept_at_most_once_an_hour(sweeping: SqliteStore, clock: SettableClock) -> None:
    space = space_of(sweeping, "ana")
    first, second = save(space, "one", expires_at=later(60)), save(space, "two", expires_at=later(120))
    gone = delete(space, save(space, "three"))
    clock.advance(seconds=60)
    sweeping.sweep()
    assert (space.traces(first.id), bool(space.traces(second.id))) == ([], True)
    clock.advance(minutes=59)
    sweeping.sweep()
    assert space.traces(second.id)
    clock.advance(minutes=1)
    sweeping.sweep()
    assert (space.traces(second.id), bool(space.traces(gone.id))) == ([], True)
    clock.advance(days=30)
    sweeping.sweep()
    assert space.traces(gone.id) == []


def test_a_clock_that_is_wrong_for_a_while_purges_nothing(
    sweeping: SqliteStore, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    space = space_of(sweeping, "ana")
    expiring = save(space, "one", expires_at=later(3600))
    deleted = delete(space, save(space, "two"))
    sweeping.sweep()
    clock.jump(days=3650)
    sweeping.sweep()
    clock.advance(minutes=20)
    sweeping.sweep()
    assert caplog.text.count("The clock jumped by 315360000 s: nothing is purged") == 1
    clock.jump(days=-3650)
    sweeping.sweep()
    assert space.traces(expiring.id)
    assert space.traces(deleted.id)
    clock.advance(hours=1)
    sweeping.sweep()
    assert space.traces(expiring.id) == []
    assert space.traces(deleted.id)


def test_a_clock_that_is_set_back_does_not_stop_the_sweeps(sweeping: SqliteStore, clock: SettableClock) -> None:
    space = space_of(sweeping, "ana")
    save(space, "zero")
    sweeping.sweep()
    clock.jump(days=-1)
    sweeping.sweep()
    expiring = save(space, "one", expires_at=clock.now() + timedelta(minutes=1))
    clock.advance(hours=1)
    sweeping.sweep()
    assert space.traces(expiring.id) == []


def test_a_file_that_is_only_read_is_not_swept(
    sweeping: SqliteStore, open_store: Opening, clock: SettableClock
) -> None:
    expired = save(space_of(open_store(), "ana"), "one", expires_at=later(-1))
    space = space_of(sweeping, "ana")
    assert space.get([expired.id]) == {}
    sweeping.sweep()
    assert space.traces(expired.id)


def test_a_sweep_that_finds_nothing_writes_nothing(sweeping: SqliteStore) -> None:
    space = space_of(sweeping, "ana")
    save(space, "one")
    path = sweeping.path(ANA)
    before = [each.read_bytes() for each in sorted(path.parent.iterdir()) if each.suffix != ".db-shm"]
    sweeping.sweep()
    assert [each.read_bytes() for each in sorted(path.parent.iterdir()) if each.suffix != ".db-shm"] == before


def test_a_sweep_finishes_a_purge_that_was_cut_short(sweeping: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    space = space_of(sweeping, "ana")
    secret = save(space, "quagmire plenipotentiary")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(UserFile, "scrub", die)
        with pytest.raises(KeyboardInterrupt):
            space.purge([secret.id])
    sweeping.sweep()
    sweeping.close()
    assert b"quagmire" not in sweeping.path(ANA).read_bytes()


def test_a_sweep_that_fails_is_logged_and_the_others_go_on(
    sweeping: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bob = UserRef("bob")
    save(space_of(sweeping, "ana"), "one", expires_at=later(-1))
    expired = save(space_of(sweeping, "bob"), "one", expires_at=later(-1))
    file = sweeping._file(ANA)
    monkeypatch.setattr(file, "scrub", lambda deadline: 1 / 0)
    sweeping.sweep()
    assert [record.message for record in caplog.records] == ["a sweep failed: ZeroDivisionError"]
    assert space_of(sweeping, bob.user_id).traces(expired.id) == []


@pytest.mark.parametrize("retention", [None, timedelta(days=30)])
def test_the_background_sweeps_where_there_is_a_retention_time(
    tmp_path: Path,
    open_store: Opening,
    clock: SettableClock,
    monkeypatch: pytest.MonkeyPatch,
    retention: timedelta | None,
) -> None:
    other = open_store()
    expired = save(space_of(other, "ana"), "one", expires_at=later(-1))
    other.close()
    done = threading.Event()
    sweep = SqliteStore.sweep

    def sweep_and_tell(store: SqliteStore) -> None:
        is_due = store._file(ANA).is_open_to_write
        sweep(store)
        if is_due:
            done.set()

    monkeypatch.setattr(stores, "FLUSH_SECONDS", 0.01)
    monkeypatch.setattr(SqliteStore, "sweep", sweep_and_tell)
    store = SqliteStore(tmp_path / "data", EMBEDDER, clock, retention=retention)
    save(space_of(store, "ana"), "two")
    assert done.wait(SECONDS)
    assert bool(space_of(store, "ana").traces(expired.id)) == (retention is None)
    store.close()


def test_a_copy_of_the_folder_is_a_working_store(open_store: Opening, tmp_path: Path, clock: SettableClock) -> None:
    store = open_store()
    one = save(space_of(store, "ana"), "the heron")
    store.close()
    shutil.copytree(store.folder, tmp_path / "copy")
    copied = SqliteStore(tmp_path / "copy", EMBEDDER, clock)
    assert found(search(space_of(copied, "ana"), "heron")) == {one.id}
    copied.close()


# Memories that were read lately


def test_what_was_read_is_read_again_after_another_process_changed_it(
    open_store: Opening, clock: SettableClock
) -> None:
    here, there = space_of(open_store(), "ana"), space_of(open_store(), "ana")
    tea, gone = save(there, "Ana drinks tea"), save(there, "the heron", expires_at=later(60))
    assert here.get([tea.id, gone.id]) == {tea.id: tea, gone.id: gone}
    coffee = update(there, tea, content="Ana drinks coffee")
    clock.advance(seconds=61)
    assert here.get([tea.id, gone.id]) == {tea.id: coffee}
    assert here.get([gone.id], deleted=True) == {gone.id: gone}
    delete(there, coffee)
    assert here.get([tea.id]) == {}
    there.purge([tea.id])
    assert here.get([tea.id], deleted=True) == {}


def test_any_number_of_memories_of_any_length_is_read(open_store: Opening) -> None:
    space = space_of(open_store(), "ana")
    changes = [creation(f"memory {number} " + "and more " * (200 if number % 3 == 0 else 1)) for number in range(1200)]
    space.commit(changes)
    memories = {change.entry.memory.id: change.entry.memory for change in changes}
    ids = list(memories)
    for _ in range(2):
        assert space.get(ids) == memories
        assert space.get(ids[:700]) | space.get(ids[500:]) == memories
    asked_for = [*(str(UUID(int=number)) for number in range(40_000)), ids[0]]
    assert space.get(asked_for) == {ids[0]: memories[ids[0]]}, "a statement has 32,766 places"


def test_a_look_at_the_file_holds_briefly_and_for_one_call_alone(open_store: Opening, clock: SettableClock) -> None:
    clock.stand()
    store, there = open_store(), space_of(open_store(), "ana")
    tea = save(there, "Ana drinks tea")
    space = store.space(ANA, in_time(60, clock))

    def read() -> list[Memory]:
        before = space.get([tea.id])[tea.id]
        coffee = update(there, tea, content="Ana drinks coffee")
        clock.advance(seconds=1)
        return [before, space.get([coffee.id])[tea.id], update(there, coffee, content="Ana drinks water")]

    before, after, last = space.ahead(read)
    assert [before.content, after.content] == ["Ana drinks tea", "Ana drinks coffee"]
    assert space.ahead(lambda: space.get([tea.id])) == {tea.id: last}


def test_long_memories_are_not_kept_and_short_ones_are_counted(open_store: Opening) -> None:
    store = open_store()
    space = space_of(store, "ana")
    short, long = save(space, "Ana drinks tea"), save(space, "the heron", metadata={"note": "x" * 10_000})
    for _ in range(2):
        assert space.get([long.id]) == {long.id: long}
    before = store.cached()[1]
    for _ in range(2):
        assert space.get([long.id]) == {long.id: long}
    assert store.cached()[1] == before
    for _ in range(2):
        assert space.get([short.id]) == {short.id: short}
    assert 600 < store.cached()[1] - before < 5_000
