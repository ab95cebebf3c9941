"""The telemetry of a function: its log as JSON, with one correlation id per invocation, and metrics in CloudWatch's
embedded format. No memory's text is in either; tracing is Lambda's own.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from traceback import format_tb
from typing import IO, Any, Final

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from ...model import JsonObject, OutcomeKind
from ...settings import Settings, read_settings
from ...telemetry import Measure, log_fault
from .events import http_request

NAMESPACE: Final = "steeltrap"
_LONGEST_ID: Final = 256

Handler = Callable[[Any, Any], Any]


class _Formatter(LambdaPowertoolsFormatter):
    """JSON lines, in which a fault is its kind and the way to it: its message may quote a memory."""

    def __init__(self, *, utc: bool) -> None:
        super().__init__(utc=utc, serialize_stacktrace=False)

    def formatException(self, ei: Any) -> str:
        return "\n".join(_causes(ei[1]))


def _causes(fault: BaseException | None) -> Iterator[str]:
    while fault is not None:
        kind = type(fault)
        yield f"{kind.__module__}.{kind.__qualname__}\n{''.join(format_tb(fault.__traceback__))}"
        fault = fault.__cause__ or (None if fault.__suppress_context__ else fault.__context__)


class Telemetry:
    """Logs and metrics of one function.

    From its making on, all that is logged as `steeltrap` goes out as JSON: so it is made where a function runs, and
    nowhere else. An instance of a function has one invocation at a time.
    """

    def __init__(self, level: str, *, service: str = NAMESPACE, stream: IO[str] | None = None) -> None:
        # Powertools names its logger by the service, and all of steeltrap logs as this one.
        self._logger = Logger(
            service=NAMESPACE, level=level.upper(), stream=stream, logger_formatter=_Formatter(utc=True)
        )
        self._logger.append_keys(service=service)
        self._metrics = EphemeralMetrics(namespace=NAMESPACE, service=service)
        self._is_cold = True
        self._calls = 0

    def begin(self, event: Any, context: Any) -> None:
        """An invocation: what is logged from now on has its ids."""
        request = getattr(context, "aws_request_id", None)
        self._logger.append_keys(
            cold_start=self._is_cold,
            function_name=getattr(context, "function_name", None),
            function_request_id=request,
        )
        self.correlate(correlation_id(event) or request)
        self._is_cold = False
        self._calls = 0

    def correlate(self, id: str | None) -> None:
        """Log lines from now on belong to a request, or to a queue's message."""
        self._logger.set_correlation_id(id)

    def observe(self, measure: Measure) -> None:
        """One line of a call, and its metrics."""
        self._calls += 1
        size = measure.answer_bytes
        stages = {name: round(duration, 1) for name, duration in measure.stages.items()}
        facts = {"tool": measure.tool, "milliseconds": round(measure.milliseconds, 1), "stages": stages}
        ended = {
            "error": measure.error,
            "outcome": measure.outcome,
            "hits": measure.hits,
            "bytes": size,
            "redacted": measure.redacted or None,
        }
        outcome = {name: value for name, value in ended.items() if value is not None}
        self._logger.info("%s %s", measure.tool, measure.error or "ok", extra={**facts, **outcome})
        self._measure(measure, size)

    def answered(self, answer: Any) -> None:
        """One line of what was refused before any tool was called."""
        if self._calls or not isinstance(answer, dict):
            return
        if refusal := _refusal(answer):
            self._logger.info("refused", extra=refusal)

    def count(self, **counts: int) -> None:
        """Metrics of the function as a whole."""
        for name, value in counts.items():
            self._metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
        self._metrics.flush_metrics()

    def _measure(self, measure: Measure, answer_bytes: int | None) -> None:
        # CloudWatch charges for each name by each set of dimensions: what is told apart by tool, step or code is in the
        # line of the call, which is charged by its bytes alone.
        metrics = self._metrics
        metrics.add_metric(name="calls", unit=MetricUnit.Count, value=1)
        metrics.add_metric(name="errors", unit=MetricUnit.Count, value=0 if measure.error is None else 1)
        metrics.add_metric(name="time", unit=MetricUnit.Milliseconds, value=measure.milliseconds)
        if measure.outcome is not None:
            degraded = measure.outcome == OutcomeKind.DEGRADED
            metrics.add_metric(name="degraded", unit=MetricUnit.Count, value=int(degraded))
        if measure.hits is not None:
            metrics.add_metric(name="hits", unit=MetricUnit.Count, value=measure.hits)
        if answer_bytes is not None:
            metrics.add_metric(name="answer_bytes", unit=MetricUnit.Bytes, value=answer_bytes)
        metrics.flush_metrics()


def correlation_id(event: Any) -> str | None:
    """The id that an event brings: API Gateway's and a function URL's request, a load balancer's trace."""
    context = event.get("requestContext") if isinstance(event, dict) else None
    if not isinstance(context, dict):
        return None
    id = context.get("requestId")
    if "elb" in context and (request := http_request(event)) is not None:
        id = dict(request.scope["headers"]).get(b"x-amzn-trace-id", b"").decode() or None
    return id[:_LONGEST_ID] if isinstance(id, str) else None


def _refusal(answer: JsonObject) -> dict[str, Any]:
    """The code, and the status of HTTP, of an answer that is an error; {} for any other."""
    if "statusCode" not in answer:
        error = _of_action_group(answer).get("error")
        return {"error": error["code"]} if isinstance(error, dict) and "code" in error else {}
    status = answer["statusCode"]
    if status < 400:
        return {}
    try:
        code = json.loads(answer["body"])["code"]
    except (ValueError, LookupError, TypeError):
        return {"status": status}  # a dialect's own form
    return {"status": status, "error": code}


def _of_action_group(answer: JsonObject) -> JsonObject:
    """The answer within a Bedrock agent's envelope; any other answer as it is."""
    response = answer.get("response")
    if not isinstance(response, dict):
        return answer
    [content] = response.get("functionResponse", response)["responseBody"].values()
    try:
        body = json.loads(content["body"])
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


Reporting = Callable[[], Telemetry] | None


def reporting(telemetry: Telemetry | None, *, is_own: bool) -> Reporting:
    """Where invocations are reported: the given telemetry, else the function's own, else (not `is_own`) nowhere."""
    if telemetry is not None:
        return lambda: telemetry
    return function_telemetry if is_own else None


def instrumented(handler: Handler, reports: Reporting) -> Handler:
    """A handler whose invocations are reported."""
    if reports is None:
        return handler

    def instrumented_handler(event: Any, context: Any) -> Any:
        telemetry = reports()
        try:
            telemetry.begin(event, context)
            answer = handler(event, context)
        except Exception as fault:
            log_fault("the function", fault)
            raise
        telemetry.answered(answer)
        return answer

    return instrumented_handler


@cache
def function_telemetry() -> Telemetry:
    """This function's telemetry, made at its first invocation."""
    settings = read_settings()
    return Telemetry(level_of(settings), service=settings.service)


def level_of(settings: Settings) -> str:
    """How much a function logs: each call, unless the setting says otherwise."""
    return settings.log if "log" in settings.explicit else "info"
