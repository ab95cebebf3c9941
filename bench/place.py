"""Where a benchmark keeps its memories: gone when it ends."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from steeltrap.engine.importing import import_drafts
from steeltrap.importers.running import BLOCK_ITEMS
from steeltrap.invoke import Door
from steeltrap.model import Caller, Draft
from steeltrap.ports import Document, TextKey, Tombstone
from steeltrap.runtime import SystemClock, aws
from steeltrap.runtime import local as runtime
from steeltrap.servers.process.logs import log_to_stderr
from steeltrap.settings import Settings, read_settings
from steeltrap.stores.dynamodb.client import READ_SECONDS, translate
from steeltrap.stores.opensearch import Indices

from .stores import Store

if TYPE_CHECKING:
    from .index_baseline import IndexBaseline

_IMPORT_SECONDS: Final = 120.0
SETTLED: Final = timedelta(minutes=10)
"""How long ago it is, once it is settled, that something was written: longer than any store looks at latest writes."""


@dataclass(frozen=True, slots=True)
class Place:
    """A door, the settings that opened it, and `settle`, after which all that was written is in the index alone.

    `baseline` is the same index without steeltrap; None on SQLite.
    """

    door: Door
    settings: Settings
    settle: Callable[[], None]
    baseline: "IndexBaseline | None" = None


class LaterClock(SystemClock):
    """The computer's clock, set ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead


@contextmanager
def opened(folder: Path, store: Store, *, embedder: str | None = None) -> Iterator[Place]:
    """An empty store: in a folder, or with tables and an index of its own on the parts that the settings name.

    `embedder` None takes the one that the settings name.
    """
    if store is not Store.AWS:
        name = (folder / "log").resolve().as_uri() if store is Store.FILE else store.value
        settings = read_settings(data=folder, store=name, embedder=embedder)
        log_to_stderr(settings.log)
        door = runtime.open_door(settings)
        try:
            yield Place(door, settings, lambda: None)
        finally:
            door.store.close()
        return
    settings = _apart(folder, embedder)
    log_to_stderr(settings.log)
    model = runtime.open_embedder(settings)
    runtime.set_up(settings, model)
    following = runtime.open_indexer(settings)
    upkeep = runtime.open_upkeep(settings, model)

    clock = LaterClock()

    def settle() -> None:
        following.drain()
        upkeep.index.refresh()
        clock.ahead += SETTLED

    def documents(user: str) -> list[Document | Tombstone]:
        return list(upkeep.truth.documents(user))

    try:
        door = runtime.open_door(settings, embedder=model, clock=clock)
        from .index_baseline import IndexBaseline, Requests

        requests = Requests(settings.opensearch_url, settings.opensearch_index, aws.signing(settings))
        baseline = IndexBaseline(requests, door.embedder, documents)
        try:
            yield Place(door, settings, settle, baseline)
        finally:
            door.store.close()
    finally:
        following.close()
        upkeep.close()
        _tear_down(settings)


def fill(
    door: Door, caller: Caller, drafts: Sequence[Draft], advance: Callable[[int], None] = lambda total: None
) -> int:
    """Import in blocks, as the command line does; return the number written. `advance` is called after each block."""
    counts: Counter[TextKey] = Counter()
    total = 0
    for start in range(0, len(drafts), BLOCK_ITEMS):
        block = drafts[start : start + BLOCK_ITEMS]
        total += import_drafts(door.call_for(caller, seconds=_IMPORT_SECONDS), block, counts).written
        advance(total)
    return total


def _apart(folder: Path, embedder: str | None) -> Settings:
    name = f"steeltrap-bench-{os.getpid()}"
    return read_settings(
        data=folder,
        store=Store.AWS.value,
        embedder=embedder,
        memory_table=name,
        usage_table=f"{name}-usage",
        opensearch_index=name,
    )


def _tear_down(settings: Settings) -> None:
    """Remove tables and indices, those that are there. Raises Unavailable."""
    from botocore.exceptions import BotoCoreError, ClientError

    client = aws.connect(settings)(READ_SECONDS)
    try:
        for name in (settings.memory_table, settings.usage_table):
            if aws.has_table(client, name):
                client.delete_table(TableName=name)
    except (BotoCoreError, ClientError) as error:
        raise translate(error) from None
    finally:
        client.close()
    client = aws.open_index(settings)
    try:
        Indices(client, settings.opensearch_index, SystemClock()).remove()
    finally:
        client.close()
