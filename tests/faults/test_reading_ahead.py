"""A read of a far log works on the rows that are here while the log is asked; it is made again where those were old."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from clock import SettableClock
from contracts.entries import EMBEDDER
from steeltrap.errors import StoreUnreachable
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Deadline, Embedder
from steeltrap.stores.logs.folder import FolderLog, FolderLogs, Root
from steeltrap.stores.replica import ReplicaStore
from steeltrap.toolsets import CATALOGUE

ANA = UserRef("ana")
GET_SECONDS = 0.025


class FarLogs(FolderLogs):
    """Logs in a folder whose entries take as long as those in a bucket. `meanwhile` runs within the next request."""

    def __init__(self, folder: Path, clock: SettableClock) -> None:
        super().__init__(folder)
        self._clock = clock
        self.meanwhile: Callable[[], object] = lambda: None

    def of(self, user: UserRef) -> FolderLog:
        return _FarLog(self._root, user, self)

    def wait(self) -> None:
        self._clock.sleep(GET_SECONDS)
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()


class _FarLog(FolderLog):
    def __init__(self, root: Root, user: UserRef, logs: FarLogs) -> None:
        super().__init__(root, user)
        self._logs = logs

    def read_on(self, n: int, *, are_many: bool = False) -> list[bytes]:
        self._logs.wait()
        return super().read_on(n, are_many=are_many)


class Listening:
    """The tests' embedder, which says when a question came to be embedded."""

    def __init__(self) -> None:
        self.was_asked = Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(EMBEDDER, name)

    def embed(self, texts: Sequence[str], **options: Any) -> Any:
        if options.get("purpose") == "query":
            self.was_asked.set()
        return EMBEDDER.embed(texts, **options)


class Machines:
    """A door over the far log, and one of another machine, whose log is near."""

    def __init__(self, folder: Path) -> None:
        self.clock = SettableClock()
        self.embedder = Listening()
        self.logs = FarLogs(folder / "log", self.clock)
        self.here = self._door(folder / "here", self.logs)
        self.elsewhere = self._door(folder / "elsewhere", FolderLogs(folder / "log"))

    def _door(self, cache: Path, logs: FolderLogs) -> Door:
        embedder: Embedder = self.embedder  # type: ignore[assignment]
        store = ReplicaStore(cache, logs, embedder, self.clock)
        return Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=self.clock)

    def call(self, tool: str, door: Door | None = None, **arguments: Any) -> Result:
        return (door or self.here).invoke(f"core.{tool}", arguments, Caller(ANA, "default"))

    def meanwhile(self, tool: str, **arguments: Any) -> None:
        """Have the other machine call a tool when the question of a search here is embedded and the log not read."""
        self.embedder.was_asked.clear()

        def change() -> None:
            assert self.embedder.was_asked.wait(30), "the read waits for the log"
            assert self.call(tool, self.elsewhere, **arguments).error is None

        self.logs.meanwhile = change


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path)
    with closing(machines.here.store), closing(machines.elsewhere.store):
        machines.call("save", content="The heron waits by the pond.")
        machines.call("search", query="heron")  # from now on the log is known to be far
        yield machines


def _texts(result: Result) -> list[str]:
    assert result.error is None, result.error
    return [hit["content"] for hit in result.body["results"]]


def test_a_search_embeds_and_looks_while_the_log_is_asked(machines: Machines) -> None:
    seen: list[bool] = []
    machines.embedder.was_asked.clear()
    machines.logs.meanwhile = lambda: seen.append(machines.embedder.was_asked.wait(30))
    assert _texts(machines.call("search", query="heron")) == ["The heron waits by the pond."]
    assert seen == [True]


def test_what_another_machine_saved_before_the_log_answered_is_found(machines: Machines) -> None:
    machines.meanwhile("save", content="The heron flies over the pond.")
    assert sorted(_texts(machines.call("search", query="heron"))) == [
        "The heron flies over the pond.",
        "The heron waits by the pond.",
    ]


def test_what_another_machine_forgot_before_the_log_answered_is_not_shown(machines: Machines) -> None:
    [hit] = machines.call("search", query="heron").body["results"]
    machines.meanwhile("forget", id=hit["id"])
    assert _texts(machines.call("search", query="heron")) == []


def test_an_error_that_the_newest_rows_do_not_have_is_none(machines: Machines) -> None:
    [hit] = machines.call("search", query="heron").body["results"]
    machines.call("delete", id=hit["id"])
    assert machines.call("get", id=hit["id"]).error is not None
    machines.logs.meanwhile = lambda: machines.call("undo", machines.elsewhere, id=hit["id"])
    result = machines.call("get", id=hit["id"])
    assert result.error is None, result.error


def test_an_answer_that_is_made_again_counts_as_one_use(machines: Machines) -> None:
    [hit] = machines.call("search", query="heron").body["results"]
    space = machines.here.store.space(ANA, Deadline.after(60, machines.clock))
    before = space.usage([hit["id"]])[hit["id"]].access_count
    machines.meanwhile("save", content="The heron flies over the pond.")
    machines.call("search", query="heron")
    assert space.usage([hit["id"]])[hit["id"]].access_count == before + 1


def test_where_the_log_stops_answering_the_answer_says_from_when_it_is(machines: Machines) -> None:
    def end() -> None:
        raise StoreUnreachable("The bucket of the memories does not answer; try again.", part="store")

    machines.logs.meanwhile = end
    result = machines.call("search", query="heron")
    assert _texts(result) == ["The heron waits by the pond."]
    assert result.body["outcome"]["message"].startswith("Offline: this is as of ")


def test_a_write_reads_after_the_log_has_answered(machines: Machines) -> None:
    [hit] = machines.call("search", query="heron").body["results"]
    new = {"id": hit["id"], "content": "The heron left."}
    machines.logs.meanwhile = lambda: machines.call("update", machines.elsewhere, **new)
    result = machines.call("update", id=hit["id"], tags=["birds"])
    assert result.error is None, result.error
    after = machines.call("get", id=hit["id"]).body
    assert (after["content"], after["tags"]) == ("The heron left.", ["birds"])
