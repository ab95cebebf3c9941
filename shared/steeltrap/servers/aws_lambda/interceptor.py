"""AWS Lambda that an AgentCore gateway asks before each call: it names the caller, by the verified token.

The gateway must have a JWT authorizer: it checks a token before it asks its request interceptor.
https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-interceptors-types.html
"""

import json
import logging
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any, Final

from ...errors import IdentityMissing, InvalidInput, SteeltrapError
from ...invoke import identified
from ...model import Caller, JsonObject
from ...settings import Settings, read_settings
from ..auth.identity import ClaimNames, bearer_token, claim_names
from .agents import CALLER_HEADER
from .telemetry import Handler, Telemetry, instrumented, reporting
from .tools import error_object

_log = logging.getLogger("steeltrap")

_VERSION: Final = "1.0"
_UNAUTHENTICATED: Final = -32001


def interceptor_handler(*, settings: Settings | None = None, telemetry: Telemetry | None = None) -> Handler:
    """The Lambda handler of a gateway's request interceptor. It always sets the header that names the caller, so that
    what a client sent under that name never reaches the target; a request without a user is answered 403.

    Raises InvalidInput without an issuer, at the function's start.
    """
    known = settings or read_settings()
    if not known.oidc_issuer:
        raise InvalidInput("STEELTRAP_OIDC_ISSUER is not set; this function needs the issuer of the tokens.")
    names = claim_names(known)

    def handler(event: Any, context: Any) -> JsonObject:
        request = _request(event)
        if request is None:
            return {"error": error_object(InvalidInput("This function takes requests of an AgentCore gateway only."))}
        body = request.get("body")
        try:
            caller = _caller(request.get("headers"), names, known.oidc_issuer)
        except SteeltrapError as error:
            _log.info("refused", extra={"error": error.code})
            return _output("transformedGatewayResponse", {"statusCode": 403, "body": _refusal(body, error)})
        return _output("transformedGatewayRequest", {"headers": {CALLER_HEADER: _written(caller)}, "body": body})

    return instrumented(handler, reporting(telemetry, is_own=settings is None))


def _request(event: Any) -> Mapping[str, Any] | None:
    mcp = event.get("mcp") if isinstance(event, dict) else None
    request = mcp.get("gatewayRequest") if isinstance(mcp, dict) else None
    return request if isinstance(request, dict) else None


def _caller(headers: object, names: ClaimNames, issuer: str) -> Caller:
    given = headers if isinstance(headers, dict) else {}
    scope = {"headers": [(str(name).lower().encode(), str(value).encode()) for name, value in given.items()]}
    claims = _claims(bearer_token(scope))
    if claims.get("iss") != issuer:
        raise IdentityMissing(f"The request has no token of {issuer}.")
    return identified(names.caller(claims, scope))


def _claims(token: str | None) -> Mapping[str, Any]:
    """The claims of a token that the gateway verified; {} of what is no token."""
    parts = (token or "").split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _written(caller: Caller) -> str:
    """The caller as a header carries it: JSON in ASCII."""
    fields = {
        "user_id": caller.user.user_id,
        "tenant": caller.user.tenant or None,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
        "untrusted": "true" if caller.permissions.untrusted else None,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def _refusal(body: object, error: SteeltrapError) -> JsonObject:
    id = body.get("id") if isinstance(body, dict) else None
    return {"jsonrpc": "2.0", "id": id, "error": {"code": _UNAUTHENTICATED, "message": error.message}}


def _output(name: str, content: JsonObject) -> JsonObject:
    return {"interceptorOutputVersion": _VERSION, "mcp": {name: content}}
