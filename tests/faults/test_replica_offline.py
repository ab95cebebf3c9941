"""Without a network, a replica answers what its cache has and says since when; it changes and loses nothing."""

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from clock import SettableClock
from contracts import log_places
from contracts.entries import EMBEDDER
from faults.proxy import saying, silent
from spaces import in_time, space_of
from steeltrap.errors import StoreUnreachable, Unavailable
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.ports import BaseName
from steeltrap.stores.logs.folder import FolderLog, FolderLogs, Root
from steeltrap.stores.replica import ReplicaStore
from steeltrap.toolsets import CATALOGUE

ANA = UserRef("ana")
SINCE = "Offline: this is as of 2026-01-01 12:00."


class Network:
    """The way to the logs. `asked` counts what went along it, or tried to."""

    def __init__(self) -> None:
        self.is_down = False
        self.bases_are_lost = False
        self.asked = 0

    def pass_on(self) -> None:
        """One request. Raises StoreUnreachable."""
        self.asked += 1
        if self.is_down:
            raise StoreUnreachable("The bucket of the memories does not answer; try again.", part="store")


class FarLogs(FolderLogs):
    """Logs in a folder that a network leads to."""

    def __init__(self, folder: Path, network: Network) -> None:
        super().__init__(folder)
        self._network = network

    def of(self, user: UserRef) -> FolderLog:
        return _FarLog(self._root, user, self._network)

    def id(self) -> bytes:
        self._network.pass_on()
        return super().id()


class _FarLog(FolderLog):
    def __init__(self, root: Root, user: UserRef, network: Network) -> None:
        super().__init__(root, user)
        self._network = network

    def create(self, n: int, entry: bytes) -> bool:
        self._network.pass_on()
        return super().create(n, entry)

    def read(self, numbers: Sequence[int]) -> list[bytes | None]:
        self._network.pass_on()
        return super().read(numbers)

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        self._network.pass_on()
        return super().read_on(n, are_many=are_many)

    def overwrite(self, stubs: Mapping[int, bytes]) -> None:
        self._network.pass_on()
        super().overwrite(stubs)

    def bases(self) -> list[BaseName]:
        self._network.pass_on()
        if self._network.bases_are_lost:
            self._network.is_down = True
        self._network.pass_on()
        return super().bases()

    def put_base(self, name: BaseName, base: bytes) -> None:
        self._network.pass_on()
        super().put_base(name, base)


@pytest.fixture
def network() -> Network:
    return Network()


Open = Callable[..., "Laptop"]


class Laptop:
    """A door over a cache of its own, for ana."""

    def __init__(self, store: ReplicaStore, clock: SettableClock) -> None:
        self.store = store
        self.clock = clock
        self.door = Door(catalogue=CATALOGUE, store=store, embedder=EMBEDDER, clock=clock)

    def result(self, tool: str, **arguments: Any) -> Result:
        return self.door.invoke(tool, arguments, Caller(ANA, "agent"), timezone="UTC")

    def ask(self, tool: str, **arguments: Any) -> Any:
        result = self.result(tool, **arguments)
        if result.error is not None:
            raise result.error
        return result.body


@pytest.fixture
def laptop(tmp_path: Path, clock: SettableClock) -> Iterator[Open]:
    opened: list[Laptop] = []

    def open_laptop(network: Network, cache: str = "laptop") -> Laptop:
        store = ReplicaStore(tmp_path / cache, FarLogs(tmp_path / "log", network), EMBEDDER, clock)
        opened.append(Laptop(store, clock))
        return opened[-1]

    yield open_laptop
    for each in opened:
        each.store.close()


def _contents(laptop: Laptop) -> set[str]:
    return {memory["content"] for memory in laptop.ask("core.list")["memories"]}


