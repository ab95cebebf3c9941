"""Events of HTTP as plain requests: HTTP API (payload 2.0 and 1.0), REST API, function URL, load balancer (ALB)."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from ..errors import InvalidInput
from ..model import JsonObject
from .reply import Reply

_TEXTS: Final = ("rawPath", "routeKey", "path", "resource", "httpMethod")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What an event says. `paths` are the ways to read its path: without the stage, and as its route says.

    `scope` has what an identity reads of an ASGI scope.
    """

    method: str
    paths: tuple[str, ...]
    scope: Mapping[str, Any]
    event: JsonObject

    def body(self) -> bytes:
        """Raises InvalidInput when what is said to be base64 isn't."""
        text = self.event.get("body") or ""
        if not self.event.get("isBase64Encoded"):
            return str(text).encode("utf-8", "surrogatepass")
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidInput("The body is not valid base64.") from None


def http_request(event: Any) -> HttpRequest | None:
    """The request of an event of HTTP, None for any other kind of event, and for what no gateway sends."""
    context = event.get("requestContext") if isinstance(event, dict) else None
    if not isinstance(context, dict) or not _is_whole(event):
        return None
    scope = {"headers": _headers(event), "aws.event": event}
    if event.get("version") == "2.0" and isinstance(context.get("http"), dict):
        path = str(event.get("rawPath", ""))
        stage = str(context.get("stage", ""))
        route = str(event.get("routeKey", "")).partition(" ")[2]
        return HttpRequest(str(context["http"].get("method", "")), (_without(stage, path), route), scope, event)
    if "httpMethod" in event and "resource" in event:
        path, resource = str(event.get("path", "")), str(event["resource"])
        return HttpRequest(str(event["httpMethod"]), (path, resource), scope, event)
    if "httpMethod" in event and "elb" in context:
        return HttpRequest(str(event["httpMethod"]), (str(event.get("path", "")),), scope, event)
    return None


def http_response(reply: Reply, request: HttpRequest) -> JsonObject:
    """A reply in the form of the event that it answers."""
    response: JsonObject = {
        "statusCode": reply.status,
        "headers": reply.headers,
        "body": reply.body.decode(),
        "isBase64Encoded": False,
    }
    if "elb" not in request.event["requestContext"]:
        return response
    response["statusDescription"] = f"{reply.status} {HTTPStatus(reply.status).phrase}"
    if request.event.get("multiValueHeaders"):
        # A target group that sends repeated headers apart reads no others.
        response["multiValueHeaders"] = {name: [value] for name, value in response.pop("headers").items()}
    return response


def _is_whole(event: JsonObject) -> bool:
    headers, several = event.get("headers") or {}, event.get("multiValueHeaders") or {}
    return (
        isinstance(headers, dict)
        and all(isinstance(value, str) for value in headers.values())
        and isinstance(several, dict)
        and all(isinstance(values, list) for values in several.values())
        and isinstance(event.get("body") or "", str)
        and all(isinstance(event[name], str) for name in _TEXTS if name in event)
    )


def _headers(event: JsonObject) -> list[tuple[bytes, bytes]]:
    # Only REST events keep repeated headers apart; a 2.0 event has joined them by commas.
    several = event.get("multiValueHeaders") or {}
    pairs = [(name, value) for name, values in several.items() for value in values or ()]
    pairs = pairs or list((event.get("headers") or {}).items())
    return [(str(name).lower().encode(), str(value).encode()) for name, value in pairs]


def _without(stage: str, path: str) -> str:
    return path.removeprefix(f"/{stage}") if path.startswith(f"/{stage}/") else path
