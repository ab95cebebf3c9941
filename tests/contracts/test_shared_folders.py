"""Folders that servers share, on this machine and in a bucket of each cloud, and what is remembered of them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest

from clock import SettableClock
from contracts import log_places
from faults.proxy import Proxy, first, saying, unheard
from steeltrap.errors import Unavailable
from steeltrap.ports import SharedFolder
from steeltrap.stores import shared_folders
from steeltrap.stores.objects import Objects
from steeltrap.stores.shared_folders import REMEMBERED_SECONDS, LocalFolder, ObjectFolder, RemembersReads

Connect = Callable[[str], SharedFolder]


@pytest.fixture(params=["folder", "s3", "azure", "gcs", "postgres"])
def connect(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Makes one more client of a folder by its name, as another machine would."""
    if request.param == "folder":
        yield lambda name: LocalFolder(tmp_path / name)
        return
    with (
        log_places.empty_url(request.param, monkeypatch) as url,
        log_places.connecting(lambda: log_places.objects(url)) as connect,
    ):
        yield lambda name: ObjectFolder(connect(), name)


def test_an_empty_folder_has_nothing(connect: Connect) -> None:
    folder = connect("keys")
    assert folder.read("a", "b") == [None, None]
    assert folder.read() == []
    assert folder.write_times() == {}
    folder.remove("a")


def test_a_file_that_was_created_is_read_on_another_machine(connect: Connect) -> None:
    assert connect("keys").create("a.json", b"\x00first\xff") is True
    assert connect("keys").read("b.json", "a.json") == [None, b"\x00first\xff"]


def test_a_file_is_created_once(connect: Connect) -> None:
    contents = [str(number).encode() for number in range(20)]
    start = Barrier(len(contents))

    def race(content: bytes) -> bool:
        folder = connect("")
        start.wait()
        return folder.create("secret", content)

    with ThreadPoolExecutor(len(contents)) as threads:
        [won] = [content for content, made in zip(contents, threads.map(race, contents), strict=True) if made]
    assert connect("").read("secret") == [won]


def test_a_removed_file_is_gone_and_may_be_removed_again(connect: Connect) -> None:
    folder = connect("keys")
    for name in ("a", "b"):
        folder.create(name, b"x")
    folder.remove("a")
    connect("keys").remove("a")
    assert folder.read("a", "b") == [None, b"x"]
    assert set(folder.write_times()) == {"b"}


def test_folders_are_apart(connect: Connect) -> None:
    connect("keys").create("a", b"x")
    connect("key").create("b", b"y")
    connect("").create("c", b"z")
    assert connect("keys").read("a", "b", "c") == [b"x", None, None]
    assert set(connect("keys").write_times()) == {"a"}
    assert set(connect("key").write_times()) == {"b"}


def test_the_place_tells_when_each_file_was_written(connect: Connect) -> None:
    names = [f"{number:03}" for number in range(1, 6)]
    for name in names:
        connect("ended").create(name, b"")
    written = connect("ended").write_times()
    assert sorted(written) == names
    assert [written[name] for name in names] == sorted(written.values())
    assert abs(datetime.now(UTC) - written["001"]) < timedelta(hours=1)


def test_it_says_where_it_is(connect: Connect) -> None:
    assert connect("keys").place.endswith("/keys")
    assert not connect("").place.endswith("/")


def test_a_folder_that_can_t_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file, not a folder")
    folder = LocalFolder(tmp_path / "keys")
    for attempt in (
        lambda: folder.read("a"),
        folder.write_times,
        lambda: folder.create("a", b""),
        lambda: folder.remove("a"),
    ):
        with pytest.raises(Unavailable, match="folder `keys` can't be used") as failed:
            attempt()
        assert str(tmp_path) not in failed.value.message


# What is remembered


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Proxy]]:
    with log_places.proxied_url("gcs", monkeypatch) as found:
        yield found


@pytest.fixture
def clock() -> SettableClock:
    clock = SettableClock()
    clock.stand()
    return clock


