"""AgentCore gateways: the documented context of a call, who calls, what is answered, and the request interceptor."""

import json
from base64 import urlsafe_b64encode
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from steeltrap.errors import InvalidInput
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.aws_lambda.agents import agent_handler, interceptor_handler
from steeltrap.servers.aws_lambda.telemetry import Handler, Telemetry
from steeltrap.settings import read_settings
from surfaces.conftest import Tell
from surfaces.events import AGENT, GATEWAY, as_function, as_gateway, as_operation

ANA = Caller(UserRef("ana"), "assistant", "chat-1")
ISSUER = "https://issuer.example"
HEADER = "X-Steeltrap-Caller"


def served(door: Door, toolset: str = "core", **given: Any) -> Handler:
    settings = {"agent_toolset": toolset, "agentcore_gateways": f"other-0123456789, {GATEWAY}", "bedrock_agents": AGENT}
    return agent_handler(open=lambda: door, settings=read_settings({}, **settings | given))


def kept(door: Door, user: str) -> list[str]:
    listed = door.invoke("core.list", {}, Caller(UserRef(user))).body["memories"]
    return [memory["content"] for memory in listed]


def passing(headers: Any) -> SimpleNamespace:
    return as_gateway("save", None, bedrockAgentCorePropagatedHeaders=headers)


def test_a_call_runs_the_tool_behind_the_target_s_name_for_the_interceptor_s_caller(door: Door) -> None:
    answer = served(door)({"content": "Ana likes tea."}, as_gateway("save", ANA))
    got = door.invoke("core.get", {"id": answer["id"]}, ANA).body
    assert (got["content"], got["agent_id"], got["conversation_id"]) == ("Ana likes tea.", "assistant", "chat-1")
    assert kept(door, "bob") == []


def test_a_target_s_own_name_may_have_the_delimiter_too(door: Door) -> None:
    answer = served(door)({"content": "x"}, as_gateway("save", ANA, target="my___memory"))
    assert answer["version"] == 1


@pytest.mark.parametrize("headers", [{HEADER: '{"user_id": "ana"}'}, {HEADER.lower(): '{"user_id": "ana"}'}])
@pytest.mark.parametrize("written", [dict, json.dumps])
def test_the_header_is_found_however_the_gateway_writes_it(door: Door, headers: dict[str, str], written: Any) -> None:
    served(door)({"content": "x"}, passing(written(headers)))
    assert kept(door, "ana") == ["x"]


def test_a_tenant_tells_equal_users_apart(door: Door) -> None:
    served(door)({"content": "x"}, as_gateway("save", Caller(UserRef("ana", "acme"))))
    assert kept(door, "ana") == []
    assert door.invoke("core.list", {}, Caller(UserRef("ana", "acme"))).body["memories"]


@pytest.mark.parametrize(
    "headers",
    [
        None,
        {},
        [],
        "no JSON",
        {"X-User-Id": "ana"},
        {HEADER: ""},
        {HEADER: "ana"},
        {HEADER: '"ana"'},
        {HEADER: "{}"},
        {HEADER: '{"user_id": ""}'},
        {HEADER: '{"user_id": 5}'},
        {HEADER: '{"user_id": "ana", "tenant": null}'},
        {HEADER: '{"user_id": "ana", "admin": "yes"}'},
        {HEADER: json.dumps({"user_id": "a" * 5000})},
        {HEADER: ["ana"]},
        {HEADER: '{"user_id": "bob"}, {"user_id": "ana"}'},
        {HEADER: '{"user_id": "ana"}', HEADER.lower(): '{"user_id": "bob"}'},
        {HEADER: "[" * 100_000},
    ],
)
def test_without_one_caller_nothing_is_called(door: Door, headers: Any) -> None:
    answer = served(door)({"content": "x"}, passing(headers))
    assert answer["error"]["code"] == "identity_missing"
    assert kept(door, "ana") == kept(door, "bob") == []


@pytest.mark.parametrize("gateway", ["elsewhere-0123456789", "", None, [GATEWAY]])
@pytest.mark.parametrize("configured", [GATEWAY, ""])
def test_a_gateway_that_is_not_configured_is_refused(door: Door, gateway: Any, configured: str) -> None:
    context = as_gateway("save", ANA, bedrockAgentCoreGatewayId=gateway)
    answer = served(door, agentcore_gateways=configured)({"content": "x"}, context)
    assert answer["error"]["code"] == "access_denied"
    assert "STEELTRAP_AGENTCORE_GATEWAYS" in answer["error"]["message"]
    assert kept(door, "ana") == []


