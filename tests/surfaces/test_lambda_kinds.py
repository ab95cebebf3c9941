"""Function URLs, load balancers and queues in front of a tool's function, and the settings that say who calls."""

import base64
from typing import Any

import pytest

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.auth.identity import TrustedHeaders
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.settings import read_settings
from surfaces.events import ARN, as_alb, as_messages, as_url, as_v1, as_v2

SAVE = "/v1/core/save"
FACT = '{"content": "A fact."}'


def texts(door: Door, user: str, **of: Any) -> list[str]:
    listed = door.invoke("core.list", {"limit": 50}, Caller(UserRef(user, **of), "default")).body
    return sorted(memory["content"] for memory in listed["memories"])


# Function URLs, and whoever signs a request


def test_behind_a_function_url_the_user_is_the_principal_who_signed(door: Door) -> None:
    answer = tool_handler("save", open=lambda: door)(as_url(SAVE, FACT), None)
    assert answer["statusCode"] == 200
    assert texts(door, ARN) == ["A fact."]


def test_behind_a_rest_api_that_wants_signatures_too(door: Door) -> None:
    signed = as_v1(SAVE, FACT, None)
    signed["requestContext"]["identity"] = {"userArn": ARN, "sourceIp": "192.0.2.1"}
    assert tool_handler("save", open=lambda: door)(signed, None)["statusCode"] == 200
    assert texts(door, ARN) == ["A fact."]


@pytest.mark.parametrize("principal", [{}, {"userArn": None}, {"userArn": ""}, {"userId": "AIDA"}, {"userArn": [ARN]}])
def test_a_principal_without_an_arn_is_nobody(door: Door, principal: dict[str, Any]) -> None:
    url = as_url(SAVE, FACT)
    url["requestContext"]["authorizer"] = {"iam": principal}
    rest = as_v1(SAVE, FACT, None)
    rest["requestContext"]["identity"] = principal
    handler = tool_handler("save", open=lambda: door)
    assert [handler(event, None)["statusCode"] for event in (url, rest)] == [401, 401]


def test_the_claims_that_name_a_caller_are_settings(door: Door) -> None:
    settings = read_settings({"STEELTRAP_USER_CLAIM": "custom:uid", "STEELTRAP_TENANT_CLAIM": "org"})
    handler = tool_handler("save", open=lambda: door, settings=settings)
    named = as_v2(SAVE, FACT, None)
    named["requestContext"]["authorizer"] = {"jwt": {"claims": {"custom:uid": "ana", "sub": "x", "org": "acme"}}}
    assert handler(named, None)["statusCode"] == 200
    assert texts(door, "ana", tenant="acme") == ["A fact."]
    assert handler(as_v2(SAVE, FACT, Caller(UserRef("eve"))), None)["statusCode"] == 401


# Load balancers


@pytest.mark.parametrize("several", [False, True])
def test_a_load_balancer_is_answered_in_its_form(door: Door, several: bool) -> None:
    handler = tool_handler("save", open=lambda: door, identity=TrustedHeaders(user_header="x-amzn-oidc-identity"))
    event = as_alb(SAVE, FACT, headers={"x-amzn-oidc-identity": "ana"}, several=several)
    answer = handler(event, None)
    assert (answer["statusCode"], answer["statusDescription"]) == (200, "200 OK")
    told = answer["multiValueHeaders"]["Content-Type"] if several else [answer["headers"]["Content-Type"]]
    assert told == ["application/json"]
    assert ("headers" in answer, "multiValueHeaders" in answer) == (not several, several)
    encoded = {**event, "body": base64.b64encode(FACT.encode()).decode(), "isBase64Encoded": True}
    assert handler(encoded, None)["statusCode"] == 200
    assert handler({**event, "body": "{"}, None)["statusDescription"] == "400 Bad Request"
    assert handler({**event, "path": "/v1/core/nothing"}, None)["statusCode"] == 404
    assert texts(door, "ana") == ["A fact."] * 2


def test_a_load_balancers_headers_name_nobody_by_themselves(door: Door) -> None:
    handler = tool_handler("save", open=lambda: door)
    event = as_alb(SAVE, FACT, headers={"x-amzn-oidc-identity": "ana", "X-User-Id": "ana"})
    answer = handler(event, None)
    assert (answer["statusCode"], answer["statusDescription"]) == (401, "401 Unauthorized")


# Queues


def message(content: str, **more: Any) -> dict[str, Any]:
    return {
        **{"toolset": "core", "tool": "save", "arguments": {"content": content}, "caller": {"user_id": "ana"}},
        **more,
    }


@pytest.fixture
def queue(door: Door) -> Any:
    return tool_handler("save", open=lambda: door, settings=read_settings({"STEELTRAP_QUEUE_CALLERS": "true"}))


def again(answer: Any) -> list[str]:
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def test_messages_are_done_and_those_that_fail_come_again(queue: Any, door: Door) -> None:
    event = as_messages(message("One."), "{", message(""), [], message("Two."), message("Three.", tool="search"))
    assert again(queue(event, None)) == ["message-1", "message-2", "message-3", "message-5"]
    assert texts(door, "ana") == ["One.", "Two."]


def test_a_message_that_comes_again_is_done_once(queue: Any, door: Door) -> None:
    event = as_messages(
        message("One."), message("Two.", idempotency_key="mine"), message("Two.", idempotency_key="mine")
    )
    for _ in range(2):
        assert again(queue(event, None)) == []
    assert texts(door, "ana") == ["One.", "Two."]


def test_when_all_fail_all_come_again(queue: Any, door: Door) -> None:
    assert again(queue(as_messages("{", "}"), None)) == ["message-0", "message-1"]


def test_behind_one_that_fails_an_ordered_queue_waits(queue: Any, door: Door) -> None:
    event = as_messages(message("One."), message(""), message("Two."), fifo=True)
    assert again(queue(event, None)) == ["message-1", "message-2"]
    assert texts(door, "ana") == ["One."]


def test_a_message_names_nobody_unless_the_settings_allow_it(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    nameless = {key: value for key, value in message("One.").items() if key != "caller"}
    answer = tool_handler("save", open=lambda: door)(as_messages(message("The secret."), nameless), None)
    assert again(answer) == ["message-0", "message-1"]
    assert texts(door, "ana") == []
    assert "STEELTRAP_QUEUE_CALLERS" in caplog.text
    assert "secret" not in caplog.text
