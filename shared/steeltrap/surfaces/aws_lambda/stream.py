"""AWS Lambda behind the memory table's stream: changes into the search index.

The event source has to ask for it: FunctionResponseTypes `ReportBatchItemFailures`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from ...model import JsonObject
from ...runtime.local import open_indexer
from ...settings import read_settings
from .opening import time_left
from .telemetry import Telemetry, instrumented, reporting


class Taking(Protocol):
    """Takes records of the stream; answers the sequence numbers of those that have to come again."""

    def take(self, records: Sequence[Mapping[str, Any]], *, timeout: float) -> list[str]: ...


@cache
def opened_indexer() -> Taking:
    """The indexer by the function's environment, opened at the first call of an instance."""
    return open_indexer(read_settings())


def stream_handler(
    *, open: Callable[[], Taking] = opened_indexer, telemetry: Telemetry | None = None
) -> Callable[[Any, Any], JsonObject]:
    """The Lambda handler of a DynamoDB stream. What it reports comes again, with all that followed it.

    Raises InvalidInput for a setting that doesn't fit, at the function's start.
    """
    read_settings()

    def handler(event: Any, context: Any) -> JsonObject:
        again = open().take(event["Records"], timeout=time_left(context))
        return {"batchItemFailures": [{"itemIdentifier": place} for place in again]}

    return instrumented(handler, reporting(telemetry, is_own=open is opened_indexer))
