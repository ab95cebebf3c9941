"""Releases with other tables over one log: it says where each replica migrates, and nobody writes what others misread.

The newer releases are this one with more migrations.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from contracts.entries import EMBEDDER, found, query, save, search, update
from faults.replica_history import AFTER_NEXT, ANA, NEXT, TODAY, rows
from spaces import in_time, space_of
from steeltrap.errors import Unavailable
from steeltrap.maintenance import Run
from steeltrap.model import UserRef
from steeltrap.ports import Space
from steeltrap.runtime import SystemClock
from steeltrap.runtime.local import open_door
from steeltrap.settings import read_settings
from steeltrap.stores.logs.folder import FolderLog, FolderLogs
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.sqlite import schema


class Machines:
    """Stores of any release over one log, each with a cache that stays."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._patch = patch

    @contextmanager
    def of(self, release: tuple[str, ...], cache: str, *, works_since: int | None = None) -> Iterator[ReplicaStore]:
        with self._patch.context() as patch:
            patch.setattr(schema, "MIGRATIONS", release)
            patch.setattr(schema, "WORKS_SINCE", works_since or len(release))
            with closing(self.store(cache)) as store:
                yield store

    def store(self, cache: str) -> ReplicaStore:
        return ReplicaStore(self.folder / cache, FolderLogs(self.folder / "log"), EMBEDDER, SystemClock())

    def bases(self) -> list[Path]:
        return sorted(self.folder.glob("log/u/*/b/*"))


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machines:
    return Machines(tmp_path, monkeypatch)


def _space(store: ReplicaStore) -> Space:
    return space_of(store, ANA.user_id)


def _contents(store: ReplicaStore) -> set[str]:
    return {memory.content for memory in _space(store).walk()}


