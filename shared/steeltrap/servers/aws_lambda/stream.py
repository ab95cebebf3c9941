"""AWS Lambda on the memory table's stream: writes changes to the search index.

The event source mapping must set FunctionResponseTypes to `ReportBatchItemFailures`. It is a file of its own because
what looks after the store loads twice as much.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from ...model import JsonObject
from ...runtime.local import open_indexer
from ...settings import read_settings
from .telemetry import Telemetry, instrumented, reporting
from .tools import time_left


class StreamIndexer(Protocol):
    """Indexes records of the stream; returns the sequence numbers of those to retry."""

    def take(self, records: Sequence[Mapping[str, Any]], *, timeout: float) -> list[str]: ...


@cache
def opened_indexer() -> StreamIndexer:
    """The indexer for the settings in the function's environment; opened once per instance."""
    return open_indexer(read_settings())


def stream_handler(
    *, open: Callable[[], StreamIndexer] = opened_indexer, telemetry: Telemetry | None = None
) -> Callable[[Any, Any], JsonObject]:
    """The Lambda handler of a DynamoDB stream. The stream sends a reported record and all later ones again.

    Raises InvalidInput for an invalid setting, when the function starts.
    """
    read_settings()

    def handler(event: Any, context: Any) -> JsonObject:
        again = open().take(event["Records"], timeout=time_left(context))
        return {"batchItemFailures": [{"itemIdentifier": place} for place in again]}

    return instrumented(handler, reporting(telemetry, is_own=open is opened_indexer))