@pytest.fixture
def other(bucket: tuple[str, Proxy]) -> SharedFolder:
    """Another machine."""
    return ObjectFolder(Objects(bucket[0]), "keys")


@pytest.fixture
def remembering(bucket: tuple[str, Proxy], clock: SettableClock) -> RemembersReads:
    return RemembersReads(ObjectFolder(Objects(bucket[0]), "keys"), clock)


def test_calls_of_half_a_minute_cost_one_request(
    remembering: RemembersReads, other: SharedFolder, bucket: tuple[str, Proxy], clock: SettableClock
) -> None:
    other.create("a", b"x")
    before = bucket[1].asked.total()
    for _ in range(29):
        assert remembering.read("a") == [b"x"]
        assert remembering.read("unknown") == [None]
        clock.advance(seconds=1)
    assert remembering.read("unknown", "a", "a") == [None, b"x", b"x"]
    assert bucket[1].asked.total() - before == 2


def test_another_machine_s_change_is_seen_within_a_minute(
    remembering: RemembersReads, other: SharedFolder, clock: SettableClock
) -> None:
    other.create("a", b"x")
    assert remembering.read("a", "b") == [b"x", None]
    other.remove("a")
    other.create("b", b"y")
    assert REMEMBERED_SECONDS <= 60
    clock.advance(seconds=REMEMBERED_SECONDS)
    assert remembering.read("a", "b") == [None, b"y"]


@pytest.mark.parametrize("units", [{"days": 7}, {"days": 365}, {"days": -365}])
def test_a_machine_that_slept_or_whose_clock_was_set_asks_again(
    remembering: RemembersReads, other: SharedFolder, clock: SettableClock, units: dict[str, float]
) -> None:
    other.create("a", b"x")
    assert remembering.read("a") == [b"x"]
    other.remove("a")
    clock.jump(**units)
    assert remembering.read("a") == [None]


def test_a_change_of_one_s_own_is_seen_at_once(remembering: RemembersReads) -> None:
    assert remembering.read("a") == [None]
    assert remembering.create("a", b"x")
    assert remembering.read("a") == [b"x"]
    remembering.remove("a")
    assert remembering.read("a") == [None]
    assert remembering.write_times() == {}


def test_what_was_read_before_a_change_is_not_remembered_after_it(other: SharedFolder, clock: SettableClock) -> None:
    class Slow(ObjectFolder):
        def read(self, *names: str) -> list[bytes | None]:
            found = super().read(*names)
            while self.meanwhile:
                self.meanwhile.pop()()
            return found

        meanwhile: list[Callable[[], object]] = []

    assert isinstance(other, ObjectFolder)
    slow = Slow(other._objects, "keys")
    remembering = RemembersReads(slow, clock)
    slow.meanwhile = [lambda: remembering.create("a", b"x")]
    assert remembering.read("a") == [None]
    assert remembering.read("a") == [b"x"]


def test_an_outage_is_neither_nothing_nor_what_was_there_long_ago(
    remembering: RemembersReads, other: SharedFolder, bucket: tuple[str, Proxy], clock: SettableClock
) -> None:
    other.create("a", b"x")
    assert remembering.read("a") == [b"x"]
    bucket[1].rule = saying(503, b"")
    assert remembering.read("a") == [b"x"]
    clock.advance(seconds=REMEMBERED_SECONDS)
    for name in ("a", "b"):
        with pytest.raises(Unavailable):
            remembering.read(name)
    bucket[1].rule = first(0, saying(503, b""))
    assert remembering.read("a", "b") == [b"x", None]


def test_a_create_whose_answer_was_lost_is_read_back(remembering: RemembersReads, bucket: tuple[str, Proxy]) -> None:
    bucket[1].rule = first(1, unheard)
    assert remembering.create("a", b"x") is False, "the service's second answer is about the first attempt"
    assert remembering.read("a") == [b"x"]


def test_names_that_strangers_make_up_fill_no_memory(
    remembering: RemembersReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_folders, "_MOST", 3)
    for number in range(10):
        remembering.read(str(number))
    assert list(remembering._reads) == ["7", "8", "9"]
