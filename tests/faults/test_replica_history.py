"""Writers of one user on several machines die, sleep and are answered wrongly: nothing acknowledged is lost."""

import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from clock import NOON
from contracts.entries import EMBEDDER, save
from contracts.log_places import KINDS, log_of
from faults.replica_history import (
    ANA,
    RELEASES,
    History,
    all_bytes,
    be_of,
    check,
    logs_at,
    restore_and_move,
    run_writers,
)
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.runtime import SystemClock
from steeltrap.stores.data_folder import hold, release
from steeltrap.stores.logs.folder import FolderLog, FolderLogs
from steeltrap.stores.replica import ReplicaStore
from unruly_log import unavailable

MINUTES: Final = float(os.environ.get("STEELTRAP_TEST_HISTORY", "0"))
"""How long writers go on over each kind of log (`make history`); without it, one round over a folder."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS if MINUTES else ["folder"])
def test_nothing_acknowledged_is_lost_and_nothing_forgotten_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    operations, sleeps = (100, (30.0, 3.0, 3.0, 3.0, 3.0)) if MINUTES > 1 else (50, (0.3,))
    seed = KINDS.index(kind)
    totals = _rounds(kind, tmp_path, monkeypatch, 60 * MINUTES, seed, operations=operations, sleeps=sleeps)
    print(kind, dict(totals))


def _rounds(
    kind: str,
    folder: Path,
    patch: pytest.MonkeyPatch,
    seconds: float,
    seed: int,
    *,
    operations: int,
    sleeps: Sequence[float],
) -> Counter[str]:
    """Rounds of writers, each with a seed of its own, for so long, and until writers have died and migrated, and
    memories were forgotten; how often each came about."""
    clock = SystemClock()
    ends = clock.monotonic() + seconds
    totals = Counter(rounds=0, deaths=0, writes=0, forgotten=0, migrations=0)
    while clock.monotonic() < ends or min(totals.values()) == 0:
        place = folder / str(totals["rounds"])
        place.mkdir()
        with log_of(kind, place, patch) as url:
            sleep = sleeps[totals["rounds"] % len(sleeps)]
            deaths, history = _round(place, url, seed + 100 * totals["rounds"], operations, sleep)
        shutil.rmtree(place)
        totals.update(
            rounds=1,
            deaths=deaths,
            writes=sum(map(len, history.acknowledged.values())),
            forgotten=len(history.forgotten),
            migrations=history.migrations,
        )
    return totals


def _round(folder: Path, url: str, seed: int, operations: int, sleep: float) -> tuple[int, History]:
    """The deaths of a round of writers, and what they said, which is so for a machine of the newest release."""
    deaths = run_writers(folder, url, writers=4, operations=operations, seed=seed, deadly=0.01, sleep=sleep)
    with pytest.MonkeyPatch.context() as patch:
        be_of(RELEASES[-1], patch)
        with closing(logs_at(url)) as logs:
            history = check(folder, logs)
        with closing(logs_at(url)) as logs:
            restore_and_move(folder, logs)
    return deaths, history


class _Removing(FolderLogs):
    """Logs that remove entries but the first in place of overwriting them, so that a number can be taken twice."""

    def of(self, user: UserRef) -> FolderLog:
        return _RemovingLog(self._root, user)


class _RemovingLog(FolderLog):
    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        super().overwrite({1: stubs[1]} if 1 in stubs else {})
        for n in stubs.keys() - {1}:
            self._entry(n).unlink()


@pytest.mark.parametrize(("kind", "is_lost"), [(FolderLogs, False), (_Removing, True)])
def test_a_log_that_gives_a_number_twice_loses_what_it_acknowledged(
    tmp_path: Path, kind: type[FolderLogs], is_lost: bool
) -> None:
    logs = kind(tmp_path / "log")
    with (
        closing(ReplicaStore(tmp_path / "one", logs, EMBEDDER, SystemClock())) as one,
        closing(ReplicaStore(tmp_path / "asleep", logs, EMBEDDER, SystemClock())) as asleep,
        closing(ReplicaStore(tmp_path / "fresh", logs, EMBEDDER, SystemClock())) as fresh,
    ):
        first = save(space_of(one, "ana"), "the heron waits")
        assert [memory.id for memory in space_of(asleep, "ana").walk()] == [first.id]
        second = save(space_of(one, "ana"), "the reed grows")
        space_of(one, "ana").purge([second.id])
        third = save(space_of(asleep, "ana"), "the pond freezes")
        memories = {memory.id for memory in space_of(fresh, "ana").walk()}
        assert (third.id not in memories) is is_lost


class _Stubless(FolderLogs):
    """Logs whose service fails before a forgetting's stubs are there."""

    def of(self, user: UserRef) -> FolderLog:
        return _StublessLog(self._root, user)


