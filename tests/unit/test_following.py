"""Following a stream: shards in their order, from the oldest record, and again what could not be taken."""

from collections.abc import Sequence
from threading import Event
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from steeltrap.errors import Unavailable
from steeltrap.stores.dynamodb.stream import Follower, Indexer


class Stream:
    """Shards of records, two a page; what is closed ends."""

    def __init__(self, shards: dict[str, list[str]], parents: dict[str, str], closed: Sequence[str] = ()) -> None:
        self.shards, self.parents, self.closed = shards, parents, closed
        self.fails: list[Exception] = []

    def describe_stream(self, *, StreamArn: str, **asked: str) -> Any:
        names = sorted(self.shards)
        first = names.index(asked["ExclusiveStartShardId"]) + 1 if asked else 0
        here = names[first : first + 2]
        told = [{"ShardId": n, **({"ParentShardId": self.parents[n]} if n in self.parents else {})} for n in here]
        more = {"LastEvaluatedShardId": here[-1]} if first + 2 < len(names) else {}
        return {"StreamDescription": {"Shards": told, **more}}

    def get_shard_iterator(
        self, *, ShardId: str, ShardIteratorType: str, SequenceNumber: str = "", **asked: str
    ) -> Any:
        records = self.shards[ShardId]
        at = 0 if ShardIteratorType == "TRIM_HORIZON" else records.index(SequenceNumber) + 1
        return {"ShardIterator": f"{ShardId} {at}"}

    def get_records(self, *, ShardIterator: str, Limit: int) -> Any:
        if self.fails:
            raise self.fails.pop()
        shard, _, at = ShardIterator.partition(" ")
        records = self.shards[shard][int(at) : int(at) + 2]
        end = int(at) + len(records)
        ended = shard in self.closed and end == len(self.shards[shard])
        page = {"Records": [{"dynamodb": {"SequenceNumber": each}} for each in records]}
        return page if ended else {**page, "NextShardIterator": f"{shard} {end}"}


class Taking:
    def __init__(self) -> None:
        self.taken: list[str] = []
        self.refuses = 0

    def take(self, records: Sequence[Any]) -> list[str]:
        places = [record["dynamodb"]["SequenceNumber"] for record in records]
        if self.refuses:
            self.refuses -= 1
            return places[1:]
        self.taken += places
        return []


def _follower(stream: Stream, taking: Taking) -> Follower:
    return Follower(stream, "arn", cast(Indexer, taking))


def _lost(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "GetRecords")


def test_everything_is_taken_and_parents_come_before_their_children() -> None:
    stream = Stream({"a": ["5", "6"], "b": ["1", "2", "3"], "c": ["4"]}, {"c": "b", "a": "c"}, closed=["b", "c"])
    taking = Taking()
    assert _follower(stream, taking).drain() == 6
    assert taking.taken == ["1", "2", "3", "4", "5", "6"]


def test_a_shard_whose_parent_is_gone_is_read() -> None:
    taking = Taking()
    _follower(Stream({"a": ["1"]}, {"a": "trimmed"}), taking).drain()
    assert taking.taken == ["1"]


def test_what_came_later_is_taken_by_the_next_look_once() -> None:
    stream = Stream({"a": ["1"]}, {})
    taking = Taking()
    follower = _follower(stream, taking)
    follower.drain()
    stream.shards["a"] += ["2", "3"]
    assert follower.drain() == 2
    assert taking.taken == ["1", "2", "3"]


def test_what_can_not_be_indexed_now_is_said_and_comes_again() -> None:
    stream = Stream({"a": ["1", "2"]}, {})
    taking = Taking()
    taking.refuses = 1
    follower = _follower(stream, taking)
    with pytest.raises(Unavailable, match="1 of 2 changes"):
        follower.drain()
    follower.drain()
    assert taking.taken == ["1", "2"]


@pytest.mark.parametrize("code", ["ExpiredIteratorException", "TrimmedDataAccessException"])
def test_a_place_that_was_lost_is_found_again(code: str) -> None:
    stream = Stream({"a": ["1", "2", "3"]}, {})
    taking = Taking()
    follower = _follower(stream, taking)
    follower.drain()
    stream.shards["a"].append("4")
    stream.fails = [_lost(code)]
    follower.drain()
    assert taking.taken[-1] == "4"
    assert taking.taken[:3] == ["1", "2", "3"]


@pytest.mark.parametrize("error", [EndpointConnectionError(endpoint_url="x"), _lost("InternalServerError")])
def test_a_stream_that_does_not_answer_is_unavailable_and_followed_on(error: Exception) -> None:
    stream = Stream({"a": ["1"]}, {})
    taking = Taking()
    follower = _follower(stream, taking)
    stream.fails = [error]
    with pytest.raises(Unavailable):
        follower.drain()
    stream.fails = [error]

    class Stop(Event):
        def wait(self, timeout: float | None = None) -> bool:
            if taking.taken:
                self.set()
            return self.is_set()

    follower.follow(Stop())
    assert taking.taken == ["1"]


def test_following_ends_with_what_no_retry_helps() -> None:
    stream = Stream({"a": ["1"]}, {})
    stream.fails = [_lost("AccessDeniedException")]
    with pytest.raises(Unavailable, match="permissions"):
        _follower(stream, Taking()).follow(Event())
