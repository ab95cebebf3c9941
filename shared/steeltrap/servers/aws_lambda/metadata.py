"""AWS Lambda behind an HTTP API's open routes: tells a client without a token where to get one.

Browsers come without a token, too, to ask whether a page of another site may call. API Gateway says so, and wants an
answer without an error to add it to.

It is a function of its own, so that nobody without a token reaches a function that may read memories.
"""

import json
from typing import Any

from ...errors import InvalidInput, NotFound
from ...model import JsonObject
from ...settings import Settings, read_settings
from ...toolsets import CATALOGUE
from ..auth.identity import WELL_KNOWN, claim_names, metadata
from ..http import Reply, error_reply, mcp_paths
from .events import HttpRequest, http_request, http_response
from .telemetry import Handler, Telemetry, instrumented, reporting
from .tools import error_object


def metadata_handler(*, settings: Settings | None = None, telemetry: Telemetry | None = None) -> Handler:
    """The Lambda handler of `/.well-known/oauth-protected-resource` and of each MCP path below it, and of OPTIONS.

    Raises InvalidInput without an issuer, at the function's start.
    """
    config = settings or read_settings()
    if not config.oidc_issuer:
        raise InvalidInput("STEELTRAP_OIDC_ISSUER is not set; this function needs the issuer of the tokens.")
    served = {"", *mcp_paths(CATALOGUE)}

    def handler(event: Any, context: Any) -> JsonObject:
        request = http_request(event)
        if request is None:
            return {"error": error_object(InvalidInput("This function takes events of an HTTP API only."))}
        return http_response(_answer(request, served, config), request)

    return instrumented(handler, reporting(telemetry, is_own=settings is None))


def _answer(request: HttpRequest, served: set[str], settings: Settings) -> Reply:
    if request.method == "OPTIONS":
        return Reply(204, b"")
    requested = request.paths[0]
    path = requested.removeprefix(WELL_KNOWN)
    if not requested.startswith(WELL_KNOWN) or path not in served:
        return error_reply(NotFound("No MCP server is at this path."))
    # API Gateway says under which of its own domains it was called; no header of the caller's has a say.
    base = settings.public_url.rstrip("/") or f"https://{request.event['requestContext']['domainName']}"
    document = metadata(base, path, settings.oidc_issuer, claim_names(settings).scopes.names)
    return Reply(200, json.dumps(document).encode(), {"Content-Type": "application/json"})
