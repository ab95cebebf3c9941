"""The composition root for AWS: DynamoDB stores, OpenSearch searches. `runtime.local` and `bench` call it.

Default addresses are AWS's own. Region and credentials are found as in every AWS client.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput, NotFound, Unavailable
from ..ports import Calibrating, Clock, Counters, DeadLetter, Embedder, IndexUpkeep, MemoryStore, Truth
from ..settings import Settings
from ..stores.dynamodb import DynamoCounters, DynamoStore, create_tables
from ..stores.dynamodb.client import READ_SECONDS, Connect, Tables, translate
from ..stores.dynamodb.documents import DynamoTruth
from ..stores.dynamodb.searching import REFRESH_EVERY
from ..stores.dynamodb.store import connecting
from ..stores.dynamodb.stream import DeadLetterQueue, Follower, Indexer
from ..stores.dynamodb.users import DynamoLevels
from ..stores.opensearch import Indices, OpenSearch, OpenSearchIndex, OpenSearchUpkeep, connect_index
from . import SystemClock

_log = logging.getLogger("steeltrap")


def open_store(settings: Settings, embedder: Embedder, clock: Clock) -> DynamoStore:
    """The store of tables, with its index. Makes no request yet."""
    client = open_index(settings)
    index = OpenSearchIndex(client, Indices(client, settings.opensearch_index, clock))
    tables = (settings.memory_table, settings.usage_table)
    store = DynamoStore(*tables, embedder, clock, index, connect=connect(settings), at_close=client.close)
    if isinstance(embedder, Calibrating):
        # Else each new function has the model embed 60 texts before its first save.
        embedder.share_levels(DynamoLevels(store.tables))
    return store


def open_counters(store: MemoryStore) -> Counters:
    """The counters in the tables of a store, by its own connections."""
    assert isinstance(store, DynamoStore)
    return DynamoCounters(store.tables)


@dataclass(frozen=True, slots=True)
class Following:
    """Updates the index from the table's stream: given records, or everything that the stream has."""

    indexer: Indexer
    tables: Tables
    client: OpenSearch
    indices: Indices
    settings: Settings

    def take(self, records: Sequence[Any], *, timeout: float) -> list[str]:
        """Process records; return the sequence numbers of those to retry."""
        return self.indexer.take(records, timeout=timeout)

    def drain(self) -> int:
        """Process the whole stream, so that searches find all of it; return the number of records.

        Raises NotFound without a stream, Unavailable.
        """
        count = self._follower().drain()
        self.indices.refresh()
        return count

    def follow(self, stop: threading.Event) -> None:
        """Process the stream until `stop` is set. Raises NotFound without a stream, Unavailable."""
        self._follower().follow(stop)

    def close(self) -> None:
        self.tables.close()
        self.client.close()

    def _follower(self) -> Follower:
        import boto3

        request = {"TableName": self.tables.memory}
        answer = self.tables.call("describe_table", request, self.tables.within(READ_SECONDS))
        arn = answer["Table"].get("LatestStreamArn")
        if arn is None:
            raise NotFound(
                f"The table {self.tables.memory} has no stream; run `aws dynamodb update-table --table-name "
                f"{self.tables.memory} --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES`."
            )
        return Follower(boto3.session.Session().client("dynamodbstreams", **_options(self.settings)), arn, self.indexer)