class _StublessLog(FolderLog):
    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        raise unavailable()


def test_a_forgetting_cut_short_behind_its_base_is_finished_by_a_replica_that_begins_with_that_base(
    tmp_path: Path,
) -> None:
    with closing(ReplicaStore(tmp_path / "cache0", _Stubless(tmp_path / "log"), EMBEDDER, SystemClock())) as store:
        one = save(space_of(store, "ana"), "heron marker1end waits")
        save(space_of(store, "ana"), "the reed grows")
        with pytest.raises(Unavailable):
            space_of(store, "ana").purge([one.id])
    logs = FolderLogs(tmp_path / "log")
    with closing(ReplicaStore(tmp_path / "cache1", logs, EMBEDDER, SystemClock())) as store:
        space_of(store, "ana").sweep(NOON)
    assert [path for path, content in all_bytes(tmp_path) if b"marker1end" in content] == []


def test_a_copy_that_a_killed_process_left_is_gone_once_its_cache_is_used_again(tmp_path: Path) -> None:
    logs = FolderLogs(tmp_path / "log")
    with closing(ReplicaStore(tmp_path / "cache0", logs, EMBEDDER, SystemClock())) as store:
        save(space_of(store, "ana"), "the reed grows")
        copies = _copies(store.path(ANA))
    with closing(ReplicaStore(tmp_path / "cache0", logs, EMBEDDER, SystemClock())) as store:
        assert len(list(space_of(store, "ana").walk())) == 1
    assert not any(copy.exists() for copy in copies)


def test_a_copy_that_is_being_made_stays_with_its_journal_while_others_use_the_cache(tmp_path: Path) -> None:
    logs = FolderLogs(tmp_path / "log")
    with closing(ReplicaStore(tmp_path / "cache0", logs, EMBEDDER, SystemClock())) as store:
        first = save(space_of(store, "ana"), "the reed grows")
        second = save(space_of(store, "ana"), "the heron waits")
        copies = _copies(store.path(ANA))
        lock = hold(copies[0])
        space_of(store, "ana").purge([first.id])
        assert all(copy.exists() for copy in copies)
        release(lock)
        space_of(store, "ana").purge([second.id])
        assert not any(copy.exists() for copy in copies)


def test_a_copy_that_is_taken_for_left_over_before_it_is_held_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = FolderLogs(tmp_path / "log")
    with closing(ReplicaStore(tmp_path / "cache0", logs, EMBEDDER, SystemClock())) as store:
        first = save(space_of(store, "ana"), "the reed grows")

        def hold_second(copy: Path, *, alone: bool = False) -> int | None:
            monkeypatch.undo()
            lock = hold(copy, alone=True)
            with pytest.raises(Unavailable):
                hold(copy, alone=alone)
            copy.unlink()
            release(lock)
            raise Unavailable("Another one holds it.", part="store")

        monkeypatch.setattr("steeltrap.stores.replica.bases.hold", hold_second)
        store._replica(ANA).put_base()
        assert [memory.id for memory in space_of(store, "ana").walk()] == [first.id]
    assert len(logs.of(ANA).bases()) == 1


def _copies(file: Path) -> list[Path]:
    """A copy of a replica's file that isn't whole yet, and the journals that SQLite may keep beside it."""
    copies = [file.with_name(f"{file.name}-base-begun{ending}") for ending in ("", "-journal", "-wal", "-shm")]
    for copy in copies:
        copy.write_text("marker1end")
    return copies
