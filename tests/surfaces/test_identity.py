"""The caller comes from headers that a gateway sets or an authorizer's claims, never from arguments or a default."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from steeltrap.errors import IdentityMissing, InvalidInput
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import Authorizer, ClaimNames, LocalUser, TrustedHeaders
from surfaces.callers import opened
from surfaces.serving import served

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/core/list", {}),
    ("/v1/notes/memory_search", {"query": "x"}),
    ("/mcp", LIST),
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with opened(tmp_path_factory.mktemp("memories")) as door:
        app = create_app(door, TrustedHeaders(), local=False, closes_store=False)
        with served(app) as url, httpx.Client(base_url=url, headers=ACCEPT) as client:
            yield client


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_a_known_user_is_served(gateway: httpx.Client, path: str, body: dict[str, Any]) -> None:
    assert gateway.post(path, json=body, headers={"X-User-Id": "ana"}).status_code == 200


@pytest.mark.parametrize(("path", "body"), CALLS)
@pytest.mark.parametrize("headers", [{}, {"X-User-Id": ""}, {"X-Agent-Id": "a"}, {"X-User": "ana"}])
def test_a_call_without_a_user_is_nobodys(
    gateway: httpx.Client, path: str, body: dict[str, Any], headers: dict[str, str]
) -> None:
    answer = gateway.post(path, json=body, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    named = "No user is known for this call: the gateway must name one in the header `X-User-Id`."
    words = "user context is not available" if "/notes/" in path else named
    assert words in answer.text


@pytest.mark.parametrize(("path", "body"), CALLS)
@pytest.mark.parametrize("name", ["X-User-Id", "X-Agent-Id", "X-Conversation-Id"])
def test_a_header_sent_twice_is_refused(gateway: httpx.Client, path: str, body: dict[str, Any], name: str) -> None:
    headers = [("X-User-Id", "ana"), (name, "bob"), (name.lower(), "eve")]
    answer = gateway.post(path, json=body, headers=headers)
    assert answer.status_code == 400
    assert "send it once" in answer.text


@pytest.mark.parametrize(("path", "body"), CALLS)
@pytest.mark.parametrize("user", [b"\xff", b"a" * 2049])
def test_a_user_that_no_store_can_keep_is_refused(
    gateway: httpx.Client, path: str, body: dict[str, Any], user: bytes
) -> None:
    answer = gateway.post(path, json=body, headers=[(b"X-User-Id", user)])
    assert answer.status_code == 400


def test_a_user_of_another_script_is_that_user(gateway: httpx.Client) -> None:
    for user, text in (("アナ", "Ana's."), ("アン", "Anne's.")):
        headers = [(b"X-User-Id", user.encode())]
        gateway.post("/v1/core/save", json={"content": text}, headers=headers)
        listed = gateway.post("/v1/core/list", json={}, headers=headers).json()
        assert [memory["content"] for memory in listed["memories"]] == [text]


@pytest.mark.parametrize("where", ["body", "query", "cookie", "other header"])
def test_naming_another_user_anywhere_else_changes_nothing(gateway: httpx.Client, where: str) -> None:
    gateway.post("/v1/core/save", json={"content": "Bob's secret."}, headers={"X-User-Id": "bob"})
    more: dict[str, Any] = {
        "body": {"json": {"user_id": "bob"}},
        "query": {"json": {}, "params": {"user_id": "bob", "X-User-Id": "bob"}},
        "cookie": {"json": {}, "cookies": {"X-User-Id": "bob"}},
        "other header": {"json": {}, "headers": {"X-Forwarded-User": "bob", "X_User_Id": "bob"}},
    }[where]
    headers = {"X-User-Id": "eve", **more.pop("headers", {})}
    request = gateway.build_request("POST", "/v1/core/list", headers=headers, **more)
    answer = gateway.send(request)
    assert answer.status_code == (400 if where == "body" else 200)
    assert "secret" not in answer.text


def test_the_local_user_may_name_a_conversation_only() -> None:
    scope = {"headers": [(b"x-conversation-id", b"chat-1"), (b"x-user-id", b"bob")]}
    assert LocalUser("local", "default").caller(scope) == Caller(UserRef("local"), "default", "chat-1")


@pytest.mark.parametrize(
    ("authorizer", "caller"),
    [
        ({"jwt": {"claims": {"sub": "ana", "agent_id": "a1"}}}, Caller(UserRef("ana"), "a1")),
        (
            {"jwt": {"claims": {"sub": "ana", "conversation_id": "c", "tenant": "t"}}},
            Caller(UserRef("ana", "t"), None, "c"),
        ),
        ({"lambda": {"sub": "ana", "agent_id": "a1"}}, Caller(UserRef("ana"), "a1")),
        ({"claims": {"sub": "ana"}}, Caller(UserRef("ana"))),
        ({"principalId": "ana", "agent_id": "a1"}, Caller(UserRef("ana"), "a1")),
        ({"jwt": {"claims": {"user": "ana"}}}, None),
        ({"jwt": {"claims": {"sub": ""}}}, None),
        ({"jwt": {"claims": None}, "sub": "ana"}, None),
        ({"jwt": {"claims": {"sub": ["ana"]}}}, None),
        ({"jwt": {"claims": {"principalId": "ana"}}}, None),
        ({"principalId": "ana", "jwt": "text", "claims": "text"}, Caller(UserRef("ana"))),
        ({"iam": {"userId": "x"}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_an_authorizers_claims_name_the_caller(authorizer: Any, caller: Caller | None) -> None:
    event = {"requestContext": {"authorizer": authorizer}}
    assert Authorizer().caller({"headers": [(b"x-user-id", b"bob")], "aws.event": event}) == caller


@pytest.mark.parametrize("tenant", [5, 0, False, ["acme"], {"id": "acme"}, " "])
def test_a_tenant_that_is_no_text_is_refused_and_never_read_as_none(tenant: Any) -> None:
    event = {"requestContext": {"authorizer": {"lambda": {"sub": "ana", "tenant": tenant}}}}
    with pytest.raises(IdentityMissing, match="`tenant` must be a text"):
        Authorizer().caller({"headers": [], "aws.event": event})


@pytest.mark.parametrize("tenant", [None, ""])
def test_no_tenant_is_no_tenant(tenant: Any) -> None:
    event = {"requestContext": {"authorizer": {"lambda": {"sub": "ana", "tenant": tenant}}}}
    assert Authorizer().caller({"headers": [], "aws.event": event}) == Caller(UserRef("ana"))


def test_a_conversation_may_come_by_header_where_no_claim_says_it() -> None:
    event = {"requestContext": {"authorizer": {"jwt": {"claims": {"sub": "ana"}}}}}
    scope = {"headers": [(b"x-conversation-id", b"chat-1")], "aws.event": event}
    assert Authorizer().caller(scope) == Caller(UserRef("ana"), None, "chat-1")


SECRET = "0123456789abcdef"


def test_with_a_secret_only_the_gateway_names_the_user() -> None:
    identity = TrustedHeaders(secret=SECRET)
    ana = (b"x-user-id", b"ana")
    assert identity.caller({"headers": [ana, (b"x-gateway-secret", SECRET.encode())]}) == Caller(UserRef("ana"))
    for sent in (b"", b" ", SECRET[:-1].encode(), (SECRET + "a").encode(), SECRET.upper().encode(), "é".encode()):
        with pytest.raises(IdentityMissing, match="`X-Gateway-Secret`") as refused:
            identity.caller({"headers": [ana, (b"x-gateway-secret", sent)]})
        assert SECRET not in refused.value.message
    with pytest.raises(IdentityMissing):
        identity.caller({"headers": [ana]})
    with pytest.raises(InvalidInput, match="send it once"):
        identity.caller({"headers": [ana, *[(b"x-gateway-secret", SECRET.encode())] * 2]})
    assert SECRET not in repr(identity)


@pytest.mark.parametrize("sent", [b"ana ", b"\tana", b" ana \t"])
def test_spaces_around_the_value_of_a_header_are_no_part_of_it(sent: bytes) -> None:
    assert TrustedHeaders().caller({"headers": [(b"x-user-id", sent)]}) == Caller(UserRef("ana"))


def test_a_user_header_twice_is_refused_whatever_its_case() -> None:
    with pytest.raises(InvalidInput):
        TrustedHeaders().caller({"headers": [(b"X-User-Id", b"ana"), (b"x-user-id", b"ana")]})


@pytest.mark.parametrize(
    ("said", "untrusted"), [({}, False), ({"X-Untrusted": "true"}, True), ({"X-Untrusted": "False"}, False)]
)
def test_a_gateway_says_whom_not_to_trust(gateway: httpx.Client, said: dict[str, str], untrusted: bool) -> None:
    saved = gateway.post("/v1/core/save", json={"content": "x"}, headers={"X-User-Id": f"trust-{said}", **said})
    assert saved.status_code == 200, saved.text
    read = gateway.post("/v1/core/get", json={"id": saved.json()["id"]}, headers={"X-User-Id": f"trust-{said}"})
    assert read.json().get("untrusted", False) is untrusted


def test_what_says_neither_true_nor_false_of_trust_is_refused(gateway: httpx.Client) -> None:
    answer = gateway.post("/v1/core/list", json={}, headers={"X-User-Id": "ana", "X-Untrusted": "maybe"})
    assert answer.status_code == 401
    assert "true or false" in answer.text


@pytest.mark.parametrize(
    ("claim", "untrusted"), [(None, False), (True, True), ("true", True), (False, False), ("", False)]
)
def test_a_claim_says_whom_not_to_trust(claim: object, untrusted: bool) -> None:
    caller = ClaimNames().caller({"sub": "ana", "untrusted": claim}, {"headers": []})
    assert caller is not None
    assert caller.permissions.untrusted is untrusted