def open_indexer(settings: Settings) -> Following:
    """Open the indexer. It needs no embedder, because the table has the vectors."""
    client = open_index(settings)
    tables = _tables(settings)
    indices = Indices(client, settings.opensearch_index, SystemClock())
    index = OpenSearchIndex(client, indices, refresh_every=REFRESH_EVERY)
    return Following(Indexer(tables, index, _dead_letters(settings)), tables, client, indices, settings)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Both sides, as maintenance sees them."""

    truth: Truth
    index: IndexUpkeep
    close: Callable[[], None]


def open_upkeep(settings: Settings, embedder: Embedder) -> Upkeep:
    """The table and the index for an index that fits the embedder."""
    client = open_index(settings)
    tables = _tables(settings)

    def close() -> None:
        tables.close()
        client.close()

    index = OpenSearchUpkeep(
        client,
        settings.opensearch_index,
        SystemClock(),
        embedder=embedder.name,
        dimension=embedder.dimension,
        engine=settings.opensearch_engine,
        settings=_index_settings(settings),
    )
    return Upkeep(DynamoTruth(tables), index, close)


def _index_settings(settings: Settings) -> dict[str, str | int]:
    """Both are named always, since a managed domain has other defaults."""
    return {"number_of_shards": settings.opensearch_shards, "refresh_interval": settings.opensearch_refresh}


def set_up(settings: Settings, embedder: Embedder, *, expire: bool = True) -> list[str]:
    """Create the tables and the first index if missing; return the names of those created.

    `expire` enables DynamoDB's time to live. Raises Unavailable.
    """
    from botocore.exceptions import BotoCoreError, ClientError, WaiterError

    names: list[str] = []
    try:
        with closing(connect(settings)(READ_SECONDS)) as client:
            missing = [name for name in (settings.memory_table, settings.usage_table) if not has_table(client, name)]
            if missing:
                create_tables(client, settings.memory_table, settings.usage_table, only=missing, expire=expire)
                names += missing
    except WaiterError:
        raise Unavailable("The tables were created but are not ready yet; try again.", part="store") from None
    except (BotoCoreError, ClientError) as error:
        raise translate(error) from None
    upkeep = open_upkeep(settings, embedder)
    try:
        if upkeep.index.create():
            names.append(settings.opensearch_index)
    finally:
        upkeep.close()
    return names


def has_table(client: Any, table: str) -> bool:
    """Whether DynamoDB has a table of this name."""
    try:
        client.describe_table(TableName=table)
    except client.exceptions.ResourceNotFoundException:
        return False
    return True


def _tables(settings: Settings) -> Tables:
    return Tables(connect(settings), settings.memory_table, settings.usage_table, SystemClock())


def connect(settings: Settings) -> Connect:
    """Makes clients of DynamoDB at the address that the settings name."""
    return connecting(**_options(settings))


def _options(settings: Settings) -> dict[str, Any]:
    return {"endpoint_url": settings.dynamodb_url} if settings.dynamodb_url else {}


def open_index(settings: Settings) -> OpenSearch:
    """A client of OpenSearch whose requests are signed as the settings say. Raises InvalidInput."""
    if not settings.opensearch_url:
        raise InvalidInput("STEELTRAP_OPENSEARCH_URL is not set; STEELTRAP_STORE=aws needs the URL of OpenSearch.")
    return connect_index(settings.opensearch_url, **signing(settings))


def signing(settings: Settings) -> dict[str, Any]:
    """The region and the credentials that requests to OpenSearch are signed with; {} where none are signed.

    Raises InvalidInput.
    """
    if settings.opensearch_auth == "none":
        return {}
    # boto3's session would only import more.
    from botocore.session import get_session

    session = get_session()
    region, credentials = session.get_config_variable("region"), session.get_credentials()
    if region is None:
        raise InvalidInput("STEELTRAP_OPENSEARCH_AUTH=es needs a region; set AWS_DEFAULT_REGION.")
    if credentials is None:
        raise InvalidInput(
            "STEELTRAP_OPENSEARCH_AUTH=es needs AWS credentials; set a profile, a role or AWS_ACCESS_KEY_ID."
        )
    return {"region": region, "credentials": credentials}


def _dead_letters(settings: Settings) -> Callable[[DeadLetter], None]:
    if not settings.index_dead_letter_queue:
        return _log_dead_letter
    return DeadLetterQueue(settings.index_dead_letter_queue)


def _log_dead_letter(letter: DeadLetter) -> None:
    facts = (letter.id, letter.index_version, letter.user, letter.error)
    _log.error("the index permanently rejects memory %s, version %s, of user %s: %s", *facts)
