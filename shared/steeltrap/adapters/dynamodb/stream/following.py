"""Following the memory table's stream without Lambda: for containers, by one process.

Shards are read in their order, parents before children, from the oldest record that is kept: what the index has
already does no harm, so no place is written down.
"""

import logging
import threading
from collections.abc import Iterator
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ....errors import IndexUnavailable, Unavailable
from ...aws_client import code_of
from ..client.errors import translate
from .indexing import Indexer

_log = logging.getLogger("steeltrap")

_LIMIT: Final = 500
_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_EMPTY_PASSES: Final = 2
"""An open shard may answer nothing once and something the next time."""
_LOST: Final = frozenset({"ExpiredIteratorException", "TrimmedDataAccessException"})


class Follower:
    """Passes the records of the stream `arn` to an indexer. `streams` is boto3's client of DynamoDB Streams."""

    def __init__(self, streams: Any, arn: str, indexer: Indexer) -> None:
        self._streams = streams
        self._arn = arn
        self._indexer = indexer
        self._iterators: dict[str, str] = {}
        self._done: set[str] = set()
        self._last: dict[str, str] = {}

    def follow(self, stop: threading.Event) -> None:
        """Go on until `stop` is set. What fails for now is tried again, and said in the log.

        Raises Unavailable for what no retry helps, such as permissions.
        """
        pause = _PAUSE_SECONDS
        while not stop.is_set():
            try:
                taken = self._pass()
                pause = _PAUSE_SECONDS
            except Unavailable as error:
                if not error.can_retry:
                    raise
                _log.warning("following the stream: %s", error.message)
                taken, pause = 0, min(2 * pause, _LONGEST_PAUSE)
            if not taken:
                stop.wait(pause)

    def drain(self) -> int:
        """Take what there is; how many records that was. Raises Unavailable when some can't be taken now."""
        total = empty = 0
        while empty < _EMPTY_PASSES:
            taken = self._pass()
            total += taken
            empty = 0 if taken else empty + 1
        return total

    def _pass(self) -> int:
        """A look at every shard whose turn it is; how many records it had."""
        try:
            return sum(self._read(shard) for shard in self._shards())
        except (BotoCoreError, ClientError) as error:
            translated = translate(error)
            raise Unavailable(translated.message, retryable=translated.can_retry, part="store") from None

    def _shards(self) -> Iterator[str]:
        """The shards that are not read to their end and whose parent is."""
        shards: list[Any] = []
        asked: dict[str, str] = {}
        while True:
            stream = self._streams.describe_stream(StreamArn=self._arn, **asked)["StreamDescription"]
            shards += stream["Shards"]
            if "LastEvaluatedShardId" not in stream:
                break
            asked = {"ExclusiveStartShardId": stream["LastEvaluatedShardId"]}
        known = {shard["ShardId"] for shard in shards}
        self._done &= known
        for shard in shards:
            if shard["ShardId"] in self._done:
                continue
            parent = shard.get("ParentShardId")
            if parent not in known or parent in self._done:
                yield shard["ShardId"]

    def _read(self, shard: str) -> int:
        """One page of a shard. Raises Unavailable when it has to come again."""
        iterator = self._iterators.get(shard) or self._start(shard)
        try:
            page = self._streams.get_records(ShardIterator=iterator, Limit=_LIMIT)
        except ClientError as error:
            if code_of(error) not in _LOST:
                raise
            self._iterators.pop(shard, None)
            if code_of(error) == "TrimmedDataAccessException":
                self._last.pop(shard, None)
            return 0
        records = page["Records"]
        if records and (again := self._indexer.take(records)):
            self._iterators[shard] = iterator
            raise IndexUnavailable(f"{len(again)} of {len(records)} changes can't be indexed now.", part="index")
        if records:
            self._last[shard] = records[-1]["dynamodb"]["SequenceNumber"]
        if following := page.get("NextShardIterator"):
            self._iterators[shard] = following
        else:
            self._iterators.pop(shard, None)
            self._done.add(shard)
        return len(records)

    def _start(self, shard: str) -> str:
        last = self._last.get(shard)
        where: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if last is not None:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}
        found = self._streams.get_shard_iterator(StreamArn=self._arn, ShardId=shard, **where)
        return str(found["ShardIterator"])