@pytest.mark.parametrize("is_new", [False, True], ids=["the same process", "a new process"])
def test_offline_no_answer_lacks_a_save_that_the_log_took_and_the_file_could_not(
    laptop: Open, network: Network, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    one = laptop(network)
    one.ask("core.save", content="The heron waits.")

    def full(*_: object) -> None:
        raise apsw.FullError("no room")

    with monkeypatch.context() as patch:
        patch.setattr("steeltrap.stores.replica.file.write_position", full)
        patch.setattr("steeltrap.stores.replica.applying.Applier.apply", full)
        one.ask("core.save", content="The otter swims.")
    network.is_down = True
    if is_new:
        one.store.close()
        one = laptop(network)
    with pytest.raises(StoreUnreachable):
        one.ask("core.list")
    network.is_down = False
    one.clock.advance(seconds=11)
    assert _contents(one) == {"The heron waits.", "The otter swims."}
    network.is_down = True
    assert _contents(one) == {"The heron waits.", "The otter swims."}


def test_offline_the_cache_stays_where_a_full_disk_kept_it_from_naming_its_logs(
    laptop: Open, network: Network, tmp_path: Path
) -> None:
    one = laptop(network)
    id = one.ask("core.save", content="The heron waits.")["id"]
    path = one.store.path(ANA)
    one.store.close()
    [name] = tmp_path.glob("*/log-id")
    name.write_bytes(b"")
    network.is_down = True
    one = laptop(network)
    with pytest.raises(StoreUnreachable):
        one.ask("core.get", id=id)
    assert path.exists()
    one.store.close()
    network.is_down = False
    one = laptop(network)
    assert one.ask("core.get", id=id)["id"] == id
    assert name.read_bytes() != b""


def test_a_cache_that_cannot_name_its_logs_is_used_all_the_same(
    laptop: Open, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    one = laptop(network)
    id = one.ask("core.save", content="The heron waits.")["id"]
    one.store.close()
    [name] = tmp_path.glob("*/log-id")
    name.unlink()
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    monkeypatch.setattr("steeltrap.stores.whole_files.write", full)
    assert laptop(network).ask("core.get", id=id)["id"] == id
    assert not name.exists()


@pytest.mark.parametrize("is_new", [False, True], ids=["the same process", "a new process"])
def test_offline_a_copy_that_is_known_to_be_damaged_answers_nothing(
    laptop: Open, network: Network, is_new: bool
) -> None:
    one = laptop(network)
    ids = [one.ask("core.save", content=f"The heron waits {number:03}. " * 20)["id"] for number in range(30)]
    path = one.store.path(ANA)
    one.store.close()
    content = bytearray(path.read_bytes())
    at = content.rindex(b"waits 017") // 4096 * 4096
    content[at : at + 64] = b"\x90" * 64
    path.write_bytes(content)
    one = laptop(network)
    with pytest.raises(Unavailable, match="They are in the log"):
        one.ask("core.get", id=ids[17])
    network.is_down = True
    if is_new:
        one.store.close()
        one = laptop(network)
    for id in ids:
        with pytest.raises(StoreUnreachable):
            one.ask("core.get", id=id)
    network.is_down = False
    one.clock.advance(seconds=11)
    assert all(one.ask("core.get", id=id)["id"] == id for id in ids)


@pytest.mark.parametrize("is_new", [False, True], ids=["the same process", "a new process"])
def test_offline_every_read_answers_from_the_cache_and_says_since_when(
    laptop: Open, network: Network, clock: SettableClock, is_new: bool
) -> None:
    one = laptop(network)
    id = one.ask("core.save", content="The heron waits by the pond.")["id"]
    if is_new:
        one.store.close()
        clock.advance(minutes=5)
        one = laptop(network)
    network.is_down = True
    clock.advance(hours=1)
    search = one.result("core.search", query="heron")
    assert [hit["id"] for hit in search.body["results"]] == [id]
    assert search.body["outcome"] == {"kind": "offline", "message": f"{SINCE} 1 found."}
    assert search.outcome is not None
    assert search.outcome.message == f"{SINCE} 1 found."
    listed = one.result("core.list")
    assert listed.body["total"] == 1
    assert listed.outcome is not None
    assert (listed.outcome.kind, listed.outcome.message) == ("offline", SINCE)
    assert one.ask("agent.recall", query="heron").splitlines()[-1] == f"{SINCE} 1 found."
    assert one.ask("agent.recent_memories").splitlines()[-1] == SINCE
    notes = one.result("notes.memory_search", query="heron")
    assert notes.outcome is not None
    assert notes.outcome.message.startswith(SINCE)


def test_what_another_machine_has_saved_meanwhile_is_not_said_to_be_nowhere(laptop: Open, network: Network) -> None:
    here, other = laptop(network), laptop(Network(), "other")
    here.ask("core.save", content="The heron waits.")
    id = other.ask("core.save", content="The reed grows.")["id"]
    network.is_down = True
    for tool in ("core.get", "core.delete"):
        error = here.result(tool, id=id).error
        assert error is not None
        assert error.code == "not_found"
        assert error.message.endswith(SINCE)


def test_offline_every_change_is_refused_with_a_sentence_and_nothing_is_half_written(
    laptop: Open, network: Network, clock: SettableClock
) -> None:
    here = laptop(network)
    memory = here.ask("core.save", content="The heron waits.")
    network.is_down = True
    for tool, arguments in (
        ("core.save", {"content": "The reed grows."}),
        ("core.update", {"id": memory["id"], "content": "The heron flies."}),
        ("core.delete", {"id": memory["id"]}),
        ("core.forget", {"ids": [memory["id"]]}),
        ("agent.remember", {"content": "The reed grows."}),
    ):
        error = here.result(tool, **arguments).error
        assert error is not None, tool
        assert error.message == (
            "Nothing was changed: the place of these memories can't be reached, and offline they can only be read. "
            "Try again once the network is back."
        )
        assert error.can_retry
    network.is_down = False
    clock.advance(minutes=1)
    assert _contents(here) == {"The heron waits."}
    assert len(FolderLogs(here.store.folder.parent / "log").of(ANA).read_on(1)) == 1


def test_an_hour_offline_ends_without_loss(laptop: Open, network: Network, clock: SettableClock) -> None:
    here, other = laptop(network), laptop(Network(), "other")
    first = here.ask("core.save", content="The heron waits.")["id"]
    network.is_down = True
    for minute in range(60):
        clock.advance(minutes=1)
        assert [hit["id"] for hit in here.ask("core.search", query="heron")["results"]] == [first]
        here.store.flush(just_read=True)
        assert here.result("core.save", content=f"Refused {minute}").error is not None
        other.ask("core.save", content=f"Saved elsewhere {minute}")
    other.ask("core.update", id=first, content="The heron flies.")
    network.is_down = False
    clock.advance(minutes=1)
    saved = {f"Saved elsewhere {minute}" for minute in range(60)}
    assert here.result("core.list", limit=100).outcome is None
    here.ask("core.save", content="Saved here.")
    assert {each.content for each in space_of(other.store, "ana").walk()} == {
        "The heron flies.",
        "Saved here.",
        *saved,
    }
    assert space_of(here.store, "ana").usage([first])[first].access_count == 60, "reads count, too"


def test_once_nothing_answers_calls_ask_for_nothing_for_a_while(
    laptop: Open, network: Network, clock: SettableClock
) -> None:
    here = laptop(network)
    here.ask("core.save", content="The heron waits.")
    network.is_down = True
    before = network.asked
    for _ in range(20):
        assert _contents(here) == {"The heron waits."}
        assert here.result("core.save", content="The reed grows.").error is not None
    assert network.asked == before + 1
    clock.advance(seconds=11)
    _contents(here)
    assert network.asked == before + 2


def test_a_user_of_whom_the_cache_has_nothing_is_an_error_and_not_an_empty_memory(
    laptop: Open, network: Network
) -> None:
    laptop(Network(), "other").ask("core.save", content="The heron waits.")
    network.is_down = True
    for _ in range(2):
        with pytest.raises(StoreUnreachable):
            laptop(network).ask("core.list")


def test_a_replica_that_has_met_a_forgetting_does_not_answer_by_what_it_had_before(
    laptop: Open, network: Network, clock: SettableClock
) -> None:
    here, other = laptop(network), laptop(Network(), "other")
    id = here.ask("core.save", content="The heron waits.")["id"]
    other.ask("core.save", content="The reed grows.")
    other.ask("core.forget", ids=[id])
    network.bases_are_lost = True  # a stub is read, and then there is no network to read the base by
    for _ in range(2):
        with pytest.raises(Unavailable):
            here.ask("core.list")
        network.is_down = True
        clock.advance(seconds=11)
    network.is_down = network.bases_are_lost = False
    clock.advance(seconds=11)
    assert _contents(here) == {"The reed grows."}


def test_a_place_that_has_become_another_while_a_process_began_offline_is_not_taken_for_the_old_one(
    laptop: Open, network: Network, clock: SettableClock, tmp_path: Path
) -> None:
    with closing(laptop(network).store) as store:
        Laptop(store, clock).ask("core.save", content="The heron waits.")
    network.is_down = True
    here = laptop(network)
    assert _contents(here) == {"The heron waits."}
    (tmp_path / "log").rename(tmp_path / "old")
    network.is_down = False
    clock.advance(minutes=1)
    with pytest.raises(Unavailable, match="start steeltrap again"):
        here.ask("core.list")
    assert laptop(network).ask("core.list")["total"] == 0


@pytest.mark.parametrize("kind", ["gcs", "s3", "azure", "dynamodb"])
def test_only_a_network_that_is_down_is_offline(
    kind: str, tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_places.make_impatient(monkeypatch)
    with log_places.proxied_place(kind, monkeypatch) as (make, proxy):
        store = ReplicaStore(tmp_path / "cache", make(), EMBEDDER, clock)
        with closing(store):
            here = Laptop(store, clock)
            here.ask("core.save", content="The heron waits.")
            for status in (403, 404, 500, 503):
                proxy.rule = saying(status, b"")
                error = here.result("core.list").error
                assert error is not None, status
                assert not isinstance(error, StoreUnreachable)
            proxy.rule = silent
            assert _contents(here) == {"The heron waits."}
            clock.advance(minutes=1)
            proxy.stop()
            assert _contents(here) == {"The heron waits."}
            with pytest.raises(StoreUnreachable):
                store.open_file(ANA, in_time())
