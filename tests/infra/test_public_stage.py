"""The template of a stage that callers reach from anywhere: scopes of tokens, pages that may call, its own domain."""

import json

import pytest
from infra.plan import mcp_function, tool_functions
from infra.stage import Stage
from mcp.shared.inbound import MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER
from pydantic import ValidationError
from synthesised import CERTIFICATE, Resource, template, told

from steeltrap.servers.auth.identity import CONVERSATION_HEADER
from steeltrap.servers.http import SECRETS, TIMEZONE, mcp_paths
from steeltrap.settings import read_settings
from steeltrap.toolsets import CATALOGUE

SCOPES = {"STEELTRAP_READ_SCOPE": "memory:read", "STEELTRAP_WRITE_SCOPE": "memory:write"}


def _routes(stage: str) -> dict[str, Resource]:
    return {route["RouteKey"]: route for route in template(stage).of_type("AWS::ApiGatewayV2::Route").values()}


def _scopes(function: Resource) -> dict[str, str]:
    return {name: value for name, value in function["Environment"]["Variables"].items() if name in SCOPES}


def test_the_gateway_asks_for_a_scope_that_the_function_behind_a_route_can_use() -> None:
    routes = _routes("agents")
    either = ["memory:read", "memory:write"]
    for plan in tool_functions(CATALOGUE):
        for path in plan.paths:
            asked = routes[f"POST {path}"]["AuthorizationScopes"]
            assert asked == (either if plan.access == "read" else ["memory:write"])
    for path in mcp_function(CATALOGUE).paths:
        assert routes[f"ANY {path}"]["AuthorizationScopes"] == either
    assert routes["$default"]["AuthorizationScopes"] == either
    assert _routes("public")["$default"]["AuthorizationScopes"] == either


@pytest.mark.parametrize("stage", ["agents", "public"])
def test_no_scope_is_asked_of_who_looks_where_to_get_a_token(stage: str) -> None:
    is_open = [route for route in _routes(stage).values() if route["AuthorizationType"] == "NONE"]
    assert len(is_open) > 2
    assert not any("AuthorizationScopes" in route for route in is_open)


@pytest.mark.parametrize(
    ("stage", "names"),
    [("public", ("http", "metadata")), ("agents", ("search", "save", "mcp", "metadata", "interceptor"))],
)
def test_every_function_that_reads_a_token_knows_the_scopes(stage: str, names: tuple[str, ...]) -> None:
    for name in names:
        assert _scopes(template(stage).function(name)) == SCOPES


def test_a_stage_without_scopes_asks_for_none() -> None:
    made = template("zones")
    assert not any("AuthorizationScopes" in route for route in _routes("zones").values())
    assert not any(map(_scopes, made.of_type("AWS::Lambda::Function").values()))


def test_with_the_read_scope_alone_the_gateway_lets_readers_in_and_functions_refuse_their_writes() -> None:
    stage = Stage(name="readers", auth="jwt", issuer="https://issuer.example", audience=("app",), read_scope="read")
    settings = read_settings(stage.environment())
    assert (settings.read_scope, settings.write_scope) == ("read", "")


PUBLIC = {"name": "public", "auth": "jwt", "issuer": "https://issuer.example", "audience": ("app",)}


def test_pages_of_the_named_origins_may_call_with_a_token_and_without_cookies() -> None:
    [api] = template("public").of_type("AWS::ApiGatewayV2::Api").values()
    cors = api["CorsConfiguration"]
    assert cors["AllowOrigins"] == ["https://app.example", "http://localhost:3000"]
    assert cors["AllowCredentials"] is False
    assert set(cors["AllowMethods"]) == {"GET", "POST"}
    allowed = {name.lower() for name in cors["AllowHeaders"]}
    own = {"authorization", "content-type", "idempotency-key", CONVERSATION_HEADER, SECRETS, TIMEZONE}
    of_mcp = {MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PROTOCOL_VERSION_HEADER}
    assert {name.lower() for name in own | of_mcp} <= allowed
    assert "*" not in allowed
    assert {"WWW-Authenticate", "Retry-After", "X-Steeltrap-Outcome"} <= set(cors["ExposeHeaders"])
    [every] = template("agents").of_type("AWS::ApiGatewayV2::Api").values()
    assert every["CorsConfiguration"]["AllowOrigins"] == ["*"]
    assert every["CorsConfiguration"]["AllowCredentials"] is False


def test_without_origins_no_page_may_call() -> None:
    [api] = template("zones").of_type("AWS::ApiGatewayV2::Api").values()
    assert "CorsConfiguration" not in api
    assert not any(key.startswith("OPTIONS") for key in _routes("zones"))


@pytest.mark.parametrize(
    ("stage", "paths"), [("public", ("/{proxy+}",)), ("agents", ("/{proxy+}", *mcp_paths(CATALOGUE)))]
)
def test_what_a_browser_asks_first_meets_no_authorizer_and_no_function_that_knows_the_store(
    stage: str, paths: tuple[str, ...]
) -> None:
    made, routes = template(stage), _routes(stage)
    asked = {key: route for key, route in routes.items() if key.startswith("OPTIONS")}
    assert set(asked) == {f"OPTIONS {path}" for path in paths}
    integrations = made.of_type("AWS::ApiGatewayV2::Integration")
    for route in asked.values():
        assert route["AuthorizationType"] == "NONE"
        integration = integrations[route["Target"]["Fn::Join"][1][1]["Ref"]]
        assert integration["IntegrationUri"]["Fn::GetAtt"][0].startswith("FunctionsMetadata")
    # A route for any method at the same path would be chosen before OPTIONS at every path.
    everywhere = {key.removeprefix("ANY ") for key in routes if key.startswith("ANY ")}
    assert everywhere <= {key.removeprefix("OPTIONS ") for key in asked}
    [live] = made.of_type("AWS::ApiGatewayV2::Stage").values()
    assert asked.keys() <= live["RouteSettings"].keys()


