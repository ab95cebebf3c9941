"""Tokens of an OpenID Connect issuer: who is let in, who is refused and how they are told."""

import base64
import json
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import assume, given
from hypothesis import strategies as st
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed

from steeltrap.errors import IdentityMissing, InvalidInput, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.asgi.middleware import ProtectedResource
from steeltrap.servers.auth.identity import ClaimNames
from steeltrap.servers.auth.oidc import KEYS_SECONDS, PAUSE_SECONDS, IssuerKeys, OidcTokens
from surfaces.issuer import AUDIENCE, Issuer, issuing, private_key, public_jwk
from surfaces.serving import served

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/core/list", {}),
    ("/v1/notes/memory_search", {"query": "x"}),
    ("/mcp", LIST),
    ("/mcp/notes", LIST),
]


class Seconds:
    """A monotonic clock that stands still."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with issuing() as found:
        yield found


@pytest.fixture
def tokens(issuer: Issuer, seconds: Seconds) -> OidcTokens:
    return OidcTokens(IssuerKeys(issuer.url, monotonic=seconds), (AUDIENCE,), ClaimNames())


@pytest.fixture
def client(door: Door, issuer: Issuer, tokens: OidcTokens) -> Iterator[httpx.Client]:
    app = create_app(door, tokens, local=False, resource=ProtectedResource(issuer.url), closes_store=False)
    with served(app) as url, httpx.Client(base_url=url, headers=ACCEPT, timeout=30) as it:
        yield it


def scope(*tokens: str, **headers: str) -> dict[str, Any]:
    pairs = [(b"authorization", f"Bearer {token}".encode()) for token in tokens]
    return {"headers": pairs + [(name.encode(), value.encode()) for name, value in headers.items()]}


@pytest.mark.parametrize(
    ("kid", "algorithm"), [("rsa-1", "RS256"), ("ec-1", "ES256"), ("ed-1", "EdDSA")], ids=["RSA", "EC", "Ed25519"]
)
def test_a_token_of_the_issuer_names_the_caller(issuer: Issuer, tokens: OidcTokens, kid: str, algorithm: str) -> None:
    claims = {"agent_id": "a1", "tenant": "acme"}
    token = issuer.token(kid, algorithm, **claims)
    headers = {"X-Conversation-Id": "chat-1", "X-User-Id": "bob", "X-Agent-Id": "evil"}
    assert tokens.caller(scope(token, **headers)) == Caller(UserRef("ana", "acme"), "a1", "chat-1")


def test_the_claims_that_name_the_caller_are_a_setting(issuer: Issuer, seconds: Seconds) -> None:
    names = ClaimNames(user="email", agent="azp", conversation="thread", tenant="org")
    tokens = OidcTokens(IssuerKeys(issuer.url, monotonic=seconds), (AUDIENCE,), names)
    token = issuer.token(email="ana@example.org", azp="app", thread="t", org="acme")
    assert tokens.caller(scope(token)) == Caller(UserRef("ana@example.org", "acme"), "app", "t")


def test_one_of_several_audiences_is_enough(issuer: Issuer, tokens: OidcTokens) -> None:
    assert tokens.caller(scope(issuer.token(aud=["https://other.example", AUDIENCE]))) == Caller(UserRef("ana"))
    either = OidcTokens(tokens.keys, ("https://memory.example/mcp", AUDIENCE), ClaimNames())
    for audience in either.audiences:
        assert either.caller(scope(issuer.token(aud=audience))) == Caller(UserRef("ana"))


def test_a_clock_that_is_a_little_off_is_forgiven(issuer: Issuer, tokens: OidcTokens) -> None:
    assert tokens.caller(scope(issuer.token(exp=int(time.time()) - 10))) == Caller(UserRef("ana"))


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_the_user_of_a_token_is_served_and_nobody_without_one(
    client: httpx.Client, issuer: Issuer, path: str, body: dict[str, Any]
) -> None:
    assert client.post(path, json=body, headers=_bearer(issuer.token())).status_code == 200
    for headers in ({}, {"Authorization": "Basic YW5hOmI="}, {"Authorization": "Bearer"}, {"X-User-Id": "ana"}):
        answer = client.post(path, json=body, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith('Bearer resource_metadata="http')


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _segment(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _unsigned(issuer: Issuer) -> str:
    _, payload, _ = issuer.token().split(".")
    return f"{_segment({'alg': 'none', 'typ': 'JWT', 'kid': 'rsa-1'})}.{payload}."


def _signed_with_the_public_key(issuer: Issuer) -> str:
    # PyJWT itself refuses to, so by hand.
    import hashlib
    import hmac

    secret = private_key("rsa-1").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    payload = issuer.token().split(".")[1]
    told = f"{_segment({'alg': 'HS256', 'typ': 'JWT', 'kid': 'rsa-1'})}.{payload}"
    signature = base64.urlsafe_b64encode(hmac.digest(secret, told.encode(), hashlib.sha256)).rstrip(b"=").decode()
    return f"{told}.{signature}"


def _forged(issuer: Issuer) -> str:
    """Signed by somebody else in the name of the issuer's key."""
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    return jwt.encode(claims, private_key("rsa-stranger"), algorithm="RS256", headers={"kid": "rsa-1"})