@pytest.mark.parametrize(
    "name", ["save", "___save", "memory___", "memory___Save", "memory__save", "memory___core.save", "", None, 5]
)
def test_a_tool_that_is_not_the_toolset_s_is_refused_with_those_that_are(door: Door, name: Any) -> None:
    answer = served(door, "notes")({"content": "x"}, as_gateway("", ANA, bedrockAgentCoreToolName=name))
    assert answer["error"]["code"] == "not_found"
    assert "`notes` has: memory_search, memory_save" in answer["error"]["message"]


def test_an_argument_that_names_a_user_is_refused_and_one_that_does_not_fit_is_told_to_the_model(door: Door) -> None:
    handler = served(door)
    for arguments, says in (
        ({"content": "x", "user_id": "bob"}, "`user_id` is not a field here"),
        ({}, "`content` is required"),
        ([], "one JSON object"),
        (None, "one JSON object"),
    ):
        answer = handler(arguments, as_gateway("save", ANA))
        assert answer["error"]["code"] == "invalid_input"
        assert says in answer["error"]["message"]
    assert kept(door, "ana") == kept(door, "bob") == []


def test_a_dialect_whose_errors_are_sentences_shows_that_they_are_errors(door: Door) -> None:
    answer = served(door, "categories")({"category": "idea", "content": "x"}, as_gateway("store_memory", ANA))
    assert "Invalid category 'idea'" in answer["error"]


@pytest.mark.parametrize("event", [as_operation, as_function])
def test_arguments_that_imitate_an_action_group_name_nobody(door: Door, event: Any) -> None:
    imitated = event("save", {"content": "x"}, Caller(UserRef("bob")))
    answer = served(door)(imitated, as_gateway("save", ANA))
    assert answer["error"]["code"] == "invalid_input"
    assert kept(door, "ana") == kept(door, "bob") == []


def test_an_identity_of_a_pool_can_t_imitate_a_gateway(door: Door) -> None:
    context = as_gateway("save", ANA)
    context.identity = SimpleNamespace(cognito_identity_id="us-east-1:pool-user")
    assert served(door)({"content": "x"}, context)["error"]["code"] == "invalid_input"
    assert kept(door, "ana") == []


def test_an_answer_of_any_size_is_one_that_a_model_can_read(door: Door) -> None:
    for start in range(0, 200, 100):
        items = [{"content": f"{nth} {'long ' * 200}"} for nth in range(start, start + 100)]
        door.invoke("core.batch_save", {"items": items}, ANA)
    handler, seen, offset = served(door), set[str](), 0
    while offset < 200:
        answer = handler({"limit": 200, "offset": offset}, as_gateway("list", ANA))
        assert len(json.dumps(answer, separators=(",", ":"))) <= 100_000
        seen |= {memory["id"] for memory in answer["memories"]}
        offset += len(answer["memories"])
        assert ("cut" not in answer) == (offset == 200)
        assert offset == 200 or f"Continue with `offset` {offset}." in answer["cut"]
    assert len(seen) == 200


def test_a_fault_is_an_answer_without_its_cause(failing: Door) -> None:
    answer = served(failing)({"content": "x"}, as_gateway("save", ANA))
    assert answer["error"]["code"] == "internal"
    assert "users_prod" not in json.dumps(answer)


def test_a_refusal_is_a_line_of_the_log(door: Door, telemetry: Telemetry, lines: Tell) -> None:
    observed = replace(door, observe=telemetry.observe)
    known = read_settings({}, agent_toolset="records", agentcore_gateways=GATEWAY)
    handler = agent_handler(open=lambda: observed, settings=known, telemetry=telemetry)
    handler({"content": "heron"}, as_gateway("nothing", ANA))
    handler({"contents": "heron"}, as_gateway("memory_store", ANA))
    assert [line["error"] for line in lines()] == ["not_found", "invalid_input"]
    assert "heron" not in json.dumps(lines())


def test_a_toolset_that_there_is_not_fails_the_function_at_its_start() -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_AGENT_TOOLSET must be one of agent, "):
        agent_handler(settings=read_settings({}, agent_toolset="nothing"))


# The request interceptor.


def token(**claims: Any) -> str:
    """A token as the gateway verified it; its signature is the gateway's to check."""
    parts = [{"alg": "RS256", "typ": "JWT"}, {"iss": ISSUER, **claims}]
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".c2ln"


