"""AWS Lambda for what is an ASGI application: all of HTTP in one function, and MCP in one."""

from collections.abc import Callable
from functools import cache
from typing import Any

from mangum import Mangum

from ..invoke import Door
from ..model import JsonObject
from .identity import Authorizer, Identity
from .lambda_ import Handler, opened_door
from .problem import PROBLEM_MEDIA

_TEXT = ["text/", "application/json", PROBLEM_MEDIA]


def app_handler(*, open: Callable[[], Door] = opened_door, identity: Identity | None = None) -> Handler:
    """The whole HTTP surface, behind API Gateway."""
    from .http import create_app

    return _handler(lambda: create_app(open(), identity or Authorizer(), local=False, closes_store=False))


def mcp_handler(*, open: Callable[[], Door] = opened_door, identity: Identity | None = None) -> Handler:
    """MCP over streamable HTTP, behind API Gateway."""
    from .mcp_http import create_mcp_app

    return _handler(lambda: create_mcp_app(open(), identity or Authorizer()))


def _handler(create: Callable[[], Any]) -> Handler:
    @cache
    def adapted() -> Mangum:
        # Each invocation starts and ends the application's lifespan, which may happen many times.
        return Mangum(create(), lifespan="on", text_mime_types=_TEXT)

    def handler(event: Any, context: Any) -> JsonObject:
        answer: JsonObject = adapted()(event, context)
        return answer

    return handler
