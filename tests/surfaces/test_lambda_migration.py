"""The last step of a deployment over a log: everyone's tables are migrated, once nobody answers by the last release."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contracts.entries import EMBEDDER
from contracts.test_replica_migrations import NEXT, TODAY, Machines
from steeltrap.errors import Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ports import Deadline
from steeltrap.runtime.local import open_door
from steeltrap.servers.aws_lambda.upkeep import maintenance_handler
from steeltrap.settings import read_settings
from surfaces.test_lambda_index import Context, formation

USERS = ("ana", "bob")
LONGEST_CALL = 30


class Releases:
    """Functions of two releases over one log, each with a cache of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._machines = Machines(folder, patch)
        self._door = open_door(read_settings(data=folder / "unused", store="sqlite"), embedder=EMBEDDER)

    def close(self) -> None:
        self._door.store.close()

    @contextmanager
    def before(self) -> Iterator[Door]:
        """A function of the release that is deployed."""
        with self._machines.of(TODAY, "before") as store:
            yield replace(self._door, store=store)

    @contextmanager
    def after(self) -> Iterator[Door]:
        """A function of the release that joins, which works on the tables of both."""
        with self._machines.of(NEXT, "after", works_since=len(TODAY)) as store:
            yield replace(self._door, store=store)


@pytest.fixture
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Releases]:
    with closing(Releases(tmp_path, monkeypatch)) as releases:
        yield releases


def _call(door: Door, content: str) -> None:
    """Save, and find all that was saved, for everyone."""
    for user in USERS:
        for tool, arguments in (("save", {"content": content}), ("search", {"query": "heron"})):
            result = door.invoke(f"core.{tool}", arguments, Caller(UserRef(user), "default"))
            assert result.error is None, result.error


def _deploy(
    door: Door, kind: str, *, seconds: int = 900, pause: Callable[[float], None] = lambda seconds: None
) -> dict[str, Any]:
    """The answer that CloudFormation hears when it asks for the step."""
    event = {"RequestType": kind, "ResourceProperties": {"Version": "9", "LongestCall": str(LONGEST_CALL)}}
    event |= {"StackId": "stack", "RequestId": "request", "LogicalResourceId": "Tables"}
    with formation() as (url, heard):
        maintenance_handler(open=lambda: door, pause=pause)(event | {"ResponseURL": url}, Context(seconds))
    [answer] = heard
    return answer


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_calls_go_on_by_both_releases_until_the_step_and_by_the_new_one_after_it(releases: Releases, kind: str) -> None:
    waited: list[float] = []

    def while_it_waits(seconds: float) -> None:
        waited.append(seconds)
        with releases.before() as before:
            _call(before, "heron by a call that began before")

    with releases.before() as before:
        _call(before, "heron before")
    with releases.after() as after:
        _call(after, "heron by the one that joins")
        answer = _deploy(after, kind, pause=while_it_waits)
        assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"Migrated": "2", "Left": "0"})
        _call(after, "heron after")
        found = after.invoke("core.search", {"query": "heron"}, Caller(UserRef("ana"), "default"))
        assert len(found.body["results"]) == 4
    assert waited == [LONGEST_CALL]
    with releases.before() as before, pytest.raises(AssertionError, match="upgrade"):
        _call(before, "heron too late")


def test_a_new_stage_waits_for_nobody_and_one_that_goes_migrates_nobody(releases: Releases) -> None:
    with releases.after() as after:
        answer = _deploy(after, "Create", pause=lambda _: pytest.fail("nobody has memories"))
    assert answer["Data"] == {"Migrated": "0", "Left": "0"}
    with releases.before() as before:
        _call(before, "heron before")
    with releases.after() as after:
        assert _deploy(after, "Delete")["Data"] == {"Migrated": "0", "Left": "0"}
    with releases.before() as before:
        _call(before, "heron as before")


def test_who_is_not_migrated_fails_no_deployment_and_is_logged_without_a_name(
    releases: Releases, caplog: pytest.LogCaptureFixture
) -> None:
    with releases.before() as before:
        _call(before, "heron before")
    with releases.after() as after:
        assert _deploy(after, "Update", seconds=4)["Data"] == {"Migrated": "0", "Left": "2"}

        class Worn(type(after.store)):  # type: ignore[misc]
            def migrate(self, user: UserRef, deadline: Deadline) -> bool:
                if user == UserRef("ana"):
                    raise Unavailable("The log is away.", part="store")
                return bool(super().migrate(user, deadline))

        after.store.__class__ = Worn
        answer = _deploy(after, "Update")
        assert (answer["Status"], answer["Data"]) == ("SUCCESS", {"Migrated": "1", "Left": "1"})
        _call(after, "heron in either tables")
    assert "steeltrap admin migrate" in caplog.text
    assert "The log is away" in caplog.text
    assert "ana" not in caplog.text


def test_a_store_that_can_not_be_opened_fails_the_deployment_before_anybody_is_migrated(releases: Releases) -> None:
    with releases.before() as before:
        _call(before, "heron before")

    def closed() -> Door:
        raise Unavailable("The table of the memories can't be used.", part="store")

    event = {"RequestType": "Update", "StackId": "stack", "RequestId": "request", "LogicalResourceId": "Tables"}
    with formation() as (url, heard):
        maintenance_handler(open=closed)(event | {"ResponseURL": url}, Context())
    assert [(answer["Status"], answer["Reason"]) for answer in heard] == [
        ("FAILED", "The table of the memories can't be used.")
    ]