def request(headers: Any, body: Any = None) -> dict[str, Any]:
    """https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/gateway-interceptors-types.html"""
    asked = {"path": "/mcp", "httpMethod": "POST", "headers": headers, "body": body or CALL}
    return {"interceptorInputVersion": "1.0", "mcp": {"rawGatewayRequest": {"body": "{}"}, "gatewayRequest": asked}}


CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "memory___save", "arguments": {"content": "x"}},
}


def intercept(event: Any, **given: str) -> Any:
    return interceptor_handler(settings=read_settings({}, oidc_issuer=ISSUER, **given))(event, None)


@pytest.mark.parametrize("name", ["Authorization", "authorization"])
def test_the_interceptor_names_the_user_of_the_token(name: str, door: Door) -> None:
    answer = intercept(request({name: f"Bearer {token(sub='Zoë', tenant='acme', agent_id='helper')}"}))
    assert answer["interceptorOutputVersion"] == "1.0"
    passed = answer["mcp"]["transformedGatewayRequest"]
    assert passed["body"] == CALL
    assert passed["headers"].keys() == {HEADER}
    assert passed["headers"][HEADER].isascii()
    saved = served(door)(CALL["params"]["arguments"], passing(passed["headers"]))
    [memory] = door.invoke("core.list", {}, Caller(UserRef("Zoë", "acme"))).body["memories"]
    assert (memory["id"], memory["agent_id"]) == (saved["id"], "helper")


def test_the_interceptor_reads_the_claims_that_the_settings_name() -> None:
    answer = intercept(request({"Authorization": f"Bearer {token(sub='x', username='ana')}"}), user_claim="username")
    assert json.loads(answer["mcp"]["transformedGatewayRequest"]["headers"][HEADER]) == {"user_id": "ana"}


def test_what_a_client_sends_under_the_header_s_name_is_replaced() -> None:
    sent = {"Authorization": f"Bearer {token(sub='ana')}", HEADER: '{"user_id": "bob"}'}
    answer = intercept(request(sent))
    assert json.loads(answer["mcp"]["transformedGatewayRequest"]["headers"][HEADER]) == {"user_id": "ana"}


@pytest.mark.parametrize(
    "headers",
    [
        None,
        {},
        [],
        {HEADER: '{"user_id": "bob"}'},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer a.b.c"},
        {"Authorization": "Bearer é.é.é"},
        {"Authorization": f"Bearer {token()}"},
        {"Authorization": f"Bearer {token(sub='')}"},
        {"Authorization": f"Bearer {token(sub=5)}"},
        {"Authorization": f"Bearer {token(sub='a' * 5000)}"},
        {"Authorization": f"Bearer {token(sub='ana', tenant=5)}"},
        {"Authorization": f"Bearer {token(sub='ana', iss='https://elsewhere.example')}"},
        {"Authorization": f"Bearer {token(sub='ana')}", "authorization": f"Bearer {token(sub='bob')}"},
    ],
)
@pytest.mark.parametrize("body", [CALL, [CALL], "text"])
def test_a_request_without_one_user_reaches_no_target(headers: Any, body: Any) -> None:
    answer = intercept(request(headers, body))
    assert answer["mcp"].keys() == {"transformedGatewayResponse"}
    refused = answer["mcp"]["transformedGatewayResponse"]
    assert refused["statusCode"] == 403
    assert refused["body"]["id"] == (7 if body == CALL else None)
    assert refused["body"]["error"]["message"]


@pytest.mark.parametrize("event", [None, [], {}, {"mcp": None}, {"mcp": {"gatewayRequest": 5}}])
def test_the_interceptor_takes_no_other_event(event: Any) -> None:
    assert intercept(event)["error"]["code"] == "invalid_input"


def test_the_interceptor_fails_at_its_start_without_an_issuer() -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_OIDC_ISSUER is not set"):
        interceptor_handler(settings=read_settings({}))


def test_a_request_that_the_interceptor_refuses_is_a_line_of_the_log(telemetry: Telemetry, lines: Tell) -> None:
    known = read_settings({}, oidc_issuer=ISSUER)
    interceptor_handler(settings=known, telemetry=telemetry)(request({"X": "heron"}), None)
    [line] = lines()
    assert (line["message"], line["error"]) == ("refused", "identity_missing")
    assert "heron" not in json.dumps(line)