def _altered(issuer: Issuer) -> str:
    header, _, signature = issuer.token().split(".")
    claims = {**jwt.decode(issuer.token(), options={"verify_signature": False}), "sub": "bob"}
    return f"{header}.{_segment(claims)}.{signature}"


REFUSED: dict[str, tuple[Callable[[Issuer], str], str]] = {
    "expired": (lambda issuer: issuer.token(exp=int(time.time()) - 60), "has expired"),
    "without an end": (lambda issuer: issuer.token(exp=None), "no claim `exp`"),
    "not valid yet": (lambda issuer: issuer.token(nbf=int(time.time()) + 600), "not valid yet"),
    "issued in the future": (lambda issuer: issuer.token(iat=int(time.time()) + 600), "not valid yet"),
    "for another audience": (lambda issuer: issuer.token(aud="https://other.example"), "audience"),
    "for an audience that begins alike": (lambda issuer: issuer.token(aud=f"{AUDIENCE}.evil.example"), "audience"),
    "for no audience": (lambda issuer: issuer.token(aud=None), "no claim `aud`"),
    "of another issuer": (lambda issuer: issuer.token(iss="https://evil.example"), "another issuer"),
    "of an issuer with a slash more": (lambda issuer: issuer.token(iss=f"{issuer.url}/"), "another issuer"),
    "of no issuer": (lambda issuer: issuer.token(iss=None), "no claim `iss`"),
    "of no user": (lambda issuer: issuer.token(sub=None), "no text in the claim `sub`"),
    "of a blank user": (lambda issuer: issuer.token(sub=" "), "no text in the claim `sub`"),
    "of a tenant that is a number": (lambda issuer: issuer.token(tenant=5), "`tenant` must be a text"),
    "of a user that is a list": (lambda issuer: issuer.token(sub=["ana"]), "not valid"),
    "forged": (_forged, "not valid"),
    "altered": (_altered, "not valid"),
    "unsigned": (_unsigned, "not valid"),
    "HS256 with the public key": (_signed_with_the_public_key, "not valid"),
    "without a key id": (lambda issuer: issuer.token(kid=None), "not signed by a key"),
    "of an unknown key": (lambda issuer: issuer.token(kid="rsa-stranger"), "not signed by a key"),
    "of another kind of key": (lambda issuer: issuer.token(algorithm="RS512"), "not valid"),
    "cut off": (lambda issuer: issuer.token()[:-20], "not valid"),
    "of two parts": (lambda issuer: issuer.token().rpartition(".")[0], "not valid"),
    "no token": (lambda issuer: "garbage", "not valid"),
    "only dots": (lambda issuer: "..", "not valid"),
    "no JSON": (lambda issuer: "e30x.e30.AAAA", "not valid"),
    "a nest": (lambda issuer: base64.urlsafe_b64encode(b"[" * 9000).decode() + ".e30.AAAA", "not valid"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize(("path", "body"), CALLS[:3])
def test_a_token_that_is_not_valid_is_refused(
    client: httpx.Client, issuer: Issuer, path: str, body: dict[str, Any], kind: str
) -> None:
    assert client.post(path, json=body, headers=_bearer(issuer.token())).status_code == 200
    make, says = REFUSED[kind]
    answer = client.post(path, json=body, headers=_bearer(make(issuer)))
    assert answer.status_code == 401
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge.startswith('Bearer error="invalid_token", error_description="')
    assert says in challenge
    assert "Traceback" not in answer.text


@given(at=st.floats(0, 1, exclude_max=True), by=st.sampled_from("AQgw-_9.="))
def test_a_token_with_any_character_changed_is_refused(issuer: Issuer, tokens: OidcTokens, at: float, by: str) -> None:
    token = issuer.token("ec-1", "ES256")
    place = int(at * len(token))
    changed = token[:place] + by + token[place + 1 :]
    assume(changed != token)
    with pytest.raises(IdentityMissing):
        tokens.caller(scope(changed))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_other_text_is_a_token(issuer: Issuer, tokens: OidcTokens, text: str) -> None:
    with pytest.raises(IdentityMissing):
        tokens.caller(scope(text))


def test_a_call_without_a_token_is_told_what_to_send(client: httpx.Client, issuer: Issuer) -> None:
    answer = client.post("/v1/core/list", json={})
    assert answer.status_code == 401
    assert "Send `Authorization: Bearer TOKEN`" in answer.json()["detail"]
    assert issuer.url in answer.json()["detail"]


def test_two_tokens_are_refused(client: httpx.Client, issuer: Issuer) -> None:
    headers = [("Authorization", f"Bearer {issuer.token(sub=user)}") for user in ("ana", "bob")]
    answer = client.post("/v1/core/list", json={}, headers=headers)
    assert answer.status_code == 400
    assert "send it once" in answer.text


def test_a_key_that_is_too_short_is_refused(issuer: Issuer, tokens: OidcTokens) -> None:
    issuer.keys = {"keys": [public_jwk("weak-1"), public_jwk("rsa-1")]}
    assert tokens.caller(scope(issuer.token("rsa-1"))) == Caller(UserRef("ana"))
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = issuer.token("weak-1")
    with pytest.raises(IdentityMissing):
        tokens.caller(scope(token))


def test_a_key_for_encryption_signs_nothing(issuer: Issuer, tokens: OidcTokens) -> None:
    issuer.keys = {"keys": [public_jwk("rsa-1", use="enc"), public_jwk("ec-1")]}
    assert tokens.caller(scope(issuer.token("ec-1", "ES256"))) == Caller(UserRef("ana"))
    with pytest.raises(IdentityMissing, match="not signed by a key"):
        tokens.caller(scope(issuer.token("rsa-1")))


def test_a_secret_that_the_issuer_publishes_by_mistake_signs_nothing(issuer: Issuer, tokens: OidcTokens) -> None:
    secret = b"k" * 32
    published = {"kty": "oct", "kid": "oct-1", "k": base64.urlsafe_b64encode(secret).rstrip(b"=").decode()}
    issuer.keys = {"keys": [published, public_jwk("rsa-1")]}
    claims = jwt.decode(issuer.token(), options={"verify_signature": False})
    assert tokens.caller(scope(issuer.token())) == Caller(UserRef("ana"))
    with pytest.raises(IdentityMissing):
        tokens.caller(scope(jwt.encode(claims, secret, algorithm="HS256", headers={"kid": "oct-1"})))


def test_keys_are_fetched_once_however_many_ask(issuer: Issuer, tokens: OidcTokens) -> None:
    with ThreadPoolExecutor(8) as pool:
        callers = set(pool.map(lambda _: tokens.caller(scope(issuer.token())), range(32)))
    assert callers == {Caller(UserRef("ana"))}
    assert issuer.asked == ["/.well-known/openid-configuration", "/jwks"]


def test_the_keys_address_may_be_given(issuer: Issuer, seconds: Seconds) -> None:
    tokens = OidcTokens(IssuerKeys(issuer.url, f"{issuer.url}/jwks", monotonic=seconds), (AUDIENCE,), ClaimNames())
    assert tokens.caller(scope(issuer.token())) == Caller(UserRef("ana"))
    assert issuer.asked == ["/jwks"]


def test_a_new_key_is_found_after_a_pause_and_a_withdrawn_one_ends(
    issuer: Issuer, tokens: OidcTokens, seconds: Seconds
) -> None:
    tokens.caller(scope(issuer.token()))
    issuer.keys = {"keys": [public_jwk("rsa-2")]}
    asked = len(issuer.asked)
    for _ in range(5):
        with pytest.raises(IdentityMissing):
            tokens.caller(scope(issuer.token("rsa-2")))
    assert len(issuer.asked) == asked
    seconds.now += PAUSE_SECONDS
    assert tokens.caller(scope(issuer.token("rsa-2"))) == Caller(UserRef("ana"))
    with pytest.raises(IdentityMissing):
        tokens.caller(scope(issuer.token("rsa-1")))


def test_a_withdrawn_key_is_refused_when_the_keys_are_fetched_anew(
    issuer: Issuer, tokens: OidcTokens, seconds: Seconds
) -> None:
    tokens.caller(scope(issuer.token()))
    issuer.keys = {"keys": [public_jwk("rsa-2")]}
    assert tokens.caller(scope(issuer.token())) == Caller(UserRef("ana"))
    seconds.now += KEYS_SECONDS
    with pytest.raises(IdentityMissing):
        tokens.caller(scope(issuer.token()))


OUTAGES: dict[str, Callable[[Issuer], None]] = {
    "an error": lambda issuer: setattr(issuer, "status", 503),
    "a redirect": lambda issuer: setattr(issuer, "status", 302),
    "a page": lambda issuer: setattr(issuer, "keys", b"<html>"),
    "a list": lambda issuer: setattr(issuer, "keys", []),
    "no keys": lambda issuer: setattr(issuer, "keys", {"keys": []}),
    "keys that are none": lambda issuer: setattr(issuer, "keys", {"keys": ["x", {"kty": "x"}, 5]}),
    "a cut answer": lambda issuer: setattr(issuer, "keys", b'{"keys": ['),
    "another issuer": lambda issuer: issuer.document.update(issuer="https://evil.example"),
    "keys elsewhere": lambda issuer: issuer.document.update(jwks_uri="http://evil.example/jwks"),
    "keys in a file": lambda issuer: issuer.document.update(jwks_uri="file:///etc/passwd"),
}


@pytest.mark.parametrize("kind", OUTAGES)
def test_an_issuer_that_does_not_answer_lets_nobody_in_and_refuses_nobody(
    issuer: Issuer, tokens: OidcTokens, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    OUTAGES[kind](issuer)
    for token in (issuer.token(), _forged(issuer), issuer.token("rsa-stranger")):
        with pytest.raises(Unavailable) as error:
            tokens.caller(scope(token))
        assert error.value.can_retry
        assert error.value.details["part"] == "issuer"
    assert [record.levelno for record in caplog.records] == [logging.ERROR]  # asked once only


def test_an_outage_is_told_on_every_path_and_ends(issuer: Issuer, client: httpx.Client, seconds: Seconds) -> None:
    issuer.status = 500
    for path, body in CALLS:
        answer = client.post(path, json=body, headers=_bearer(issuer.token()))
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "10"
    issuer.status = 200
    seconds.now += PAUSE_SECONDS
    assert client.post("/v1/core/list", json={}, headers=_bearer(issuer.token())).status_code == 200


def test_known_keys_outlast_an_outage_until_they_are_old(issuer: Issuer, tokens: OidcTokens, seconds: Seconds) -> None:
    tokens.caller(scope(issuer.token()))
    issuer.status = 500
    seconds.now += PAUSE_SECONDS
    with pytest.raises(Unavailable):
        tokens.caller(scope(issuer.token("rsa-2")))
    assert tokens.caller(scope(issuer.token())) == Caller(UserRef("ana"))
    seconds.now += KEYS_SECONDS
    with pytest.raises(Unavailable):
        tokens.caller(scope(issuer.token()))


def test_a_made_up_key_is_answered_at_once_while_the_issuer_is_asked(
    issuer: Issuer, tokens: OidcTokens, seconds: Seconds
) -> None:
    tokens.caller(scope(issuer.token()))
    seconds.now += PAUSE_SECONDS
    issuer.answering.clear()
    with ThreadPoolExecutor(1) as pool:
        try:
            first = pool.submit(tokens.caller, scope(issuer.token("rsa-made-up")))
            assert issuer.is_asked.wait(30)
            for kid in ("rsa-2", "rsa-3"):
                with pytest.raises(Unavailable):
                    tokens.caller(scope(issuer.token(kid)))
            assert tokens.caller(scope(issuer.token())) == Caller(UserRef("ana"))
            assert not first.done()
        finally:
            issuer.answering.set()
        assert isinstance(first.exception(), IdentityMissing)


def test_an_issuer_that_nobody_is_behind_is_an_outage(issuer: Issuer) -> None:
    tokens = OidcTokens(IssuerKeys("http://127.0.0.1:9"), (AUDIENCE,), ClaimNames())
    with pytest.raises(Unavailable):
        tokens.caller(scope(issuer.token()))


@pytest.mark.parametrize(
    "url",
    [
        "http://issuer.example",
        "file:///etc/passwd",
        "issuer.example",
        "ftp://issuer.example",
        "https://",
        "x",
        "http://[",
    ],
)
def test_keys_come_from_where_nobody_can_change_them(url: str) -> None:
    with pytest.raises(InvalidInput, match="must begin with https"):
        IssuerKeys(url)
    with pytest.raises(InvalidInput, match="must begin with https"):
        IssuerKeys("https://issuer.example", url)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/notes"])
def test_a_client_of_mcp_is_led_to_the_issuer_of_tokens(client: httpx.Client, issuer: Issuer, path: str) -> None:
    server = str(client.base_url).rstrip("/")
    url = extract_resource_metadata_from_www_auth(client.post(path, json=LIST))  # type: ignore[arg-type]
    assert url == f"{server}/.well-known/oauth-protected-resource{path}"
    metadata = ProtectedResourceMetadata.model_validate(httpx.get(url).json())
    assert str(metadata.resource) == server + path
    assert check_resource_allowed(server + path, str(metadata.resource))
    assert [str(each).rstrip("/") for each in metadata.authorization_servers] == [issuer.url]
    assert metadata.bearer_methods_supported == ["header"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.7", 'x"', ""])
def test_a_host_that_a_client_makes_up_is_never_repeated(client: httpx.Client, host: str) -> None:
    challenge = client.post("/mcp", json=LIST, headers={"Host": host}).headers["WWW-Authenticate"]
    document = client.get("/.well-known/oauth-protected-resource/mcp", headers={"Host": host}).json()
    address = str(client.base_url).rstrip("/")
    assert challenge == f'Bearer resource_metadata="{address}/.well-known/oauth-protected-resource/mcp"'
    assert document["resource"] == f"{address}/mcp"


def test_a_loopback_name_that_the_client_uses_is_the_resource(client: httpx.Client) -> None:
    host = f"localhost:{client.base_url.port}"
    document = client.get("/.well-known/oauth-protected-resource/mcp", headers={"Host": host}).json()
    assert document["resource"] == f"http://{host}/mcp"


def test_the_address_that_clients_use_may_be_said(door: Door, tokens: OidcTokens, issuer: Issuer) -> None:
    resource = ProtectedResource(issuer.url, "https://memory.example/")
    with served(create_app(door, tokens, local=False, resource=resource, closes_store=False)) as url:
        challenge = httpx.post(f"{url}/v1/core/list", json={}).headers["WWW-Authenticate"]
        document = httpx.get(f"{url}/.well-known/oauth-protected-resource/mcp").json()
    assert challenge == 'Bearer resource_metadata="https://memory.example/.well-known/oauth-protected-resource"'
    assert document["resource"] == "https://memory.example/mcp"


def test_probes_need_no_token(client: httpx.Client) -> None:
    assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
