"""A client's view through every dialect when DynamoDB or the embedder fails, and when two agents meet."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from cloud import Cloud, cloud
from contracts.memory_index import MemoryIndex
from embedding import HashedWords
from faults.doors import ANA, answer
from spaces import in_time
from steeltrap.errors import Conflict, Throttled, Unavailable
from steeltrap.invoke import Door
from unruly import raising

__all__ = ["cloud"]


@pytest.fixture
def door(cloud: Cloud) -> Door:
    return cloud.door(MemoryIndex(), told=True)


def _refusal(code: str, status: int = 400) -> Callable[[], Exception]:
    answered: Any = {"Error": {"Code": code, "Message": "heron"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return lambda: ClientError(answered, "PutItem")


def _nobody() -> Exception:
    return EndpointConnectionError(endpoint_url="http://nobody")


def _silence() -> Exception:
    return ReadTimeoutError(endpoint_url="http://nobody")


_PERMANENT = {
    "throttled": _refusal("ProvisionedThroughputExceededException"),
    "broken": _refusal("InternalServerError", 500),
    "down": _nobody,
    "silent": _silence,
}


@pytest.mark.parametrize("error", _PERMANENT.values(), ids=_PERMANENT)
def test_what_lasts_is_an_error_that_may_be_tried_again_and_never_an_empty_answer(
    cloud: Cloud, door: Door, error: Callable[[], Exception]
) -> None:
    id = answer(door, "core.save", content="The heron fishes at dawn")["id"]
    before = answer(door, "core.export")
    cloud.unruly.always["*"] = raising(error)
    for tool, arguments in (
        ("core.save", {"content": "The otter sleeps"}),
        ("core.update", {"id": id, "content": "The heron sleeps"}),
        ("core.delete", {"id": id}),
        ("core.forget", {"id": id}),
        ("core.search", {"query": "heron"}),
        ("core.get", {"id": id}),
        ("core.list", {}),
        ("core.stats", {}),
        ("core.export", {}),
        ("notes.memory_search", {"query": "heron"}),
        ("records.memory_list", {}),
    ):
        refused = door.invoke(tool, arguments, ANA).error
        assert isinstance(refused, Throttled | Unavailable), tool
        assert refused.can_retry, tool
        assert "heron" not in refused.message
    cloud.unruly.always.clear()
    assert answer(door, "core.export") == before
    assert answer(door, "core.search", query="heron")["results"][0]["id"] == id


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "AccessDeniedException", "ExpiredTokenException"])
def test_what_somebody_has_to_set_right_is_told_at_once(cloud: Cloud, door: Door, code: str) -> None:
    cloud.unruly.always["*"] = raising(_refusal(code))
    refused = door.invoke("core.save", {"content": "The heron fishes"}, ANA).error
    assert isinstance(refused, Unavailable)
    assert not refused.can_retry
    assert cloud.clock.slept == 0.0


def test_of_two_agents_that_change_one_memory_one_is_told_of_the_other(cloud: Cloud) -> None:
    index = MemoryIndex()
    one, other = cloud.door(index, told=True), cloud.door(index, told=True)
    id = answer(one, "core.save", content="The heron fishes at dawn")["id"]
    changed: list[Any] = []

    def meanwhile(operation: str, request: Any) -> None:
        if operation == "transact_write_items" and not changed:
            changed.append(None)
            changed.append(answer(other, "core.update", id=id, content="The heron sleeps", version=1))

    cloud.unruly.before = meanwhile
    refused = one.invoke("core.update", {"id": id, "content": "The heron swims", "version": 1}, ANA).error
    assert isinstance(refused, Conflict)
    assert refused.details["version"] == 2
    assert answer(one, "core.get", id=id)["content"] == "The heron sleeps"
    assert answer(one, "core.update", id=id, content="The heron swims", version=2)["version"] == 3
    assert len(answer(one, "core.history", id=id)["revisions"]) == 3


@pytest.mark.parametrize("state", ["stuck", "broken"])
def test_an_embedder_that_fails_leaves_nothing_written(cloud: Cloud, state: Literal["stuck", "broken"]) -> None:
    embedder = HashedWords()
    door = cloud.door(MemoryIndex(), embedder=embedder, told=True)
    id = answer(door, "core.save", content="The heron fishes at dawn")["id"]
    before = answer(door, "core.export")
    embedder.state = state
    for tool, arguments in (
        ("core.save", {"content": "new"}),
        ("core.update", {"id": id, "content": "changed"}),
        ("core.append_messages", {"messages": [{"role": "user", "content": "said"}]}),
    ):
        refused = door.invoke(tool, arguments, ANA).error
        assert isinstance(refused, Unavailable), tool
        assert refused.can_retry, tool
    assert answer(door, "core.export") == before
    assert isinstance(door.invoke("core.search", {"query": "heron"}, ANA).error, Unavailable)
    assert answer(door, "core.search", query="heron", mode="keyword")["results"][0]["id"] == id
    assert answer(door, "core.get", id=id)["content"] == "The heron fishes at dawn"


def test_the_reads_of_one_call_share_its_time(cloud: Cloud, door: Door) -> None:
    id = answer(door, "core.save", content="the heron")["id"]
    space = door.store.space(ANA.user, in_time(4, cloud.clock))

    def slowly(call: Callable[..., Any], request: dict[str, Any]) -> Any:
        cloud.clock.sleep(3)
        return call(**request)

    cloud.unruly.always["*"] = slowly
    for _ in range(2):
        assert list(space.get([id])) == [id]
    with pytest.raises(Unavailable, match="longer than 4 s"):
        space.get([id])
