"""Work of users that comes due is found by its marker, whatever is killed between which steps; and nobody else's
memories are opened for it."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON, SettableClock
from contracts.entries import EMBEDDER, delete, entry, save, turn
from spaces import in_time, space_of
from steeltrap.invoke import Door
from steeltrap.maintenance import Run
from steeltrap.model import UserRef, from_micros
from steeltrap.ports import Create, Logs, Marker, hour_of
from steeltrap.stores.logs import folder
from steeltrap.stores.logs.folder import FolderLog, FolderLogs
from steeltrap.stores.logs.names import user_to_json
from steeltrap.stores.replica import ReplicaStore
from steeltrap.stores.replica.due import DueWork, share_at
from steeltrap.stores.replica.history import put_back
from steeltrap.stores.replica.moving import FilePlace, move_user
from steeltrap.text.words import WORDS_VERSION
from steeltrap.toolsets import CATALOGUE
from unruly_log import unavailable

ANA = UserRef("ana")
KEPT = timedelta(days=30)
CHANGES = ("create", "mark", "unmark", "put_base", "delete_base", "overwrite", "list_user", "unlist_user")
Story = Callable[[ReplicaStore], None]


class Killed(BaseException):
    """The process is killed."""


class DeadlyLogs(FolderLogs):
    """Logs whose client is killed at one of the requests that change something, before it or after it."""

    def __init__(self, folder: Path, at: int, *, after: bool) -> None:
        super().__init__(folder)
        self.left = at
        self.after = after

    def of(self, user: UserRef) -> FolderLog:
        log = super().of(user)
        for name in CHANGES:
            setattr(log, name, self._deadly(getattr(log, name)))
        return log

    def _deadly(self, request: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(request)
        def deadly(*arguments: Any) -> Any:
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Killed
            answer = request(*arguments)
            if self.left == 0:
                raise Killed
            return answer

        return deadly


def opened(folder: Path, cache: str, clock: SettableClock, logs: Logs | None = None) -> "closing[ReplicaStore]":
    """A store with a cache of its own that does nothing beside its calls."""
    store = ReplicaStore(folder / cache, logs or FolderLogs(folder / "log"), EMBEDDER, clock, retention=KEPT)
    store._closing.set()
    return closing(store)


def sweep(store: ReplicaStore, clock: SettableClock) -> Run:
    """A sweep of who has work due, by a machine of its own."""
    door = Door(catalogue=CATALOGUE, store=store, embedder=EMBEDDER, clock=clock)

    def fail(user: UserRef | None, error: Exception) -> None:
        raise error

    run = Run(store=store, call_for=door.call_for, report=fail)
    run.sweep_due()
    return run


def markers(folder: Path) -> list[Marker]:
    """All markers that there are, of whichever hour."""
    return [marker for page in FolderLogs(folder / "log").due("9999") for _, marker in page]


def require_covered(folder: Path, clock: SettableClock) -> None:
    """Whatever comes due has a marker of its hour or an earlier one, which the log says stands."""
    with opened(folder, "looking", clock) as store:
        file = store._replica(ANA)
        file.catch_up(in_time())
        due: list[datetime] = [clock.now()] if file.is_unfinished() else []
        if file.is_there():
            with closing(apsw.Connection(str(file.path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
                expires = connection.execute("SELECT expires_at FROM memory WHERE expires_at IS NOT NULL")
                due += [from_micros(at) for (at,) in expires]
                deleted = connection.execute("SELECT deleted_at FROM memory WHERE deleted_at IS NOT NULL")
                due += [from_micros(at) + KEPT for (at,) in deleted]
    if due and ANA in FolderLogs(folder / "log").users():
        at = max(min(due), clock.now())
        assert any(marker.hour <= hour_of(at) for marker in markers(folder)), (at, markers(folder))


def _delete(store: ReplicaStore) -> None:
    space = space_of(store, "ana")
    for memory in list(space.walk()):
        delete(space, memory, at=store._clock.now())


def _save_expiring(store: ReplicaStore) -> None:
    save(space_of(store, "ana"), "The pond is frozen.", expires_at=NOON + timedelta(days=1))


def _save_expired(store: ReplicaStore) -> None:
    _save_expired_of(store, "ana")


def _save_expired_of(store: ReplicaStore, name: str) -> None:
    save(space_of(store, name), "The pond was frozen.", expires_at=NOON - timedelta(days=1))


def _forget(store: ReplicaStore) -> None:
    space = space_of(store, "ana")
    space.purge([memory.id for memory in space.walk()][:1])


def _sweep(store: ReplicaStore) -> None:
    assert isinstance(store._clock, SettableClock)
    sweep(store, store._clock)


def _forget_user(store: ReplicaStore) -> None:
    store.forget_user(ANA)


STORIES: dict[str, Story] = {
    "a delete": _delete,
    "a memory that expires": _save_expiring,
    "a memory that has expired": _save_expired,
    "a forgetting": _forget,
    "a sweep": _sweep,
    "forgetting the user": _forget_user,
}


def _prepare(folder: Path, clock: SettableClock, name: str) -> None:
    with opened(folder, "one", clock) as store:
        space = space_of(store, "ana")
        first = save(space, "The heron waits.")
        save(space, "The reed grows.")
        if name == "a sweep":
            save(space, "The pond is frozen.", expires_at=NOON + timedelta(days=90))
            delete(space, first, at=clock.now())
            clock.advance(days=10)
            delete(space, save(space, "The pike hides."), at=clock.now())
            clock.advance(days=21)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", STORIES)
def test_work_of_a_process_that_is_killed_at_any_request_is_found_by_its_marker(
    tmp_path: Path, name: str, after: bool
) -> None:
    for at in count(1):
        clock, folder = SettableClock(), tmp_path / str(at)
        _prepare(folder, clock, name)
        logs = DeadlyLogs(folder / "log", at, after=after)
        was_killed = False
        with opened(folder, "killed", clock, logs) as store:
            list(space_of(store, "ana").walk())
            try:
                STORIES[name](store)
            except Killed:
                was_killed = True
            logs.left = 0
        require_covered(folder, clock)
        clock.advance(days=100)
        with opened(folder, "sweeping", clock) as store:
            for _ in range(2):
                sweep(store, clock)
                clock.advance(hours=2)
            file = store._replica(ANA)
            file.catch_up(in_time())
            assert not file.is_unfinished() or ANA not in store.users()
            assert space_of(store, "ana").statistics()["deleted"] == 0
        assert markers(folder) == []
        if not was_killed:
            return
    raise AssertionError("count ends")


class MeetingLogs(FolderLogs):
    """Logs in which something else happens once, before an entry is created: after its marker was put."""

    def __init__(self, folder: Path, then: Callable[[], None]) -> None:
        super().__init__(folder)
        self.then: Callable[[], None] | None = then

    def of(self, user: UserRef) -> FolderLog:
        log = super().of(user)
        create = log.create

        def meeting(n: int, entry: bytes) -> bool:
            then, self.then = self.then, None
            if then is not None:
                then()
            return create(n, entry)

        log.create = meeting  # type: ignore[method-assign]
        return log


@pytest.mark.parametrize("name", ["a delete", "a memory that expires", "a memory that has expired", "a forgetting"])
def test_a_sweep_between_a_writers_marker_and_its_entry_takes_no_marker_that_is_needed(
    tmp_path: Path, name: str
) -> None:
    clock = SettableClock()
    _prepare(tmp_path, clock, "a sweep")

    def then() -> None:
        with opened(tmp_path, "sweeping", clock) as store:
            sweep(store, clock)

    meeting = MeetingLogs(tmp_path / "log", lambda: None)
    with opened(tmp_path, "writing", clock, meeting) as store:
        list(space_of(store, "ana").walk())
        meeting.then = then
        STORIES[name](store)
    require_covered(tmp_path, clock)


def test_a_sweep_between_two_entries_of_others_leaves_what_they_need(tmp_path: Path) -> None:
    clock = SettableClock()
    _prepare(tmp_path, clock, "a sweep")
    with opened(tmp_path, "asleep", clock) as asleep:
        _save_expiring(asleep)
        with opened(tmp_path, "sweeping", clock) as store:
            sweep(store, clock)
            require_covered(tmp_path, clock)
        _delete(asleep)
        require_covered(tmp_path, clock)


def test_a_sweep_opens_who_has_work_due_and_a_share_of_all_and_in_time_everyone(
    tmp_path: Path, clock: SettableClock
) -> None:
    users = [UserRef(f"user {number}") for number in range(40)]
    with opened(tmp_path, "one", clock) as store:
        for user in users:
            save(space_of(store, user.user_id), "The heron waits.")
        space = space_of(store, users[7].user_id)
        [memory] = space.walk()
        delete(space, memory, at=clock.now())
    clock.advance(days=31)
    swept = []
    for _ in range(64):
        with opened(tmp_path, "sweeping", clock) as store:
            [*pages] = store.due()
            run = sweep(store, clock)
            assert set(store._open) == {user for page in pages for user in page}
            assert run.users == sum(map(len, pages))
        swept.append(pages)
        clock.advance(days=1)
    assert swept[0][0] == [users[7]]
    del swept[0][0]
    others = Counter(user for pages in swept for page in pages for user in page)
    assert others.keys() == set(users)
    assert others.total() <= 1.2 * len(users)


class OneEach(FolderLogs):
    """Logs whose due work comes in pages of one user."""

    def due(self, hour: str) -> Iterator[list[tuple[UserRef, Marker]]]:
        for page in super().due(hour):
            yield from ([each] for each in page)


def test_where_a_sweep_never_gets_to_the_end_of_due_work_it_gets_to_others(
    tmp_path: Path, clock: SettableClock
) -> None:
    users = [UserRef(f"user {number}") for number in range(100)]
    with opened(tmp_path, "one", clock) as store:
        for user in users:
            save(space_of(store, user.user_id), "The heron waits.")
        for user in users[:10]:
            [memory] = space_of(store, user.user_id).walk()
            delete(space_of(store, user.user_id), memory, at=clock.now())
    clock.advance(days=31)
    others: set[UserRef] = set()
    for _ in range(64):
        with opened(tmp_path, "sweeping", clock, OneEach(tmp_path / "log")) as store:
            first, second, *rest = store.due()
        assert len(first) == 1
        assert len(rest) >= 9
        others.update(second)
        clock.advance(days=1)
    assert others == set(users)


@given(
    st.integers(0, 10**6), st.lists(st.integers(0, 3599), min_size=64, max_size=64), st.binary(min_size=32, max_size=32)
)
def test_a_daily_sweep_opens_every_user_within_64_days_though_it_is_late_by_up_to_an_hour(
    first: int, late: list[int], key: bytes
) -> None:
    start = NOON + timedelta(hours=first)
    shares = [share_at(start + timedelta(days=day, seconds=seconds)) for day, seconds in enumerate(late)]
    assert any(low <= key.hex() < end for ranges in shares for low, end in ranges)


@given(st.integers(0, 10**6))
def test_each_hour_s_share_is_a_day_s_and_begins_further_on(hours: int) -> None:
    now, next_hour = (share_at(NOON + timedelta(hours=hours + more)) for more in (0, 1))
    size = sum(int(end.replace("g", "10000"), 16) - int(low, 16) for low, end in now)
    assert 65536 / 64 <= size <= 1.1 * 65536 / 64
    assert now[0][0] != next_hour[0][0]


def test_a_sweep_of_memories_with_nothing_due_writes_no_entry(tmp_path: Path, clock: SettableClock) -> None:
    with opened(tmp_path, "one", clock) as store:
        save(space_of(store, "ana"), "The heron waits.")
        before = FolderLogs(tmp_path / "log").of(ANA).read_on(1)
        for _ in range(64):
            sweep(store, clock)
            clock.advance(days=1)
    assert FolderLogs(tmp_path / "log").of(ANA).read_on(1) == before


def test_messages_of_who_does_not_come_back_become_an_episode(tmp_path: Path, clock: SettableClock) -> None:
    with opened(tmp_path, "one", clock) as store:
        space_of(store, "ana").commit([Create(entry=entry(turn("The heron waits.", "chat")), guard=None)])
    assert [marker.hour for marker in markers(tmp_path)] == [hour_of(NOON + timedelta(days=7))]


def test_users_of_an_older_release_get_their_marker_when_they_are_migrated(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(DueWork, "cover", lambda *_, **__: None)
        _prepare(tmp_path, clock, "a sweep")
    assert markers(tmp_path) == []
    with opened(tmp_path, "newer", clock) as store:
        store.migrate(ANA, in_time())
        entries = FolderLogs(tmp_path / "log").of(ANA).read_on(1)
        store.migrate(ANA, in_time())
    require_covered(tmp_path, clock)
    assert FolderLogs(tmp_path / "log").of(ANA).read_on(1) == entries, "once"


def test_memories_whose_words_an_older_release_analysed_are_due_when_they_are_migrated(
    tmp_path: Path, clock: SettableClock
) -> None:
    with opened(tmp_path, "one", clock) as store:
        save(space_of(store, "ana"), "The heron waits.")
        space_of(store, "ana").set_analysis(WORDS_VERSION - 1)
        store.migrate(ANA, in_time())
        assert [marker.hour for marker in markers(tmp_path)] == [hour_of(NOON)]
        clock.advance(hours=1)
        sweep(store, clock)
        assert space_of(store, "ana").analysis() == WORDS_VERSION
    assert markers(tmp_path) == []


def test_memories_that_were_moved_or_put_back_have_a_marker_where_they_are(
    tmp_path: Path, clock: SettableClock
) -> None:
    _prepare(tmp_path, clock, "a sweep")
    there = tmp_path / "there"
    with opened(tmp_path, "one", clock) as store, opened(there, "one", clock) as target:
        store.build(ANA, clock.now(), tmp_path / "then.db")
        sweep(store, clock)
        put_back(store.open_file(ANA, in_time()), tmp_path / "then.db", in_time())
        require_covered(tmp_path, clock)
        move_user(ANA, FilePlace("here", store), FilePlace("there", target), in_time())
        store.unlist(ANA)
        require_covered(there, clock)
        clock.advance(days=1)
        assert sweep(store, clock).users == 0
    assert markers(tmp_path) == []


def test_a_marker_that_a_copy_of_the_log_lacks_is_put_again(tmp_path: Path, clock: SettableClock) -> None:
    _prepare(tmp_path, clock, "a sweep")
    for renew in (ReplicaStore.migrate, ReplicaStore.note_sweep):
        shutil.rmtree(tmp_path / "log" / "due")
        with opened(tmp_path, "one", clock) as store:
            renew(store, ANA, in_time())
        require_covered(tmp_path, clock)


class CutShort(FolderLogs):
    """Logs whose client is killed before it overwrites what was removed."""

    def of(self, user: UserRef) -> FolderLog:
        log = super().of(user)
        log.overwrite = self._killed  # type: ignore[method-assign]
        log.put_base = self._killed  # type: ignore[method-assign]
        return log

    def _killed(self, *_: Any) -> None:
        raise Killed


def test_a_forgetting_that_an_older_release_cut_short_is_due_when_its_user_is_migrated(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(DueWork, "cover", lambda *_, **__: None)
        _prepare(tmp_path, clock, "a forgetting")
        with opened(tmp_path, "killed", clock, CutShort(tmp_path / "log")) as store, pytest.raises(Killed):
            _forget(store)
    assert markers(tmp_path) == []
    with opened(tmp_path, "newer", clock) as store:
        store.migrate(ANA, in_time())
        require_covered(tmp_path, clock)
        clock.advance(hours=1)
        sweep(store, clock)
        assert not store._replica(ANA).is_unfinished()
    assert markers(tmp_path) == []


def test_a_sweep_that_met_the_marker_of_a_wipe_before_its_entry_leaves_it(tmp_path: Path, clock: SettableClock) -> None:
    _prepare(tmp_path, clock, "forgetting the user")
    with opened(tmp_path, "sweeping", clock) as sweeping:
        pages = sweeping.due()

        def then() -> None:
            clock.advance(hours=1)
            assert next(pages) == [ANA]
            assert list(space_of(sweeping, "ana").walk())

        class Meeting(CutShort, MeetingLogs): ...

        meeting = Meeting(tmp_path / "log", lambda: None)
        with opened(tmp_path, "killed", clock, meeting) as store:
            list(space_of(store, "ana").walk())
            meeting.then = then
            with pytest.raises(Killed):
                store.forget_user(ANA)
        sweeping.note_sweep(ANA, in_time())
        pages.close()
    require_covered(tmp_path, clock)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"user": 1, "tenant": 2}', user_to_json(UserRef("ben"))])
def test_a_listing_that_names_nobody_or_somebody_else_opens_nobody_and_keeps_nobody_from_being_swept(
    tmp_path: Path, clock: SettableClock, content: bytes
) -> None:
    with opened(tmp_path, "one", clock) as store:
        for name in ("ana", "ben", "cid"):
            _save_expired_of(store, name)
        clock.advance(hours=1)
        [mine] = [marker for user, marker in next(FolderLogs(tmp_path / "log").due("9999")) if user == ANA]
        (tmp_path / "log" / "who" / ANA.key).write_bytes(content)
        [page, *_] = FolderLogs(tmp_path / "log").due("9999")
        assert sorted(user.user_id for user, _ in page) == ["ben", "cid"]
        assert sorted(user.user_id for user in store.users()) == ["ben", "cid"]
        assert sweep(store, clock).users >= 2
    assert (tmp_path / "log" / "due" / mine.name / ANA.key).exists(), "once the listing is right, she is found"


def test_a_marker_that_can_not_be_removed_ends_no_sweep(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, "one", clock) as store:
        for name in ("ana", "ben"):
            _save_expired_of(store, name)
        (tmp_path / "log" / "who" / ANA.key).unlink()

        def refuse(path: Path) -> None:
            raise unavailable()

        monkeypatch.setattr(folder, "_remove_marker", refuse)
        assert next(store.due()) == [UserRef("ben")]


def test_one_who_takes_all_the_time_is_not_always_the_first(tmp_path: Path, clock: SettableClock) -> None:
    with opened(tmp_path, "one", clock) as store:
        for name in ("ana", "ben"):
            _save_expired_of(store, name)
        clock.advance(hours=1)
        door = Door(catalogue=CATALOGUE, store=store, embedder=EMBEDDER, clock=clock)
        run = Run(store=store, call_for=door.call_for, report=lambda *_: None)
        earliest = next(store.due())
        seconds = iter([600.0, 0.0])
        run.sweep_due(seconds_left=lambda: next(seconds), shuffle=list.reverse)
        assert (run.users, run.left) == (1, 1)
        assert next(store.due()) == earliest[:1]


def test_markers_of_a_forgotten_user_go_with_their_hour_and_open_nothing(tmp_path: Path, clock: SettableClock) -> None:
    _prepare(tmp_path, clock, "a sweep")
    with opened(tmp_path, "one", clock) as store:
        store.forget_user(ANA)
    assert list((tmp_path / "log" / "due").glob("*/*"))
    clock.advance(days=90)
    with opened(tmp_path, "sweeping", clock) as store:
        assert sweep(store, clock).users == 0
    assert not list((tmp_path / "log" / "due").glob("*/*"))
