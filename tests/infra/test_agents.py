"""The function for agents of AWS's own platforms, the gateway before it, and who may call what."""

import json
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint_file
from infra.plan import agent_function
from infra.stage import Stage
from pydantic import ValidationError
from synthesised import STAGES, Template, synthesise, template, told

from steeltrap.errors import InvalidInput
from steeltrap.servers.schemas import schemas
from steeltrap.toolsets import CATALOGUE

AGENT = "arn:aws:bedrock:eu-west-1:123456789012:agent/8ZXY0W8P1H"
KINDS = ("AWS::BedrockAgentCore::Gateway", "AWS::BedrockAgentCore::GatewayTarget")


def environment(made: Template, name: str) -> dict[str, Any]:
    variables: dict[str, Any] = made.function(name)["Environment"]["Variables"]
    return variables


def functions(made: Template) -> set[str]:
    return {one["FunctionName"].rpartition("-")[2] for one in made.of_type("AWS::Lambda::Function").values()}


def test_a_stage_has_no_door_for_agents_unless_it_says_so() -> None:
    for stage in ("domain", "endpoint"):
        assert not functions(template(stage)) & {"agent", "interceptor"}
        assert not any(template(stage).of_type(kind) for kind in KINDS)


def test_the_gateway_checks_tokens_and_asks_the_interceptor_with_their_headers() -> None:
    made = template("agents")
    [gateway] = made.of_type(KINDS[0]).values()
    assert (gateway["AuthorizerType"], gateway["ProtocolType"]) == ("CUSTOM_JWT", "MCP")
    assert gateway["AuthorizerConfiguration"]["CustomJWTAuthorizer"] == {
        "AllowedAudience": ["app"],
        "DiscoveryUrl": "https://issuer.example/.well-known/openid-configuration",
    }
    [interceptor] = gateway["InterceptorConfigurations"]
    assert told(interceptor["Interceptor"]["Lambda"]["Arn"]).startswith("FunctionsInterceptor")
    assert interceptor["InterceptionPoints"] == ["REQUEST"]
    assert interceptor["InputConfiguration"] == {"PassRequestHeaders": True}
    assert gateway["ProtocolConfiguration"]["Mcp"]["Instructions"] == CATALOGUE.toolset("agent").instructions


def test_of_cognito_s_tokens_the_client_is_checked() -> None:
    issuer = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_EXAMPLE"
    [gateway] = synthesise(STAGES["agents"].model_copy(update={"issuer": issuer}), CATALOGUE).of_type(KINDS[0]).values()
    assert gateway["AuthorizerConfiguration"]["CustomJWTAuthorizer"] == {
        "AllowedClients": ["app"],
        "DiscoveryUrl": f"{issuer}/.well-known/openid-configuration",
    }


def test_the_target_is_the_toolset_and_lets_only_the_caller_s_header_through() -> None:
    made = template("agents")
    [target] = made.of_type(KINDS[1]).values()
    assert target["Name"] == "memory"
    assert target["MetadataConfiguration"] == {"AllowedRequestHeaders": ["X-Steeltrap-Caller"]}
    mcp = target["TargetConfiguration"]["Mcp"]["Lambda"]
    assert told(mcp["LambdaArn"]).startswith("FunctionsAgentAlias")
    assert _lowered(mcp["ToolSchema"]["InlinePayload"]) == schemas(CATALOGUE.toolset("agent"), "agentcore")


def test_the_gateway_s_role_may_invoke_two_functions_and_nothing_else() -> None:
    made = template("agents")
    [(role_id, role)] = [(id, one) for id, one in made.of_type("AWS::IAM::Role").items() if "GatewayRole" in id]
    [policy] = role["Policies"]
    [statement] = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "lambda:InvokeFunction"
    assert [told(arn).rpartition(":function:")[2] for arn in statement["Resource"]] == [
        "steeltrap-agents-agent:live",
        "steeltrap-agents-interceptor",
    ]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "bedrock-agentcore.amazonaws.com"}
    assert trust["Condition"].keys() == {"StringEquals", "ArnLike"}
    assert not [one for one in made.of_type("AWS::IAM::Policy").values() if role_id in json.dumps(one["Roles"])]


def test_the_function_accepts_the_stage_s_gateway_and_those_that_it_names() -> None:
    variables = environment(template("agents"), "agent")
    gateways = told(variables["STEELTRAP_AGENTCORE_GATEWAYS"]).split(",")
    assert gateways[0] == "other-0123456789"
    assert gateways[1].endswith(".GatewayIdentifier")
    assert variables["STEELTRAP_BEDROCK_AGENTS"] == "8ZXY0W8P1H"
    assert variables["STEELTRAP_AGENT_TOOLSET"] == "agent"
    without = environment(template("action-groups"), "agent")
    assert (without["STEELTRAP_AGENTCORE_GATEWAYS"], without["STEELTRAP_AGENT_TOOLSET"]) == ("", "core")


