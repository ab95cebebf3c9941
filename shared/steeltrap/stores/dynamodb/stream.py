"""From the memory table's stream into a search index, in a function or in a container.

When a batch fails at one change, the stream sends that change and all later ones again. So only changes that may
succeed later are reported; a change that the index permanently rejects goes to the dead-letter queue, without its
text: a replay reads the table. Changes may arrive in any order and more than once; the newest version wins.

Shards are read in their order, parents before children, from the oldest record that is kept: what the index has
already does no harm, so no place is written down.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ...aws_client import code_of
from ...errors import IndexUnavailable, SteeltrapError, Unavailable
from ...ports import DeadLetter, Deadline, Document, Index, Tombstone
from . import keys
from .client import Tables, translate
from .documents import document_from

Change = tuple[str, Document | Tombstone]
"""A change's sequence number in its stream, and what to write."""


def write_changes(
    index: Index, changes: Sequence[Change], *, send_dead_letter: Callable[[DeadLetter], None], deadline: Deadline
) -> list[str]:
    """Write changes; return the sequence numbers of those to retry, in order.

    `send_dead_letter` takes what the index permanently rejects; if it fails, the change is retried.
    """
    newest: dict[tuple[str, str], int] = {}
    for at, (_, document) in enumerate(changes):
        key = (document.user, document.id)
        if key not in newest or document.index_version >= changes[newest[key]][1].index_version:
            newest[key] = at
    positions = sorted(newest.values())
    try:
        refused = index.write([changes[at][1] for at in positions], deadline)
    except SteeltrapError as error:
        if error.can_retry:
            return [place for place, _ in changes]
        refused = dict.fromkeys(range(len(positions)), error)
    again = {
        positions[at]
        for at, error in refused.items()
        if not _is_done(changes[positions[at]][1], error, send_dead_letter)
    }
    return [place for at, (place, _) in enumerate(changes) if at in again]


def _is_done(
    document: Document | Tombstone, error: SteeltrapError, send_dead_letter: Callable[[DeadLetter], None]
) -> bool:
    if error.can_retry:
        return False
    reason = str(error.details.get("reason") or error.code)
    letter = DeadLetter(user=document.user, id=document.id, index_version=document.index_version, error=reason)
    try:
        send_dead_letter(letter)
    except SteeltrapError:
        return False
    return True


_log = logging.getLogger("steeltrap")

_FETCH_SECONDS: Final = 10.0
UNREADABLE: Final = "unreadable"


class Indexer:
    """Writes the stream's records to an index. Repeated records, and records out of order, do no harm.

    `send_dead_letter` takes a change that the index permanently rejects or that can't be read. If it fails, the change
    is retried.
    """

    def __init__(self, tables: Tables, index: Index, send_dead_letter: Callable[[DeadLetter], None]) -> None:
        self._tables = tables
        self._index = index
        self._send_dead_letter = send_dead_letter

    def take(self, records: Sequence[Mapping[str, Any]], *, timeout: float = 30.0) -> list[str]:
        """Write records; return the sequence numbers of those to retry, in order.

        Raises nothing when the index, the table or the queue reject something.
        """
        deadline = self._tables.within(timeout)
        places = [str(record["dynamodb"]["SequenceNumber"]) for record in records]
        changes: list[Change] = []
        again: set[str] = set()
        for place, record in zip(places, records, strict=True):
            if not deadline.before():
                again.add(place)
                continue
            try:
                document = document_from(self._tables, record, deadline.within(_FETCH_SECONDS))
                if document is not None:
                    changes.append((place, document))
            except Exception as error:  # a record that can't be read must not block those after it
                passing = isinstance(error, SteeltrapError) and error.can_retry
                if passing or not self._is_queued(record, type(error).__name__):
                    again.add(place)
        if changes:
            again.update(
                write_changes(self._index, changes, send_dead_letter=self._send_dead_letter, deadline=deadline)
            )
        return [place for place in places if place in again]

    def _is_queued(self, record: Mapping[str, Any], kind: str) -> bool:
        change = record["dynamodb"]
        image = change.get("NewImage") or change.get("OldImage") or {}
        letter = DeadLetter(
            user=_text(change, "u"),
            id=keys.id_of(_text(change, "k")),
            index_version=_version(image),
            error=f"{UNREADABLE} ({kind})",
        )
        try:
            self._send_dead_letter(letter)
        except SteeltrapError as error:
            _log.warning("a change could not be sent to the dead-letter queue: %s", error.message)
            return False
        return True


