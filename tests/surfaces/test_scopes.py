"""OAuth scopes of tokens, on every surface that takes a token: who may read, who may write, and who is refused."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.auth.utils import extract_field_from_www_auth
from starlette.testclient import TestClient

from steeltrap.errors import InsufficientScope, InvalidInput, TokenRefused
from steeltrap.invoke import Door
from steeltrap.model import Caller, JsonObject, Permissions, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.asgi.middleware import ProtectedResource
from steeltrap.servers.auth.api_keys import ApiKeys, KeysOrTokens
from steeltrap.servers.auth.identity import Authorizer, ClaimNames, RequiredScopes, scopes_of
from steeltrap.servers.auth.oidc import IssuerKeys, OidcTokens
from steeltrap.servers.aws_lambda.agents import agent_handler, interceptor_handler
from steeltrap.servers.aws_lambda.asgi import app_handler, mcp_handler
from steeltrap.servers.aws_lambda.metadata import metadata_handler
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.servers.console import Console, console_routes
from steeltrap.servers.process.authentication import authentication
from steeltrap.settings import read_settings
from steeltrap.stores.shared_folders import LocalFolder
from surfaces.events import ARN, GATEWAY, as_gateway, as_url, as_v1, as_v2
from surfaces.issuer import AUDIENCE, Issuer, issuing

READ, WRITE = "memory:read", "memory:write"
SETTINGS = {"STEELTRAP_READ_SCOPE": READ, "STEELTRAP_WRITE_SCOPE": WRITE}
NAMES = ClaimNames(scopes=RequiredScopes(READ, WRITE))
ARGUMENTS: dict[str, JsonObject] = {"save": {"content": "x"}, "list": {}}
ISSUER = "https://issuer.example"
Claims = Mapping[str, Any]

pytestmark = pytest.mark.usefixtures("event_loop_closed")


@dataclass(frozen=True)
class Place:
    """The needs of a surface: the door, a folder for keys, an issuer of tokens."""

    door: Door
    folder: Path
    issuer: Issuer


@dataclass(frozen=True)
class Answer:
    """How a surface answered: its HTTP status, the header that asks for another token, and the sentence."""

    status: int
    challenge: str | None
    text: str


Surface = Callable[[Place, Claims, str], Answer]
"""Calls a `core` tool with a token of these claims."""


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as it:
        yield it


@pytest.fixture
def place(door: Door, tmp_path: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return Place(door, tmp_path, issuer)


def _tokens(place: Place) -> OidcTokens:
    return OidcTokens(IssuerKeys(place.issuer.url), (AUDIENCE,), NAMES)


def _posted(place: Place, identity: Any, claims: Claims, path: str, body: JsonObject) -> httpx2.Response:
    resource = ProtectedResource(place.issuer.url, "https://memory.example", NAMES.scopes.names)
    headers = {"Authorization": f"Bearer {place.issuer.token(**claims)}", "Accept": "application/json"}
    with TestClient(create_app(place.door, identity, local=False, resource=resource, closes_store=False)) as client:
        return client.post(path, json=body, headers=headers)


def _rpc(tool: str) -> JsonObject:
    params = {"name": tool, "arguments": ARGUMENTS[tool]}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _server(place: Place, claims: Claims, tool: str) -> Answer:
    got = _posted(place, _tokens(place), claims, f"/v1/core/{tool}", ARGUMENTS[tool])
    return Answer(got.status_code, got.headers.get("WWW-Authenticate"), got.text)


def _server_with_keys(place: Place, claims: Claims, tool: str) -> Answer:
    either = KeysOrTokens(ApiKeys(LocalFolder(place.folder / "keys")), _tokens(place))
    got = _posted(place, either, claims, f"/v1/core/{tool}", ARGUMENTS[tool])
    return Answer(got.status_code, got.headers.get("WWW-Authenticate"), got.text)


def _mcp_server(place: Place, claims: Claims, tool: str) -> Answer:
    got = _posted(place, _tokens(place), claims, "/mcp/core", _rpc(tool))
    return Answer(got.status_code, got.headers.get("WWW-Authenticate"), got.text)


def _flattened(claims: Claims) -> JsonObject:
    """Claims as API Gateway passes them on: each a text, and a list in brackets."""
    return {name: _flat(value) for name, value in claims.items()}


def _flat(value: object) -> str:
    return f"[{' '.join(map(_flat, value))}]" if isinstance(value, list) else str(value)


def _behind(as_event: Any, context: Callable[[Claims], JsonObject], of: str = "tool") -> Surface:
    def call(place: Place, claims: Claims, tool: str) -> Answer:
        path = "/mcp/core" if of == "mcp" else f"/v1/core/{tool}"
        event = as_event(path, json.dumps(_rpc(tool) if of == "mcp" else ARGUMENTS[tool]), None)
        event["headers"]["accept"] = "application/json"
        event["requestContext"]["authorizer"] = context({"sub": "ana", **claims})
        handler: Any
        if of == "mcp":
            handler = mcp_handler(open=lambda: place.door, identity=Authorizer(NAMES))
        elif of == "app":
            handler = app_handler(open=lambda: place.door, identity=Authorizer(NAMES))
        else:
            operation = place.door.catalogue.tool(f"core.{tool}").operation
            handler = tool_handler(operation, open=lambda: place.door, settings=read_settings(SETTINGS))
        answer = handler(event, None)
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        return Answer(answer["statusCode"], headers.get("www-authenticate"), answer["body"])

    return call


def _jwt(claims: Claims) -> JsonObject:
    return {"jwt": {"claims": _flattened(claims), "scopes": None}}


SURFACES: dict[str, Surface] = {
    "server": _server,
    "server with keys too": _server_with_keys,
    "server's MCP": _mcp_server,
    "HTTP API": _behind(as_v2, _jwt),
    "HTTP API, one function": _behind(as_v2, _jwt, "app"),
    "HTTP API, MCP": _behind(as_v2, _jwt, "mcp"),
    "HTTP API, Lambda authorizer": _behind(as_v2, lambda claims: {"lambda": dict(claims)}),
    "REST API, Cognito": _behind(as_v1, lambda claims: {"claims": _flattened(claims)}),
    "REST API, Lambda authorizer": _behind(as_v1, lambda claims: {"principalId": "ana", **_flattened(claims)}),
}

WRITERS: list[JsonObject] = [
    {"scope": WRITE},
    {"scope": f"openid {READ} {WRITE}"},
    {"scope": f"{WRITE}  openid"},
    {"scp": WRITE},
    {"scp": [WRITE]},
    {"scp": ["openid", WRITE]},
    {"scope": "openid", "scp": [WRITE]},
]
READERS: list[JsonObject] = [
    {"scope": READ},
    {"scope": f"openid {READ}"},
    {"scp": [READ, "openid"]},
    {"scope": f"{READ} memory:writer"},
    {"scope": f"{READ} xmemory:write"},
    {"scope": f"{READ} memory:write:all memory memory:"},
    {"scope": f"{READ} MEMORY:WRITE"},
    {"scope": f"{READ}\u00a0{WRITE} {READ}"},
    {"scope": f"{READ} \t{WRITE}"},
    {"scope": f"{READ} {WRITE},openid"},
    {"scp": [READ, "memory:writ", "memory:write/"]},
]
STRANGERS: list[JsonObject] = [
    {},
    {"scope": ""},
    {"scope": " "},
    {"scp": []},
    {"scope": "openid email"},
    {"scope": "memory:writer memory:reader"},
    {"scope": "memory:*"},
    {"scope": "*"},
    {"scope": f"{READ},{WRITE}"},
    {"scope": f"{READ}\t{WRITE}"},
    {"scp": ["memory:readwrite"]},
    {"scopes": WRITE, "Scope": WRITE, "roles": [WRITE]},
]


@pytest.mark.parametrize("surface", SURFACES)
def test_a_token_with_the_write_scope_may_do_everything(place: Place, surface: str) -> None:
    for claims in WRITERS:
        for tool in ARGUMENTS:
            answer = SURFACES[surface](place, claims, tool)
            assert answer.status == 200, (claims, answer)


@pytest.mark.parametrize("surface", SURFACES)
def test_a_token_with_the_read_scope_alone_changes_nothing(place: Place, surface: str) -> None:
    for claims in READERS:
        assert SURFACES[surface](place, claims, "list").status == 200, claims
        answer = SURFACES[surface](place, claims, "save")
        assert answer.status == 403, claims
        assert "may only read" in answer.text
        assert f"needs a token with the scope `{WRITE}`" in answer.text
        assert (answer.challenge or "").startswith('Bearer error="insufficient_scope", error_description="')
        assert f'scope="{WRITE}"' in (answer.challenge or "")
    assert place.door.invoke("core.list", {}, Caller(UserRef("ana"))).body["total"] == 0


@pytest.mark.parametrize("surface", SURFACES)
def test_a_token_with_neither_scope_is_refused(place: Place, surface: str) -> None:
    for claims in STRANGERS:
        for tool in ARGUMENTS:
            answer = SURFACES[surface](place, claims, tool)
            assert answer.status == 403, claims
            challenge = answer.challenge or ""
            assert challenge.startswith('Bearer error="insufficient_scope", error_description="')
            assert f'scope="{READ} {WRITE}"' in challenge
            assert f"`{READ}` or `{WRITE}`" in answer.text
    assert place.door.invoke("core.list", {}, Caller(UserRef("ana"))).body["total"] == 0


WRONG: list[JsonObject] = [
    {"scope": 5},
    {"scope": True},
    {"scope": {WRITE: True}},
    {"scp": [WRITE, 5]},
    {"scp": [[WRITE]]},
    {"scp": [None, WRITE]},
    {"scope": WRITE, "scp": {}},
]


@pytest.mark.parametrize("surface", ["server", "server with keys too", "server's MCP", "HTTP API, Lambda authorizer"])
def test_a_claim_of_another_type_is_refused_as_the_token_s_own_fault(place: Place, surface: str) -> None:
    for claims in WRONG:
        answer = SURFACES[surface](place, claims, "list")
        assert answer.status == 401, claims
        assert (answer.challenge or "").startswith('Bearer error="invalid_token", error_description="The claim `sc')


def test_a_server_s_403_leads_a_client_to_the_scopes_and_the_metadata(place: Place) -> None:
    got = _posted(place, _tokens(place), {"scope": "openid"}, "/mcp/core", _rpc("list"))
    assert got.status_code == 403
    assert extract_field_from_www_auth(got, "error") == "insufficient_scope"
    assert extract_field_from_www_auth(got, "scope") == f"{READ} {WRITE}"
    where = extract_field_from_www_auth(got, "resource_metadata")
    assert where == "https://memory.example/.well-known/oauth-protected-resource/mcp/core"


@pytest.mark.parametrize(
    "message",
    [
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b'{"method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["save"]}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": "save"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nosuch"}}',
        b"[" * 5000,
    ],
)
def test_a_message_that_calls_no_tool_is_answered_as_without_scopes(place: Place, message: bytes) -> None:
    answers = []
    for scope in (READ, WRITE):
        headers = {"Authorization": f"Bearer {place.issuer.token(scope=scope)}", "Content-Type": "application/json"}
        headers["Accept"] = "application/json, text/event-stream"
        with TestClient(create_app(place.door, _tokens(place), local=False, closes_store=False)) as client:
            got = client.post("/mcp/core", content=message, headers=headers)
        answers.append((got.status_code, got.text))
    assert answers[0] == answers[1]
    assert answers[0][0] in (200, 400)


def test_a_client_of_mcp_sees_the_tools_that_its_scope_opens(place: Place) -> None:
    for scope, accesses in ((READ, {"read"}), (WRITE, {"read", "write"})):
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        got = _posted(place, _tokens(place), {"scope": scope}, "/mcp/core", listing).json()
        names = {each["name"] for each in got["result"]["tools"]}
        tools = place.door.catalogue.toolset("core").tools.values()
        assert names == {tool.name for tool in tools if tool.access in accesses}


def test_the_metadata_names_the_scopes_and_none_if_none_is_asked_for(place: Place) -> None:
    settings = read_settings(
        {"STEELTRAP_OIDC_ISSUER": place.issuer.url, "STEELTRAP_OIDC_AUDIENCE": AUDIENCE, **SETTINGS},
        auth="oidc",
        data=place.folder,
    )
    told = authentication(settings, None, {})
    path = "/.well-known/oauth-protected-resource"
    with TestClient(
        create_app(place.door, told.identity, local=False, resource=told.resource, closes_store=False)
    ) as c:
        assert c.get(path).json()["scopes_supported"] == [READ, WRITE]
    event = as_v2(path, "", None)
    event["requestContext"]["http"]["method"] = "GET"
    for scopes, named in ((SETTINGS, [READ, WRITE]), ({"STEELTRAP_WRITE_SCOPE": WRITE}, [WRITE]), ({}, None)):
        handler = metadata_handler(settings=read_settings({"STEELTRAP_OIDC_ISSUER": ISSUER, **scopes}))
        assert json.loads(handler(event, None)["body"]).get("scopes_supported") == named


def _intercepted(claims: Claims) -> JsonObject:
    parts = [{"alg": "RS256"}, {"iss": ISSUER, "sub": "ana", **claims}]
    token = ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".c2ln"
    asked = {
        "path": "/mcp",
        "httpMethod": "POST",
        "headers": {"Authorization": f"Bearer {token}"},
        "body": _rpc("save"),
    }
    handler = interceptor_handler(settings=read_settings({"STEELTRAP_OIDC_ISSUER": ISSUER, **SETTINGS}))
    answer = handler({"interceptorInputVersion": "1.0", "mcp": {"gatewayRequest": asked}}, None)
    found: JsonObject = answer["mcp"]
    return found


def _through_the_gateway(place: Place, claims: Claims, tool: str) -> Any:
    headers = _intercepted(claims)["transformedGatewayRequest"]["headers"]
    settings = read_settings({}, agent_toolset="core", agentcore_gateways=GATEWAY)
    context = as_gateway(tool, None, bedrockAgentCorePropagatedHeaders=headers)
    return agent_handler(open=lambda: place.door, settings=settings)(ARGUMENTS[tool], context)


def test_through_an_agentcore_gateway_scopes_hold_too(place: Place) -> None:
    assert "error" not in _through_the_gateway(place, {"scope": WRITE}, "save")
    for claims in READERS:
        assert _through_the_gateway(place, claims, "list")["total"] == 1
        assert "may only read" in json.dumps(_through_the_gateway(place, claims, "save"))
    assert place.door.invoke("core.list", {}, Caller(UserRef("ana"))).body["total"] == 1
    for claims in [*STRANGERS, *WRONG]:
        refused = _intercepted(claims)["transformedGatewayResponse"]
        assert refused["statusCode"] == 403
        assert "scope" in refused["body"]["error"]["message"]


@pytest.mark.parametrize(
    ("as_event", "principal"),
    [(as_v2, {"authorizer": {"iam": {"userArn": ARN}}}), (as_v1, {"identity": {"userArn": ARN}, "authorizer": None})],
)
def test_a_signed_request_has_no_token_and_needs_no_scope(place: Place, as_event: Any, principal: JsonObject) -> None:
    event = as_event("/v1/core/save", '{"content": "x"}', None)
    event["requestContext"] |= principal
    handler = tool_handler("save", open=lambda: place.door, settings=read_settings(SETTINGS))
    assert handler(event, None)["statusCode"] == 200
    assert handler(as_url("/v1/core/save", '{"content": "x"}'), None)["statusCode"] == 200


def test_a_key_needs_no_scope(place: Place) -> None:
    keys = ApiKeys(LocalFolder(place.folder / "keys"))
    _, secret = keys.add(Caller(UserRef("ana")), "", place.door.clock.now())
    header = {"headers": [(b"authorization", f"Bearer {secret}".encode())]}
    assert KeysOrTokens(keys, _tokens(place)).caller(header) == Caller(UserRef("ana"))


@pytest.mark.parametrize("claims", [*WRITERS, *READERS, *STRANGERS, *WRONG])
def test_without_the_settings_scopes_say_nothing(claims: JsonObject) -> None:
    assert ClaimNames().caller({"sub": "ana", **claims}, {"headers": []}) == Caller(UserRef("ana"))


def test_with_the_write_scope_alone_a_token_may_do_everything_or_nothing() -> None:
    only = RequiredScopes(write=WRITE)
    assert only.limited(Permissions(), {"scope": WRITE}, flattened=False) == Permissions()
    with pytest.raises(InsufficientScope, match=f"needs the scope `{WRITE}`"):
        only.limited(Permissions(), {"scope": READ}, flattened=False)
    with pytest.raises(InsufficientScope):
        only.limited(Permissions(), {"scope": ""}, flattened=False)


def test_with_the_read_scope_alone_no_token_may_write() -> None:
    only = RequiredScopes(read=READ)
    limited = only.limited(Permissions(untrusted=True), {"scope": f"{READ} {WRITE}"}, flattened=False)
    assert limited == Permissions(read_only=True, untrusted=True)
    with pytest.raises(InsufficientScope):
        only.limited(Permissions(), {"scope": "", "scp": [""]}, flattened=False)


def test_brackets_of_a_token_itself_are_part_of_its_scopes() -> None:
    assert scopes_of({"scope": f"[{READ} {WRITE}]"}, flattened=False) == {f"[{READ}", f"{WRITE}]"}
    assert scopes_of({"scope": f"[{READ} {WRITE}]"}, flattened=True) == {READ, WRITE}


@pytest.mark.parametrize("scope", ["memory:read memory:write", " ", 'a"b', "a\\b", "lesen:ü", "a\nb", "a\tb"])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_one_scope(name: str, scope: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} must be one OAuth scope"):
        read_settings({name: scope})


SCOPE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"\\[]'), min_size=1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(SCOPE, max_size=6))
def test_scopes_are_read_the_same_however_they_are_written(scopes: list[str]) -> None:
    for claim in ("scope", "scp"):
        for value in (" ".join(scopes), scopes):
            assert scopes_of({claim: value}, flattened=False) == set(scopes)
        for flat in (" ".join(scopes), f"[{' '.join(scopes)}]"):
            assert scopes_of({claim: flat}, flattened=True) == set(scopes)


@given(SCOPE, st.lists(SCOPE, max_size=4))
def test_a_token_may_write_exactly_if_one_of_its_scopes_is_the_write_scope(wanted: str, scopes: list[str]) -> None:
    required = RequiredScopes(read="a-scope-of-its-own", write=wanted)
    try:
        allowed = required.limited(Permissions(), {"scope": " ".join(scopes)}, flattened=False)
    except InsufficientScope:
        assert wanted not in scopes
    else:
        assert allowed.read_only is (wanted not in scopes)


@given(JSON, JSON, st.booleans())
def test_no_claim_makes_a_token_fail_otherwise_than_by_a_refusal(scope: Any, scp: Any, flattened: bool) -> None:
    claims = {"scope": scope, "scp": scp}
    if all(_is_scopes(each) for each in claims.values()):
        assert "" not in scopes_of(claims, flattened=flattened)
    else:
        with pytest.raises(TokenRefused) as refused:
            scopes_of(claims, flattened=flattened)
        assert refused.value.details["reason"] == "invalid_token"


def _is_scopes(value: object) -> bool:
    listed = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return value is None or isinstance(value, str) or listed


def test_in_the_console_a_token_reads_or_writes_as_its_scopes_say(place: Place) -> None:
    place.door.invoke("core.save", {"content": "A lighthouse."}, Caller(UserRef("ana")))
    pages = partial(console_routes, Console(door=place.door))
    app = create_app(
        place.door, _tokens(place), local=False, public_url="http://testserver", closes_store=False, pages=pages
    )
    made = {}
    with TestClient(app, follow_redirects=False) as client:
        for scope in ("openid", READ, WRITE):
            headers = {"Authorization": f"Bearer {place.issuer.token(scope=scope)}", "Origin": "http://testserver"}
            page = client.get("/", headers=headers)
            form = {"content": f"By {scope}.", "once": scope.replace(":", "-")}
            written = client.post("/console/new", data=form, headers=headers)
            made[scope] = (page.status_code, "A lighthouse" in page.text, written.status_code)
    assert made == {"openid": (403, False, 403), READ: (200, True, 403), WRITE: (200, True, 303)}
