"""AWS Lambda for what is an ASGI application: all of HTTP in one function, and MCP in one."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final

from mangum import Mangum

from ...errors import InvalidInput, SteeltrapError
from ...invoke import Door
from ...model import JsonObject
from ...settings import read_settings
from ..auth.identity import Identity
from ..http import PROBLEM_MEDIA, error_reply, fault_reply
from .events import http_request, http_response
from .telemetry import Handler, Telemetry, instrumented, reporting
from .tools import (
    Open,
    authorizer,
    before_snapshot,
    direct,
    error_object,
    flush_usage,
    loaded_door,
    open_safely,
    opened_door,
    pool_identity,
)

_UNKNOWN = "This function takes events of HTTP only: API Gateway, function URL, load balancer."
_CALL_SECONDS: Final = 27.0
"""API Gateway waits 30 seconds for an answer, and the function ends then: a call must have ended before, with a
sentence and with its usage written."""
_TEXT = ["text/", "application/json", PROBLEM_MEDIA]


def app_handler(
    *, open: Open = opened_door, identity: Identity | None = None, telemetry: Telemetry | None = None
) -> Handler:
    """The whole HTTP surface, behind API Gateway, and direct invocations of every tool."""
    from ..asgi.app import create_app

    found_by = identity or authorizer(read_settings())
    return _handler(
        open,
        telemetry,
        lambda door: create_app(door, found_by, local=False, closes_store=False),
        otherwise=lambda event, invoker: direct(None, open, event, invoker),
    )


def mcp_handler(
    *, open: Open = opened_door, identity: Identity | None = None, telemetry: Telemetry | None = None
) -> Handler:
    """MCP over streamable HTTP, behind API Gateway."""
    from ..asgi.mcp_http import create_mcp_app

    found_by = identity or authorizer(read_settings())
    return _handler(open, telemetry, lambda door: create_mcp_app(door, found_by))


def _refuse(event: Any, invoker: str | None) -> JsonObject:
    return {"error": error_object(InvalidInput(_UNKNOWN))}


def _handler(
    open: Open,
    telemetry: Telemetry | None,
    create: Callable[[Door], Any],
    *,
    otherwise: Callable[[Any, str | None], JsonObject] = _refuse,
) -> Handler:
    @cache
    def adapted() -> tuple[Door, Mangum]:
        door = replace(open_safely(open), longest=_CALL_SECONDS)
        # Each invocation starts and ends the application's lifespan, which may happen many times.
        return door, Mangum(create(door), lifespan="on", text_mime_types=_TEXT)

    if open is opened_door:
        before_snapshot(loaded_door)
        before_snapshot(adapted)

    def handler(event: Any, context: Any) -> JsonObject:
        request = http_request(event)
        # With an identity of a pool it is a direct invocation, whatever its event imitates.
        if request is None or pool_identity(context) is not None:
            return otherwise(event, pool_identity(context))
        try:
            request.body()
            door, application = adapted()
            answer: JsonObject = application(event, context)
        except SteeltrapError as error:
            return http_response(error_reply(error), request)
        except Exception as fault:
            return http_response(fault_reply("the function", fault), request)
        flush_usage(door)
        return answer

    return instrumented(handler, reporting(telemetry, is_own=open is opened_door))
