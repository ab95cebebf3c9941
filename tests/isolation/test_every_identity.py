"""Two users through every way that says who calls: they are two callers, and neither reads the other's memories."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys, KeysOrTokens
from steeltrap.servers.auth.identity import ClaimNames, Identity, TrustedHeaders
from steeltrap.servers.auth.oidc import IssuerKeys, OidcTokens
from steeltrap.servers.aws_lambda.agents import agent_handler
from steeltrap.servers.aws_lambda.asgi import app_handler, mcp_handler
from steeltrap.servers.aws_lambda.tools import tool_handler
from steeltrap.settings import read_settings
from steeltrap.stores.shared_folders import LocalFolder
from steeltrap.tools import Tool
from surfaces.callers import door_on
from surfaces.events import GATEWAY, as_alb, as_gateway, as_messages, as_url, as_v1, as_v2
from surfaces.issuer import AUDIENCE, Issuer, issuing

USERS = ("ana", "bob")
ROLE = "arn:aws:sts::123456789012:assumed-role/app"
POOLED = f"{ROLE}/CognitoIdentityCredentials"
NOW = datetime(2026, 1, 31, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class WatchedDoor(Door):
    """A door that notes who came through it."""

    came: list[Caller | None] = field(default_factory=list)

    def invoke(self, tool: Tool | str, arguments: object, caller: Caller | None, **rest: Any) -> Result:
        self.came.append(caller)
        return super().invoke(tool, arguments, caller, **rest)


@pytest.fixture
def door(tmp_path: Path) -> Iterator[WatchedDoor]:
    opened = door_on(tmp_path)
    yield WatchedDoor(**{name: getattr(opened, name) for name in Door.__dataclass_fields__})
    opened.store.close()


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as it:
        yield it


@dataclass(frozen=True)
class Place:
    """The needs of a form: the application, a folder for keys, an issuer of tokens."""

    door: WatchedDoor
    folder: Path
    issuer: Issuer


Send = Callable[[Place, str, str, Mapping[str, Any]], None]
"""Send one call of a `core` tool as a user."""


def region_id(user: str) -> str:
    """The id of a user's identity in a Cognito identity pool."""
    return f"us-east-1:00000000-0000-4000-8000-{user.encode().hex():0>12}"


def _path(tool: str) -> str:
    return f"/v1/core/{tool}"


def _function(place: Place, tool: str, event: Any, context: Any = None, **settings: str) -> Any:
    operation = place.door.catalogue.tool(f"core.{tool}").operation
    handler = tool_handler(operation, open=lambda: place.door, settings=read_settings(settings))
    return handler(event, context)


def _event(place: Place, tool: str, event: dict[str, Any]) -> None:
    assert _function(place, tool, event)["statusCode"] == 200


