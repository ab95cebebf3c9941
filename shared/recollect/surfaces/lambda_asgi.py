"""AWS Lambda for what is an ASGI application: all of HTTP in one function, and MCP in one."""

from collections.abc import Callable
from functools import cache
from typing import Any

from mangum import Mangum

from ..errors import InvalidInput, RecollectError
from ..invoke import Door
from ..model import JsonObject
from ..settings import read_settings
from .identity import Identity
from .lambda_ import authorizer
from .lambda_direct import error_object, pool_identity
from .lambda_events import http_request, http_response
from .lambda_opening import Open, before_snapshot, loaded_door, open_safely, opened_door, write_down
from .lambda_telling import Handler, Telling, teller, told
from .problem import PROBLEM_MEDIA
from .reply import error_reply, fault_reply

_UNKNOWN = "This function takes events of HTTP only: API Gateway, function URL, load balancer."
_TEXT = ["text/", "application/json", PROBLEM_MEDIA]


def app_handler(
    *, open: Open = opened_door, identity: Identity | None = None, telling: Telling | None = None
) -> Handler:
    """The whole HTTP surface, behind API Gateway."""
    from .http import create_app

    found_by = identity or authorizer(read_settings())
    return _handler(open, telling, lambda door: create_app(door, found_by, local=False, closes_store=False))


def mcp_handler(
    *, open: Open = opened_door, identity: Identity | None = None, telling: Telling | None = None
) -> Handler:
    """MCP over streamable HTTP, behind API Gateway."""
    from .mcp_http import create_mcp_app

    found_by = identity or authorizer(read_settings())
    return _handler(open, telling, lambda door: create_mcp_app(door, found_by))


def _handler(open: Open, telling: Telling | None, create: Callable[[Door], Any]) -> Handler:
    @cache
    def adapted() -> tuple[Door, Mangum]:
        door = open_safely(open)
        # Each invocation starts and ends the application's lifespan, which may happen many times.
        return door, Mangum(create(door), lifespan="on", text_mime_types=_TEXT)

    if open is opened_door:
        before_snapshot(loaded_door)
        before_snapshot(adapted)

    def handler(event: Any, context: Any) -> JsonObject:
        request = http_request(event)
        # With an identity of a pool it is a direct invocation, whatever its event imitates.
        if request is None or pool_identity(context) is not None:
            return {"error": error_object(InvalidInput(_UNKNOWN))}
        try:
            request.body()
            door, application = adapted()
            answer: JsonObject = application(event, context)
        except RecollectError as error:
            return http_response(error_reply(error), request)
        except Exception as fault:
            return http_response(fault_reply("the function", fault), request)
        write_down(door)
        return answer

    return told(handler, teller(telling, is_own=open is opened_door))
