"""Tables, an index and the indexer between them on the real parts, and one user's memories there.

The index refreshes every 30 s and forgets what it deleted at once; nothing reaches it but by the records of the
table's stream that a test hands over.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

import boto3
import pytest

from asking import send_to_index
from clock import SettableClock
from components import dynamodb_url, opensearch_url
from contracts.dynamodb_stores import local
from contracts.entries import delete, embed, memory, save, search, update
from contracts.entries import found as ids_of
from embedding import HashedWords
from spaces import space_of
from steeltrap.engine.upkeep import counted, verify
from steeltrap.model import UserRef
from steeltrap.ports import Document, Space
from steeltrap.runtime import SystemClock
from steeltrap.runtime import aws as runtime_aws
from steeltrap.settings import Settings
from steeltrap.stores.dynamodb.documents import DynamoTruth
from steeltrap.stores.opensearch import OpenSearchUpkeep

SECONDS = 60.0
ONE_NODE = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "30s", "gc_deletes": "1ms"}
NOWHERE = "http://127.0.0.1:9"
_numbers = count()

Records = list[dict[str, Any]]


@dataclass
class RealParts:
    """Tables and an index of their own for this module."""

    settings: Settings
    embedder: HashedWords
    upkeep: OpenSearchUpkeep
    streams: Any
    arn: str

    def records(self, user: str) -> Records:
        """All that the stream says of one user, in order."""
        shards = self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]
        found: Records = []
        for shard in shards:
            asked = {"StreamArn": self.arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            place = self.streams.get_shard_iterator(**asked)["ShardIterator"]
            while place and (page := self.streams.get_records(ShardIterator=place))["Records"]:
                found += page["Records"]
                place = page.get("NextShardIterator")
        return [record for record in found if record["dynamodb"]["Keys"]["u"]["S"] == user]


@dataclass
class Home:
    """One user's memories in those parts, nobody else's."""

    parts: RealParts
    name: str
    clock: SettableClock
    store: Any
    following: runtime_aws.Following

    @property
    def user(self) -> UserRef:
        return UserRef(self.name)

    @property
    def key(self) -> str:
        return self.user.key

    @property
    def space(self) -> Space:
        return space_of(self.store, self.name)  # type: ignore[no-any-return]

    @property
    def truth(self) -> DynamoTruth:
        return DynamoTruth(self.store.tables, block=2)

    def records(self) -> Records:
        return self.parts.records(self.key)

    def of(self, id: str) -> Records:
        """The records of one memory."""
        return [record for record in self.records() if record["dynamodb"]["Keys"]["k"]["S"] == f"m#{id}"]

    def take(self, records: Sequence[Any]) -> list[str]:
        return self.following.take(records, timeout=SECONDS)

    def held(self) -> dict[str, bool]:
        """Whether the index has more than a tombstone of each id."""
        self.parts.upkeep.refresh()
        return {id: held.is_there for id, held in self.parts.upkeep.held(self.key).items()}

    def found_by_the_index(self, text: str) -> set[str]:
        """The results of a search when nothing is recent."""
        self.parts.upkeep.refresh()
        return self.found_without_refresh(text)

    def found_without_refresh(self, text: str) -> set[str]:
        """The results of a search when nothing is recent, before the index is refreshed by its interval."""
        self.clock.advance(minutes=6)
        return ids_of(search(self.space, text))

    def differences(self) -> dict[str, int]:
        kinds = counted(verify(self.truth, self.parts.upkeep, [self.user], pause=lambda seconds: None))
        return {kind: number for kind, number in kinds.items() if number}


@contextmanager
def opened_parts(embedder: HashedWords, index_settings: Mapping[str, Any]) -> Iterator[RealParts]:
    """Tables and an index that are gone in the end."""
    name = f"indexing-{uuid4().hex[:12]}"
    settings = Settings(
        store="aws",
        memory_table=name,
        usage_table=f"{name}-usage",
        dynamodb_url=dynamodb_url(),
        opensearch_url=opensearch_url(),
        opensearch_index=name,
    )
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in (
            ("ACCESS_KEY_ID", "test"),
            ("SECRET_ACCESS_KEY", "test"),
            ("DEFAULT_REGION", "us-east-1"),
        ):
            patch.setenv(f"AWS_{variable}", value)
        # DynamoDB Local is slow where a machine has much to do, and no test here is about that.
        patch.setattr(runtime_aws, "connect", lambda settings: local(settings.dynamodb_url))
        client_of_index = runtime_aws.open_index(settings)
        upkeep = OpenSearchUpkeep(
            client_of_index,
            name,
            SystemClock(),
            embedder=embedder.name,
            dimension=embedder.dimension,
            settings=index_settings,
        )
        assert upkeep.create()
        # The tests' time is long ago: what expires a month later by it would go at once.
        assert runtime_aws.set_up(settings, embedder, expire=False) == [name, f"{name}-usage"]
        assert runtime_aws.set_up(settings, embedder) == []
        client = boto3.client("dynamodb", endpoint_url=settings.dynamodb_url)
        streams = boto3.client("dynamodbstreams", endpoint_url=settings.dynamodb_url)
        arn = client.describe_table(TableName=name)["Table"]["LatestStreamArn"]
        yield RealParts(settings, embedder, upkeep, streams, arn)
        for table in (name, f"{name}-usage"):
            client.delete_table(TableName=table)
        for path in (f"/{name}-*", f"/_index_template/{name}"):
            send_to_index(client_of_index, "DELETE", path, timeout=SECONDS)
        client.close()
        streams.close()
        client_of_index.close()


@contextmanager
def opened_home(parts: RealParts, clock: SettableClock, name: str | None = None) -> Iterator[Home]:
    """A user of some parts, under a name that nobody had or a chosen one."""
    store = runtime_aws.open_store(parts.settings, parts.embedder, clock)
    following = runtime_aws.open_indexer(parts.settings)
    yield Home(parts, name or f"user-{next(_numbers)}", clock, store, following)
    following.close()
    store.close()


def story(home: Home) -> dict[str, bool]:
    """Some memories, some of them changed, deleted, forgotten; which of them are still there."""
    kept, changed, deleted, forgotten = (save(home.space, f"the heron saw {what}") for what in "abcd")
    home.clock.advance(seconds=1)
    changed = update(home.space, changed, content="the otter swims", updated_at=home.clock.now())
    update(home.space, changed, content="the otter dives", updated_at=home.clock.now())
    delete(home.space, deleted, home.clock.now())
    home.space.purge([forgotten.id])
    return {kept.id: True, changed.id: True, deleted.id: False, forgotten.id: False}


def document(user: str, id: str) -> Document:
    return Document(user=user, index_version=1, memory=memory("x", id=id), tokens=("x",), embeddings=embed("x"))
