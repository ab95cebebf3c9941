"""Events of HTTP as plain requests: HTTP API (payload 2.0 and 1.0), REST API, function URL, load balancer (ALB)."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from ...errors import InvalidInput
from ...model import JsonObject
from ..http import Reply

_TEXTS: Final = ("rawPath", "routeKey", "path", "resource", "httpMethod")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request as an event has it. `paths` are the ways to read its path: without the stage, and as its route
    says.

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
    http, authorizer = (event["requestContext"].get(name) or {} for name in ("http", "authorizer"))
    headers, several = (event.get(name) or {} for name in ("headers", "multiValueHeaders"))
    token = authorizer.get("jwt") or {} if isinstance(authorizer, dict) else None
    claims = token.get("claims") or {} if isinstance(token, dict) else None
    if not all(isinstance(each, dict) for each in (http, authorizer, headers, several, token, claims)):
        return False
    repeated = list(several.values())
    if not all(isinstance(values, list) for values in repeated):
        return False
    texts = [*headers, *headers.values(), *several, *(value for values in repeated for value in values)]
    texts += [event[name] for name in _TEXTS if name in event]
    texts += [http.get("method", ""), event.get("rawQueryString") or ""]
    return isinstance(event.get("body") or "", str) and all(map(_is_text, texts))


def _is_text(value: object) -> bool:
    """Whether it is a text that can be sent: without halves of characters."""
    return isinstance(value, str) and not any("\ud800" <= char <= "\udfff" for char in value)


def _headers(event: JsonObject) -> list[tuple[bytes, bytes]]:
    # Only REST events keep repeated headers apart; a 2.0 event has joined them by commas.
    several = event.get("multiValueHeaders") or {}
    pairs = [(name, value) for name, values in several.items() for value in values or ()]
    pairs = pairs or list((event.get("headers") or {}).items())
    return [(str(name).lower().encode(), str(value).encode()) for name, value in pairs]


def _without(stage: str, path: str) -> str:
    return path.removeprefix(f"/{stage}") if path.startswith(f"/{stage}/") else path
