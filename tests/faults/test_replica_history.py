"""Writers of one user on several machines die, sleep and are answered wrongly: nothing acknowledged is lost."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from clock import NOON
from contracts import log_places
from contracts.entries import EMBEDDER, save
from faults.replica_history import ANA, History, all_bytes, check, logs_at, restore_and_move, run_writers
from spaces import space_of
from steeltrap.errors import Unavailable
from steeltrap.model import UserRef
from steeltrap.runtime.clock import SystemClock
from steeltrap.stores.logs.folder import FolderLog, FolderLogs
from steeltrap.stores.replica import ReplicaStore
from unruly_log import unavailable

KINDS: Final = ("folder", "s3", "azure", "gcs", "dynamodb", "postgres")
MINUTES: Final = float(os.environ.get("STEELTRAP_TEST_HISTORY", "0"))
"""How long to go on by hand, with another seed for each round."""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for seed, kind in enumerate(KINDS, 1)])
def test_nothing_acknowledged_is_lost_and_nothing_forgotten_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, seed: int
) -> None:
    with log_of(kind, tmp_path, monkeypatch) as url:
        _check_rounds(tmp_path, url, seed)


def _check_rounds(tmp_path: Path, url: str, seed: int) -> None:
    """Go on until writers have died and memories were forgotten."""
    deaths, history = _round(tmp_path, url, seed)
    while not (deaths and history.forgotten and len(history.acknowledged) > 40):
        seed += 100  # machines differ in how far a writer comes before it dies
        more, history = _round(tmp_path, url, seed)
        deaths += more


@pytest.mark.skipif(not MINUTES, reason="asked for by STEELTRAP_TEST_HISTORY=MINUTES")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_in_a_long_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    clock = SystemClock()
    ends = clock.monotonic() + 60 * MINUTES
    totals: Counter[str] = Counter()
    while clock.monotonic() < ends:
        folder = tmp_path / str(totals["rounds"])
        folder.mkdir()
        with log_of(kind, folder, monkeypatch) as url:
            sleep = 3.0 if totals["rounds"] % 5 else 30.0
            deaths, history = _round(folder, url, 1000 + totals["rounds"], operations=100, sleep=sleep)
        written = sum(map(len, history.acknowledged.values()))
        totals.update(rounds=1, deaths=deaths, writes=written, forgotten=len(history.forgotten))
    print(kind, dict(totals))
    assert totals["deaths"]
    assert totals["forgotten"]


@contextmanager
def log_of(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty log of a kind."""
    if kind == "folder":
        yield (folder / "log").as_uri()
        return
    with log_places.empty_url(kind, monkeypatch) as url:
        yield url


def _round(folder: Path, url: str, seed: int, operations: int = 50, sleep: float = 0.3) -> tuple[int, History]:
    """The deaths of a round of writers, and what they said, which is so."""
    deaths = run_writers(folder, url, writers=4, operations=operations, seed=seed, deadly=0.01, sleep=sleep)
    with closing(logs_at(url)) as logs:
        history = check(folder, logs)
    with closing(logs_at(url)) as logs:
        restore_and_move(folder, logs)
    return deaths, history


class _Removing(FolderLogs):
    """Logs that remove entries but the first in place of overwriting them, so that a number can be taken twice."""

    def of(self, user: UserRef) -> FolderLog:
        return _RemovingLog(self._folder, user)


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
        return _StublessLog(self._folder, user)


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
        left = store.path(ANA).with_name(f"{store.path(ANA).name}-base-killed")
        left.write_text("marker1end")
    with closing(ReplicaStore(tmp_path / "cache0", logs, EMBEDDER, SystemClock())) as store:
        assert len(list(space_of(store, "ana").walk())) == 1
    assert not left.exists()
