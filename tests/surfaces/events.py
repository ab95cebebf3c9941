"""Events as AWS sends them, shortened to what functions read."""

import json
from types import SimpleNamespace
from typing import Any

from steeltrap.model import Caller

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


ARN = "arn:aws:iam::123456789012:user/ana"


def as_url(path: str, body: str, **changes: Any) -> dict[str, Any]:
    """A function URL's event, signed by an IAM principal."""
    event = as_v2(path, body, None, routeKey="$default", **changes)
    event["requestContext"] |= {"domainName": "id.lambda-url.us-east-1.on.aws", "routeKey": "$default"}
    event["requestContext"]["authorizer"] = {"iam": {"accountId": "123456789012", "userArn": ARN, "userId": "AIDA"}}
    return event


def as_alb(path: str, body: str, *, headers: dict[str, str] | None = None, several: bool = False) -> dict[str, Any]:
    """A load balancer's event; `several` is of a target group that sends repeated headers apart."""
    sent = {name.lower(): value for name, value in {**JSON, **(headers or {})}.items()}
    event: dict[str, Any] = {
        "requestContext": {"elb": {"targetGroupArn": "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/x/1"}},
        "httpMethod": "POST",
        "path": path,
        "queryStringParameters": {},
        "body": body,
        "isBase64Encoded": False,
    }
    return {**event, "multiValueHeaders": {k: [v] for k, v in sent.items()}} if several else {**event, "headers": sent}


def as_messages(*bodies: Any, fifo: bool = False) -> dict[str, Any]:
    """Messages of an SQS queue; a body that is no text is sent as JSON."""
    arn = "arn:aws:sqs:us-east-1:123456789012:writes" + (".fifo" if fifo else "")
    return {
        "Records": [
            {
                "messageId": f"message-{number}",
                "receiptHandle": "handle",
                "body": body if isinstance(body, str) else json.dumps(body),
                "attributes": {"MessageGroupId": "one"} if fifo else {},
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": arn,
                "awsRegion": "us-east-1",
            }
            for number, body in enumerate(bodies)
        ]
    }


GATEWAY = "memory-gateway-0123456789"
AGENT = "8ZXY0W8P1H"


def as_gateway(tool: str, caller: Caller | None, *, target: str = "memory", **changes: Any) -> SimpleNamespace:
    """The context of a Lambda target's call by an AgentCore gateway; the event is the arguments alone.

    https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-add-target-lambda.html (Lambda function input
    format); the propagated headers as of gateway-headers.html there.
    """
    custom: dict[str, Any] = {
        "bedrockAgentCoreMessageVersion": "1.0",
        "bedrockAgentCoreAwsRequestId": "4a4f7f3c-3c3e-4f5e-9d2b-000000000000",
        "bedrockAgentCoreMcpMessageId": "1",
        "bedrockAgentCoreGatewayId": GATEWAY,
        "bedrockAgentCoreTargetId": "TARGET0001",
        "bedrockAgentCoreToolName": f"{target}___{tool}",
    }
    if caller is not None:
        custom["bedrockAgentCorePropagatedHeaders"] = {"X-Steeltrap-Caller": json.dumps(_named(caller))}
    return SimpleNamespace(client_context=SimpleNamespace(custom=custom | changes))


def as_operation(tool: str, arguments: dict[str, Any], caller: Caller | None, **changes: Any) -> dict[str, Any]:
    """The event of an action group with an API schema.

    After aws-powertools/powertools-lambda-python, tests/events/bedrockAgentPostEvent.json, and
    https://docs.aws.amazon.com/bedrock/latest/userguide/agents-lambda.html.
    """
    content = {"application/json": {"properties": _parameters(arguments)}}
    return {
        **_of_agent(caller),
        "httpMethod": "POST",
        "apiPath": f"/{tool}",
        "requestBody": {"content": content},
        "parameters": [],
        **changes,
    }


def as_function(tool: str, arguments: dict[str, Any], caller: Caller | None, **changes: Any) -> dict[str, Any]:
    """The event of an action group with function details.

    After aws-powertools/powertools-lambda-python, tests/events/bedrockAgentFunctionEvent.json, and
    https://docs.aws.amazon.com/bedrock/latest/userguide/agents-lambda.html.
    """
    return {**_of_agent(caller), "function": tool, "parameters": _parameters(arguments), **changes}


def _of_agent(caller: Caller | None) -> dict[str, Any]:
    return {
        "messageVersion": "1.0",
        "agent": {"alias": "TSTALIASID", "name": "test", "version": "DRAFT", "id": AGENT},
        "inputText": "What do you know about me?",
        "sessionId": "12345678912345",
        "actionGroup": "Memory",
        "sessionAttributes": _named(caller) if caller else {},
        "promptSessionAttributes": {},
    }


def _parameters(arguments: dict[str, Any]) -> list[dict[str, str]]:
    """Arguments as an agent sends them: every value is a text."""
    kinds = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
    return [
        {
            "name": name,
            "type": kinds.get(type(value), "string"),
            "value": value if isinstance(value, str) else json.dumps(value),
        }
        for name, value in arguments.items()
        if value is not None
    ]


def _named(caller: Caller) -> dict[str, str]:
    named = {
        "user_id": caller.user.user_id,
        "tenant": caller.user.tenant,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
    }
    return {name: value for name, value in named.items() if value}


def claims(caller: Caller) -> dict[str, str]:
    named = {
        "sub": caller.user.user_id,
        "agent_id": caller.agent_id,
        "conversation_id": caller.conversation_id,
        "tenant": caller.user.tenant,
    }
    return {name: value for name, value in named.items() if value}