def test_opening_never_migrates_and_says_what_does(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        save(_space(store), "the heron waits")
    for cache in ("one", "fresh"):
        with machines.of(NEXT, cache) as store, pytest.raises(Unavailable, match="steeltrap admin migrate") as refused:
            list(_space(store).walk())
        assert not refused.value.can_retry
    with machines.of(TODAY, "one") as store:
        save(_space(store), "the reed grows")
        assert _contents(store) == {"the heron waits", "the reed grows"}


def test_a_migration_is_made_by_every_replica_at_its_place(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        first = save(_space(store), "the heron waits")
    with machines.of(TODAY, "asleep") as store:
        assert _contents(store) == {"the heron waits"}
    with machines.of(TODAY, "one") as store:
        update(_space(store), first, content="the heron flies")
    with machines.of(NEXT, "two") as store:
        assert store.migrate(ANA, in_time())
        assert not store.migrate(ANA, in_time())
        save(_space(store), "the reed grows")
        assert len(machines.bases()) == 1
    with machines.of(NEXT, "asleep") as asleep, machines.of(NEXT, "two") as two, machines.of(NEXT, "fresh") as fresh:
        for store in (asleep, two, fresh):
            assert _contents(store) == {"the heron flies", "the reed grows"}
            assert found(search(_space(store), "heron")) == {first.id}
        assert rows(asleep) == rows(two) == rows(fresh)
        save(_space(asleep), "the pond freezes")
        assert "the pond freezes" in _contents(fresh)


def test_damage_that_a_migration_meets_is_gone_with_the_next(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        for number in range(30):
            save(_space(store), f"the heron waits {number:03} " * 20)
        path, contents = store.path(ANA), _contents(store)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"waits 017") // 4096 * 4096
    content[at : at + 64] = b"\x90" * 64
    path.write_bytes(content)
    with machines.of(NEXT, "one") as store, pytest.raises(Unavailable, match="They are in the log"):
        store.migrate(ANA, in_time())
    with machines.of(NEXT, "one") as store:
        assert store.migrate(ANA, in_time())
        assert _contents(store) == contents


def test_a_log_without_a_base_is_read_with_the_tables_that_began_it(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        save(_space(store), "the heron waits")
    with machines.of(NEXT, "two") as store:
        store.migrate(ANA, in_time())
    for base in machines.bases():
        base.unlink()
    with machines.of(NEXT, "fresh") as store:
        assert _contents(store) == {"the heron waits"}


def test_an_open_replica_reads_and_writes_behind_a_migration_as_before(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        first = save(_space(store), "the heron waits")
    works_since = len(TODAY)
    with (
        machines.of(NEXT, "one", works_since=works_since) as one,
        machines.of(NEXT, "two", works_since=works_since) as two,
    ):
        assert found(search(_space(one), "heron", scope="user/moved")) == set()
        two.migrate(ANA, in_time())
        assert found(search(_space(one), "heron", scope="user/moved")) == {first.id}, (
            "what a migration changes is found"
        )
        second = save(_space(one), "the heron flies")
        assert _contents(two) == {"the heron waits", "the heron flies"}
        assert found(_space(two).search(query("flies"))) == {second.id}


def test_an_earlier_release_asks_to_be_upgraded_and_writes_nothing(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        memory = save(_space(store), "the heron waits")
    with machines.of(NEXT, "two") as store:
        store.migrate(ANA, in_time())
        entries = FolderLogs(machines.folder / "log").of(ANA).read_on(1)
    for cache in ("one", "fresh"):
        with machines.of(TODAY, cache) as store:
            with pytest.raises(Unavailable, match="upgrade"):
                list(_space(store).walk())
            with pytest.raises(Unavailable, match="upgrade"):
                update(_space(store), memory, content="the heron flies")
    assert FolderLogs(machines.folder / "log").of(ANA).read_on(1) == entries


def test_a_release_that_works_on_both_tables_writes_for_either_release(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        save(_space(store), "the heron waits")
    with machines.of(NEXT, "two", works_since=len(TODAY)) as store:
        save(_space(store), "the reed grows")
    with machines.of(TODAY, "one") as store:
        assert _contents(store) == {"the heron waits", "the reed grows"}
    with machines.of(NEXT, "two", works_since=len(TODAY)) as store:
        assert store.migrate(ANA, in_time())
        assert _contents(store) == {"the heron waits", "the reed grows"}


def test_a_release_that_leaves_one_out_follows_a_migrator_that_died_before_its_base(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        memory = save(_space(store), "the heron waits")
    with machines.of(NEXT, "two") as store:
        store.migrate(ANA, in_time())
        update(_space(store), memory, content="the heron flies")
    for base in machines.bases():
        base.unlink()
    for cache in ("one", "fresh"):
        with machines.of(AFTER_NEXT, cache, works_since=len(TODAY)) as store:
            assert _contents(store) == {"the heron flies"}
    with machines.of(AFTER_NEXT, "one") as one, machines.of(AFTER_NEXT, "fresh") as fresh:
        assert one.migrate(ANA, in_time())
        assert _contents(fresh) == {"the heron flies"}
        assert rows(one) == rows(fresh)


def test_a_release_that_leaves_one_out_takes_the_tables_of_the_one_between_from_its_base(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        save(_space(store), "the heron waits")
    with machines.of(NEXT, "two") as store:
        store.migrate(ANA, in_time())
    with machines.of(AFTER_NEXT, "one") as store:
        assert store.migrate(ANA, in_time())
        assert _contents(store) == {"the heron waits"}


def test_of_two_migrators_at_once_one_wins_and_the_other_sees_it_done(machines: Machines) -> None:
    with machines.of(TODAY, "one") as store:
        save(_space(store), "the heron waits")

    class Rival(FolderLogs):
        """Another migrator is faster each time that an entry is about to be created."""

        def of(self, user: UserRef) -> FolderLog:
            return RivalLog(self._root, user)

    class RivalLog(FolderLog):
        def create(self, n: int, entry: bytes) -> bool:
            with closing(machines.store("two")) as other:
                migrated.append(other.migrate(ANA, in_time()))
            return super().create(n, entry)

    migrated: list[bool] = []
    with machines.of(NEXT, "unused"):
        logs = Rival(machines.folder / "log")
        with closing(ReplicaStore(machines.folder / "one", logs, EMBEDDER, SystemClock())) as store:
            assert not store.migrate(ANA, in_time())
            assert migrated == [True]
            assert _contents(store) == {"the heron waits"}
    assert len(FolderLogs(machines.folder / "log").of(ANA).read_on(1)) == 2


def test_a_process_that_shares_its_cache_with_a_newer_one_writes_nothing_into_the_new_tables(
    machines: Machines,
) -> None:
    with machines.of(TODAY, "one") as old:
        memory = save(_space(old), "the heron waits")
        with machines.of(NEXT, "one") as new:
            new.migrate(ANA, in_time())
        with pytest.raises(Unavailable, match="upgrade"):
            update(_space(old), memory, content="the heron flies")
    with machines.of(NEXT, "two") as store:
        assert _contents(store) == {"the heron waits"}


def test_words_of_an_earlier_analysis_are_made_again_over_a_log(machines: Machines) -> None:
    def earlier(connection: apsw.Connection, _: int) -> None:
        connection.execute("UPDATE search SET terms = ?", (b"",))
        connection.execute("UPDATE meta SET value = 1 WHERE key IN ('analysis', 'words_version')")

    with machines.of(TODAY, "one") as one, machines.of(TODAY, "two") as two:
        memory = save(_space(one), "the mice ate the cheese")
        one._replica(ANA).transaction("vectors", earlier)
        assert found(search(_space(two), "cheese")) == set()

        door = open_door(read_settings(data=machines.folder / "unused", store="sqlite"), embedder=EMBEDDER)
        with closing(door.store):
            door = replace(door, store=one)
            run = Run(store=one, call_for=door.call_for, report=lambda user, error: pytest.fail(str(error)))
            run.reanalyse([ANA])
        assert run.memories == 1
        assert found(search(_space(two), "cheese")) == {memory.id}
        with two._replica(ANA).reading() as connection:
            assert connection is not None
            meta = dict(connection.execute("SELECT key, value FROM meta"))
        assert meta["analysis"] == meta["words_version"] > 1
