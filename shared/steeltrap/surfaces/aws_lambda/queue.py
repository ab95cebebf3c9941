"""Writes in bulk by an SQS queue: each message is a direct invocation, done once however often it comes.

The event source has to ask for it: FunctionResponseTypes `ReportBatchItemFailures`. What fails comes again, and goes
to the queue's dead letters when it has failed often enough: so nothing is dropped, and nothing holds up the others.
"""

import logging
from typing import Any, Final

from ...arguments import decode
from ...errors import InvalidInput, SteeltrapError
from ...model import JsonObject
from .direct import direct
from .opening import Open
from .telemetry import Reporting

_log = logging.getLogger("steeltrap")

_SOURCE: Final = "aws:sqs"


class _Refused(Exception):
    """A message that was not done."""


def is_queue(event: Any) -> bool:
    """Whether an event brings messages of a queue."""
    records = event.get("Records") if isinstance(event, dict) else None
    return (
        isinstance(records, list)
        and bool(records)
        and all(isinstance(record, dict) and record.get("eventSource") == _SOURCE for record in records)
    )


def take(operation: str, open: Open, event: Any, *, names_callers: bool, reports: Reporting) -> JsonObject:
    """Do each message's call; answers those that have to come again, in the form that SQS wants.

    A message's own id serves as its idempotency key where it has none. Only with `names_callers` a message may say
    whose memories it is about: where the queue's policy admits nobody but the application. What is told of a
    call goes by its message's id.
    """
    from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, SqsFifoPartialProcessor
    from aws_lambda_powertools.utilities.batch import process_partial_response as processed

    def do(record: Any) -> None:
        if reports is not None:
            reports().correlate(record.message_id)
        try:
            call = _call(record.body, names_callers)
            error = direct(operation, open, {"idempotency_key": record.message_id, **call}).get("error")
            why = error and error["code"]  # its sentence may quote the message
        except SteeltrapError as refusal:
            why = f"{refusal.code}: {refusal.message}"
        if why is not None:
            _log.warning("message %s was not done: %s", record.message_id, why)
            raise _Refused(why)

    in_order = str(event["Records"][0].get("eventSourceARN", "")).endswith(".fifo")
    processor: BatchProcessor = SqsFifoPartialProcessor() if in_order else BatchProcessor(EventType.SQS)
    processor.raise_on_entire_batch_failure = False
    return dict(processed(event=event, record_handler=do, processor=processor))


def _call(body: str, names_callers: bool) -> JsonObject:
    """The call that a message asks for. Raises InvalidInput."""
    call = decode(body)
    if "caller" in call and not names_callers:
        raise InvalidInput(
            "This queue's messages may not name a caller. Set STEELTRAP_QUEUE_CALLERS=true if the queue's policy "
            "admits only the application."
        )
    return call
