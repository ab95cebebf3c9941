"""API Gateway's events as it sends them, shortened to what functions read."""

from typing import Any

from recollect.model import Caller

JSON = {"Content-Type": "application/json"}


def as_v2(path: str, body: str, caller: Caller | None, **changes: Any) -> dict[str, Any]:
    """An HTTP API's event, payload 2.0, behind a JWT authorizer."""
    context: dict[str, Any] = {
        "accountId": "123456789012",
        "apiId": "api-id",
        "domainName": "id.execute-api.us-east-1.amazonaws.com",
        "http": {"method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
        "routeKey": f"POST {path}",
        "stage": "$default",
    }
    if caller is not None:
        context["authorizer"] = {"jwt": {"claims": claims(caller), "scopes": None}}
    return {
        "version": "2.0",
        "routeKey": f"POST {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {name.lower(): value for name, value in JSON.items()},
        "requestContext": context,
        "body": body,
        "isBase64Encoded": False,
        **changes,
    }


def as_v1(path: str, body: str, caller: Caller | None, **changes: Any) -> dict[str, Any]:
    """A REST API's event, payload 1.0, behind a Cognito authorizer."""
    context: dict[str, Any] = {
        "accountId": "123456789012",
        "apiId": "api-id",
        "httpMethod": "POST",
        "path": f"/prod{path}",
        "resourcePath": path,
        "stage": "prod",
        "identity": {"sourceIp": "192.0.2.1"},
    }
    if caller is not None:
        context["authorizer"] = {"claims": claims(caller)}
    return {
        "resource": path,
        "path": path,
        "httpMethod": "POST",
        "headers": JSON,
        "multiValueHeaders": {name: [value] for name, value in JSON.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "requestContext": context,
        "body": body,
        "isBase64Encoded": False,
        **changes,
    }


def claims(caller: Caller) -> dict[str, str]:
    named = {
        "sub": caller.user_id,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
        "tenant": caller.tenant,
    }
    return {name: value for name, value in named.items() if value}