@pytest.mark.parametrize("stage", ["agents", "action-groups"])
def test_of_all_bedrock_agents_those_of_the_stage_may_invoke_the_function(stage: str) -> None:
    made = template(stage)
    [allowed] = [
        one for one in made.of_type("AWS::Lambda::Permission").values() if one["Principal"] == "bedrock.amazonaws.com"
    ]
    assert (allowed["SourceArn"], allowed["SourceAccount"]) == (AGENT, "123456789012")
    assert told(allowed["FunctionName"]).startswith("FunctionsAgent")


def test_no_route_of_the_api_leads_to_the_function() -> None:
    for one in template("agents").of_type("AWS::ApiGatewayV2::Integration").values():
        assert not told(one["IntegrationUri"]).startswith(("FunctionsAgent", "FunctionsInterceptor"))


def test_the_interceptor_knows_the_issuer_and_its_claims_and_no_store() -> None:
    made = template("agents")
    assert {action.partition(":")[0] for action, _ in made.allowed("interceptor")} == {"logs", "xray"}
    variables = {name: value for name, value in environment(made, "interceptor").items() if "STEELTRAP" in name}
    assert variables == {
        "STEELTRAP_SERVICE": "steeltrap-agents",
        "STEELTRAP_OIDC_ISSUER": "https://issuer.example/",
        "STEELTRAP_USER_CLAIM": "username",
        "STEELTRAP_UNTRUSTED_CLAIM": "reads_mail",
        "STEELTRAP_READ_SCOPE": "memory:read",
        "STEELTRAP_WRITE_SCOPE": "memory:write",
    }


def test_the_function_may_do_and_has_the_time_for_what_its_toolset_needs() -> None:
    plan = agent_function(CATALOGUE, "notes")
    assert (list(plan.tools), plan.paths) == (list(CATALOGUE.toolset("notes").tools.values()), ())
    made = template("agents")
    assert {action for action, _ in made.allowed("agent")} >= {"dynamodb:PutItem", "es:ESHttpPost"}
    assert not {action for action, _ in made.allowed("agent")} & {"dynamodb:Scan", "es:ESHttpDelete", "s3:PutObject"}
    assert made.function("agent")["Timeout"] == agent_function(CATALOGUE, "agent").timeout


def test_outputs_tell_the_gateway_s_address_and_the_function() -> None:
    outputs = template("agents").body["Outputs"]
    assert told(outputs["GatewayUrl"]["Value"]).endswith(".GatewayUrl")
    assert told(outputs["AgentFunction"]["Value"]).startswith("FunctionsAgentAlias")
    assert "GatewayUrl" not in template("action-groups").body["Outputs"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"agent": {"gateway": True}}, 'needs auth = "jwt"'),
        ({"agent": {}}, "nobody could call it"),
        ({"agent": {"toolset": "nothing", "bedrock_agents": (AGENT,)}}, "there is no toolset `nothing`"),
        ({"agent": {"bedrock_agents": ("8ZXY0W8P1H",)}}, "bedrock_agents"),
        ({"agent": {"bedrock_agents": (AGENT.replace("8ZXY0W8P1H", "*"),)}}, "bedrock_agents"),
        ({"agent": {"gateways": ("my gateway",)}}, "gateways"),
        ({"settings": {"agentcore_gateways": "my-0123456789"}}, "the stack decides that"),
        ({"settings": {"bedrock_agents": "8ZXY0W8P1H"}}, "the stack decides that"),
        ({"settings": {"agent_toolset": "core"}}, "the stack decides that"),
    ],
)
def test_a_stage_whose_agents_do_not_fit_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises((ValidationError, InvalidInput), match=says):
        Stage(name="wrong", **wrong)


def test_cfn_lint_knows_the_gateway_s_resources(tmp_path: Path) -> None:
    [gateway] = template("agents").of_type(KINDS[0]).values()
    resource = {"Type": KINDS[0], "Properties": gateway | {"AuthorizerType": "EVERYBODY"}}
    file = tmp_path / "template.json"
    file.write_text(json.dumps({"Resources": {"Gateway": resource}}))  # alone: the whole template takes seconds
    assert any("EVERYBODY" in str(match) for match in lint_file(file))


def _lowered(value: Any, *, names: bool = True) -> Any:
    """CloudFormation's names with capitals as the API has them; a schema's own properties stay as they are."""
    if isinstance(value, list):
        return [_lowered(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        (f"{key[0].lower()}{key[1:]}" if names else key): _lowered(item, names=key != "Properties")
        for key, item in value.items()
    }