@pytest.mark.parametrize(
    "origin",
    [
        *("https://app.example", "https://app.example:8443", "http://localhost", "http://localhost:3000"),
        *("http://127.0.0.1:8080", "https://a-b.c1.example", "https://xn--bcher-kva.example", "*"),
    ],
)
def test_an_origin_is_what_a_browser_sends(origin: str) -> None:
    assert Stage(**PUBLIC, cors_origins=(origin,)).cors_origins == (origin,)


@pytest.mark.parametrize(
    "origin",
    [
        *("", "null", "app.example", "//app.example", "https://", "https:/app.example", "ftp://app.example"),
        *("https://app.example/", "https://app.example/page", "https://app.example?x", "https://app.example#x"),
        *("https://App.example", "HTTPS://app.example", "https://*.app.example", "https://*", "http://app.example"),
        *("https://ana:secret@app.example", "https://app.example:443", "https://app.example:99999", "https://a:0"),
        *("https://bücher.example", "https://app..example", "https://-app.example", "https://app.example "),
        *("https://app.example\n", "https://app.example,https://b.example", "http://localhost.evil.example"),
        *("http://127.0.0.1.evil.example", "chrome-extension://abc"),
    ],
)
def test_what_no_browser_sends_is_refused_with_how_to_write_it(origin: str) -> None:
    with pytest.raises(ValidationError, match="is not an origin: write it as a browser sends it"):
        Stage(**PUBLIC, cors_origins=(origin,))


def test_every_page_beside_some_is_refused_and_so_are_pages_that_would_have_to_sign() -> None:
    with pytest.raises(ValidationError, match="`\\*` allows every page: name it alone"):
        Stage(**PUBLIC, cors_origins=("https://app.example", "*"))
    with pytest.raises(ValidationError, match='`cors_origins` needs auth = "jwt"'):
        Stage(name="signed", cors_origins=("https://app.example",))


def test_a_stage_s_own_domain_is_all_the_api_s_and_the_outputs_name_it_and_its_dns_record() -> None:
    made = template("public")
    [(id, domain)] = made.of_type("AWS::ApiGatewayV2::DomainName").items()
    assert domain["DomainName"] == "memory.example.com"
    assert domain["DomainNameConfigurations"] == [
        {"CertificateArn": CERTIFICATE, "EndpointType": "REGIONAL", "SecurityPolicy": "TLS_1_2"}
    ]
    [mapping] = made.of_type("AWS::ApiGatewayV2::ApiMapping").values()
    [api], [live] = made.of_type("AWS::ApiGatewayV2::Api"), made.of_type("AWS::ApiGatewayV2::Stage")
    assert mapping == {"ApiId": {"Ref": api}, "DomainName": {"Ref": id}, "Stage": {"Ref": live}}
    outputs = {name: told(one["Value"]) for name, one in made.body["Outputs"].items()}
    assert outputs["Url"] == "https://memory.example.com"
    client = json.loads(outputs["McpClient"])["mcpServers"]["steeltrap"]
    assert client["url"] == "https://memory.example.com/mcp"
    assert outputs["DnsRecord"] == f"CNAME {id}.RegionalDomainName"
    assert outputs["DnsZone"] == f"{id}.RegionalHostedZoneId"


def test_a_stage_without_a_domain_has_the_api_s_own_address() -> None:
    made = template("zones")
    assert not made.of_type("AWS::ApiGatewayV2::DomainName") | made.of_type("AWS::ApiGatewayV2::ApiMapping")
    [api] = made.of_type("AWS::ApiGatewayV2::Api")
    assert told(made.body["Outputs"]["Url"]["Value"]) == f"{api}.ApiEndpoint"
    assert not {"DnsRecord", "DnsZone"} & made.body["Outputs"].keys()


@pytest.mark.parametrize("name", ["memory.example.com", "m.example", "a-b.c.example", "memory.xn--p1ai"])
def test_a_domain_name_is_taken(name: str) -> None:
    assert Stage(name="own", domain_name=name, certificate_arn=CERTIFICATE).domain_name == name


@pytest.mark.parametrize(
    "name",
    [
        *("https://memory.example.com", "memory.example.com/", "Memory.example.com", "memory", "memory.example.com."),
        *("*.example.com", "memory..example.com", "memory.example.com:443", "-m.example.com", "10.0.0.7", "bücher.de"),
        *("memory.example.com\n", " memory.example.com", "a" * 64 + ".example", "a." * 130 + "example"),
    ],
)
def test_what_is_no_domain_name_is_refused_with_how_to_write_it(name: str) -> None:
    with pytest.raises(ValidationError, match="is not a domain name: write it in lower case"):
        Stage(name="own", domain_name=name, certificate_arn=CERTIFICATE)


@pytest.mark.parametrize("given", [{"domain_name": "memory.example.com"}, {"certificate_arn": CERTIFICATE}])
def test_a_domain_without_a_certificate_is_refused_and_so_is_the_other_way_round(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="`domain_name` and `certificate_arn` need each other"):
        Stage(name="own", **given)


def test_a_certificate_of_another_service_is_refused() -> None:
    with pytest.raises(ValidationError, match="certificate_arn"):
        Stage(
            name="own",
            domain_name="memory.example.com",
            certificate_arn="arn:aws:iam::123456789012:server-certificate/x",
        )