def _text(change: Mapping[str, Any], name: str) -> str:
    value = change.get("Keys", {}).get(name, {})
    return str(value.get("S", "")) if isinstance(value, Mapping) else ""


def _version(image: Mapping[str, Any]) -> int:
    value = image.get("w")
    digits = str(value.get("N", "")) if isinstance(value, Mapping) else ""
    return int(digits) if digits.isdigit() else 0


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
        self._finished_shards: set[str] = set()
        self._last: dict[str, str] = {}

    def follow(self, stop: threading.Event) -> None:
        """Go on until `stop` is set. What fails for now is tried again, and said in the log.

        Raises Unavailable for what no retry helps, such as permissions.
        """
        pause = _PAUSE_SECONDS
        while not stop.is_set():
            try:
                count = self._pass()
                pause = _PAUSE_SECONDS
            except Unavailable as error:
                if not error.can_retry:
                    raise
                _log.warning("following the stream: %s", error.message)
                count, pause = 0, min(2 * pause, _LONGEST_PAUSE)
            if not count:
                stop.wait(pause)

    def drain(self) -> int:
        """Take what there is; how many records that was. Raises Unavailable when some can't be taken now."""
        total = empty = 0
        while empty < _EMPTY_PASSES:
            count = self._pass()
            total += count
            empty = 0 if count else empty + 1
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
        start: dict[str, str] = {}
        while True:
            stream = self._streams.describe_stream(StreamArn=self._arn, **start)["StreamDescription"]
            shards += stream["Shards"]
            if "LastEvaluatedShardId" not in stream:
                break
            start = {"ExclusiveStartShardId": stream["LastEvaluatedShardId"]}
        shard_ids = {shard["ShardId"] for shard in shards}
        self._finished_shards &= shard_ids
        for shard in shards:
            if shard["ShardId"] in self._finished_shards:
                continue
            parent = shard.get("ParentShardId")
            if parent not in shard_ids or parent in self._finished_shards:
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
            self._finished_shards.add(shard)
        return len(records)

    def _start(self, shard: str) -> str:
        last = self._last.get(shard)
        where: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if last is not None:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}
        answer = self._streams.get_shard_iterator(StreamArn=self._arn, ShardId=shard, **where)
        return str(answer["ShardIterator"])


_QUEUE_SECONDS: Final = 3.0


class DeadLetterQueue:
    """The dead-letter queue of the indexer: SQS's, at a URL. `options` are boto3's (region_name, endpoint_url,
    credentials)."""

    def __init__(self, url: str, **options: Any) -> None:
        self._url = url
        self._options = options
        self._client: Any = None
        self._lock = threading.Lock()

    def __call__(self, letter: DeadLetter) -> None:
        """Send one. Raises Unavailable."""
        try:
            self._opened().send_message(QueueUrl=self._url, MessageBody=json.dumps(asdict(letter)))
        except (BotoCoreError, ClientError) as error:
            kind = type(error).__name__
            raise Unavailable(f"The dead-letter queue does not answer ({kind}).", part="queue") from None

    def _opened(self) -> Any:
        import boto3
        from botocore.config import Config

        with self._lock:
            if self._client is None:
                config = Config(connect_timeout=1, read_timeout=_QUEUE_SECONDS, retries={"total_max_attempts": 2})
                self._client = boto3.session.Session().client("sqs", config=config, **self._options)
        return self._client