def _signed_v2(as_event: Any, principal: Callable[[str], dict[str, Any]]) -> Send:
    def send(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
        event = as_event(_path(tool), json.dumps(arguments))
        event["requestContext"]["authorizer"] = {"iam": principal(user)}
        _event(place, tool, event)

    return send


def _signed_v1(principal: Callable[[str], dict[str, Any]]) -> Send:
    def send(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
        event = as_v1(_path(tool), json.dumps(arguments), None)
        event["requestContext"] |= {"identity": principal(user), "authorizer": None}
        _event(place, tool, event)

    return send


def _authorized(as_event: Any, context: Callable[[str], dict[str, Any]]) -> Send:
    def send(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
        event = as_event(_path(tool), json.dumps(arguments), None)
        event["requestContext"]["authorizer"] = context(user)
        _event(place, tool, event)

    return send


def _balancer(several: bool) -> Send:
    def send(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
        operation = place.door.catalogue.tool(f"core.{tool}").operation
        behind = TrustedHeaders(user_header="x-amzn-oidc-identity")
        headers = {"x-amzn-oidc-identity": user, "x-user-id": "mallory"}
        event = as_alb(_path(tool), json.dumps(arguments), headers=headers, several=several)
        assert tool_handler(operation, open=lambda: place.door, identity=behind)(event, None)["statusCode"] == 200

    return send


def _message(user: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"toolset": "core", "tool": tool, "arguments": arguments, "caller": {"user_id": user}}


def _queue(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    answer = _function(place, tool, as_messages(_message(user, tool, arguments)), STEELTRAP_QUEUE_CALLERS="true")
    assert answer == {"batchItemFailures": []}


def _direct(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    assert "error" not in _function(place, tool, _message(user, tool, arguments))


def _client_context(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    """A client context says what its sender likes: here that everybody is Mallory."""
    custom = {"user_id": "mallory", "sub": "mallory", "caller": {"user_id": "mallory"}}
    context = SimpleNamespace(client_context=SimpleNamespace(custom=custom, env=custom, client=None), identity=None)
    assert "error" not in _function(place, tool, _message(user, tool, arguments), context)


def _invoker(user: str) -> Any:
    found = SimpleNamespace(cognito_identity_id=region_id(user), cognito_identity_pool_id="us-east-1:pool")
    return SimpleNamespace(identity=found, client_context=None)


def _direct_by_pool(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    event = {"toolset": "core", "tool": tool, "arguments": arguments}
    assert "error" not in _function(place, tool, event, _invoker(user))


def _gateway(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    settings = read_settings({}, agent_toolset="core", agentcore_gateways=GATEWAY)
    handler = agent_handler(open=lambda: place.door, settings=settings)
    assert "error" not in handler(arguments, as_gateway(tool, Caller(UserRef(user))))


def _server(place: Place, identity: Identity, headers: dict[str, str], tool: str, arguments: Mapping[str, Any]) -> None:
    app = create_app(place.door, identity, local=False, closes_store=False)
    with TestClient(app) as client:
        assert client.post(_path(tool), json=arguments, headers=headers).status_code == 200


def _headers(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    _server(place, TrustedHeaders(), {"X-User-Id": user, "X-Forwarded-User": "mallory"}, tool, arguments)


def _keys(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    keys = ApiKeys(LocalFolder(place.folder / "keys"))
    _, secret = keys.add(Caller(UserRef(user)), "", NOW)
    _server(place, keys, {"Authorization": f"Bearer {secret}", "X-User-Id": "mallory"}, tool, arguments)


def _tokens(place: Place) -> OidcTokens:
    return OidcTokens(IssuerKeys(place.issuer.url), (AUDIENCE,), ClaimNames())


def _token(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {place.issuer.token(sub=user)}", "X-User-Id": "mallory"}
    _server(place, _tokens(place), headers, tool, arguments)


def _key_beside_tokens(place: Place, user: str, tool: str, arguments: Mapping[str, Any]) -> None:
    keys = ApiKeys(LocalFolder(place.folder / "keys"))
    _, secret = keys.add(Caller(UserRef(user)), "", NOW)
    _server(place, KeysOrTokens(keys, _tokens(place)), {"Authorization": f"Bearer {secret}"}, tool, arguments)


def _pooled_v2(user: str) -> dict[str, Any]:
    return {
        "accessKey": "ASIA",
        "accountId": "123456789012",
        "callerId": "AROA:CognitoIdentityCredentials",
        "cognitoIdentity": {
            "amr": ["authenticated", "cognito-idp.us-east-1.amazonaws.com/us-east-1_POOL"],
            "identityId": region_id(user),
            "identityPoolId": "us-east-1:6f1d5c2e-0000-4000-8000-000000000000",
        },
        "principalOrgId": "aws:PrincipalOrgID",
        "userArn": POOLED,
        "userId": "AROA:CognitoIdentityCredentials",
    }


def _pooled_v1(user: str) -> dict[str, Any]:
    return {
        "accountId": "123456789012",
        "caller": "AROA:CognitoIdentityCredentials",
        "cognitoAuthenticationType": "authenticated",
        "cognitoIdentityId": region_id(user),
        "cognitoIdentityPoolId": "us-east-1:6f1d5c2e-0000-4000-8000-000000000000",
        "sourceIp": "192.0.2.1",
        "user": "AROA:CognitoIdentityCredentials",
        "userArn": POOLED,
    }


def _iam_user(user: str) -> str:
    return f"arn:aws:iam::123456789012:user/{user}"


def _role_session(user: str) -> str:
    return f"{ROLE}/{user}"


def _v2_signed(path: str, body: str) -> dict[str, Any]:
    return as_v2(path, body, None)


def _same(user: str) -> str:
    return user


FORMS: dict[str, tuple[Send, Callable[[str], str]]] = {
    "HTTP API, IAM user": (
        _signed_v2(_v2_signed, lambda user: {"userArn": _iam_user(user), "cognitoIdentity": None}),
        _iam_user,
    ),
    "HTTP API, role session": (_signed_v2(_v2_signed, lambda user: {"userArn": _role_session(user)}), _role_session),
    "HTTP API, identity pool": (_signed_v2(_v2_signed, _pooled_v2), region_id),
    "REST API, IAM user": (
        _signed_v1(lambda user: {"userArn": _iam_user(user), "cognitoIdentityId": None}),
        _iam_user,
    ),
    "REST API, identity pool": (_signed_v1(_pooled_v1), region_id),
    "function URL, IAM user": (_signed_v2(as_url, lambda user: {"userArn": _iam_user(user)}), _iam_user),
    "function URL, identity pool": (_signed_v2(as_url, _pooled_v2), region_id),
    "HTTP API, JWT": (_authorized(as_v2, lambda user: {"jwt": {"claims": {"sub": user}, "scopes": None}}), _same),
    "HTTP API, Lambda authorizer": (_authorized(as_v2, lambda user: {"lambda": {"sub": user}}), _same),
    "REST API, Cognito user pool": (_authorized(as_v1, lambda user: {"claims": {"sub": user}}), _same),
    "REST API, Lambda authorizer": (_authorized(as_v1, lambda user: {"principalId": user}), _same),
    "load balancer": (_balancer(several=False), _same),
    "load balancer, repeated headers apart": (_balancer(several=True), _same),
    "queue": (_queue, _same),
    "direct invocation": (_direct, _same),
    "direct invocation, client context": (_client_context, _same),
    "direct invocation, identity pool": (_direct_by_pool, region_id),
    "AgentCore gateway": (_gateway, _same),
    "headers": (_headers, _same),
    "keys": (_keys, _same),
    "token": (_token, _same),
    "keys or tokens": (_key_beside_tokens, _same),
}


@pytest.mark.parametrize("form", FORMS)
def test_two_users_never_share_a_caller(door: WatchedDoor, tmp_path: Path, issuer: Issuer, form: str) -> None:
    send, user_id = FORMS[form]
    place = Place(door, tmp_path, issuer)
    for user in USERS:
        send(place, user, "save", {"content": f"Of {user}."})
        send(place, user, "list", {})
    ana, bob = Caller(UserRef(user_id("ana"))), Caller(UserRef(user_id("bob")))
    assert door.came == [ana, ana, bob, bob]
    assert ana != bob
    for caller, user in ((ana, "ana"), (bob, "bob")):
        listed = door.invoke("core.list", {}, caller).body["memories"]
        assert [memory["content"] for memory in listed] == [f"Of {user}."]


@pytest.mark.parametrize("principal", [{}, {"cognitoIdentity": None}, {"cognitoIdentity": {"identityId": ""}}])
@pytest.mark.parametrize("as_event", [_v2_signed, as_url])
def test_someone_of_an_identity_pool_without_an_identity_is_nobody(
    door: WatchedDoor, tmp_path: Path, issuer: Issuer, as_event: Any, principal: dict[str, Any]
) -> None:
    event = as_event(_path("save"), '{"content": "Whose?"}')
    event["requestContext"]["authorizer"] = {"iam": {"userArn": POOLED, **principal}}
    _refused(door, _function(Place(door, tmp_path, issuer), "save", event))


@pytest.mark.parametrize("principal", [{}, {"cognitoIdentityId": None}, {"cognitoIdentityId": " "}])
def test_behind_a_rest_api_too(door: WatchedDoor, tmp_path: Path, issuer: Issuer, principal: dict[str, Any]) -> None:
    event = as_v1(_path("save"), '{"content": "Whose?"}', None)
    event["requestContext"]["identity"] = {"userArn": POOLED, **principal}
    _refused(door, _function(Place(door, tmp_path, issuer), "save", event))


def _refused(door: WatchedDoor, answer: Any) -> None:
    assert answer["statusCode"] == 401
    assert "carries no identity id" in json.loads(answer["body"])["detail"]
    assert door.came == []


@pytest.mark.parametrize("caller", [{"user_id": "bob"}, {"tenant": "acme"}, {"agent_id": "other"}])
def test_an_identity_of_a_pool_that_invokes_directly_names_nobody_else(
    door: WatchedDoor, tmp_path: Path, issuer: Issuer, caller: dict[str, str]
) -> None:
    event = {"toolset": "core", "tool": "list", "arguments": {}, "caller": caller}
    answer = _function(Place(door, tmp_path, issuer), "list", event, _invoker("ana"))
    assert answer["error"]["code"] == "access_denied"
    assert door.came == []


def test_an_identity_of_a_pool_may_name_its_conversation(door: WatchedDoor, tmp_path: Path, issuer: Issuer) -> None:
    event = {"toolset": "core", "tool": "list", "caller": {"conversation_id": "c"}}
    _function(Place(door, tmp_path, issuer), "list", event, _invoker("ana"))
    assert door.came == [Caller(UserRef(region_id("ana")), None, "c")]


@pytest.mark.parametrize(
    "event",
    [
        as_v2(_path("list"), "{}", Caller(UserRef("bob"))),
        as_v1(_path("list"), "{}", Caller(UserRef("bob"))),
        as_messages(_message("bob", "list", {})),
    ],
)
def test_an_identity_of_a_pool_that_imitates_an_event_is_refused(
    door: WatchedDoor, tmp_path: Path, issuer: Issuer, event: dict[str, Any]
) -> None:
    answer = _function(Place(door, tmp_path, issuer), "list", event, _invoker("ana"), STEELTRAP_QUEUE_CALLERS="true")
    assert answer["error"]["code"] == "invalid_input"
    assert door.came == []


@pytest.mark.parametrize("of", [app_handler, mcp_handler])
def test_by_the_functions_of_whole_surfaces_too(door: WatchedDoor, of: Any) -> None:
    answer = of(open=lambda: door, identity=None)(as_v2(_path("list"), "{}", Caller(UserRef("bob"))), _invoker("ana"))
    assert answer["error"]["code"] == "invalid_input"
    assert door.came == []
