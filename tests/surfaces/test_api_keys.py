"""API keys: who is let in by one, what is kept of it, and how it ends."""

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import SettableClock
from steeltrap.errors import IdentityMissing, NotFound, Unavailable
from steeltrap.invoke import Door
from steeltrap.model import Caller, Permissions, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.api_keys import ApiKeys, KeysOrTokens
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.http import paths
from steeltrap.stores.shared_folders import LocalFolder
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE
from surfaces.serving import served

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
ANA = Caller(UserRef("ana", "acme"), "agent-1", None)
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/core/list", {}),
    ("/v1/notes/memory_search", {"query": "x"}),
    ("/mcp", LIST),
]


@pytest.fixture
def keys(tmp_path: Path) -> ApiKeys:
    return ApiKeys(LocalFolder(tmp_path / "keys"))


@pytest.fixture
def client(door: Door, keys: ApiKeys) -> Iterator[httpx.Client]:
    app = create_app(door, keys, local=False, closes_store=False)
    accept = {"Accept": "application/json, text/event-stream"}
    with served(app) as url, httpx.Client(base_url=url, headers=accept) as it:
        yield it


def scope(token: str, **headers: str) -> dict[str, Any]:
    pairs = [(b"authorization", f"Bearer {token}".encode())]
    return {"headers": pairs + [(name.encode(), value.encode()) for name, value in headers.items()]}


def test_a_key_names_its_caller_and_the_caller_a_conversation(keys: ApiKeys) -> None:
    _, secret = keys.add(ANA, "laptop", NOW)
    headers = {"X-Conversation-Id": "chat-1", "X-User-Id": "bob", "X-Agent-Id": "evil"}
    assert keys.caller(scope(secret, **headers)) == Caller(UserRef("ana", "acme"), "agent-1", "chat-1")


def test_what_is_kept_tells_nobody_the_key_and_is_the_owners_alone(keys: ApiKeys) -> None:
    key, secret = keys.add(ANA, "laptop", NOW)
    [file] = Path(keys.folder.place).iterdir()
    assert secret[-20:] not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(keys.folder.place).stat().st_mode) == 0o700
    assert keys.all() == [key]


def test_no_two_keys_are_alike(keys: ApiKeys) -> None:
    assert len({keys.add(ANA, "", NOW)[1] for _ in range(50)}) == 50


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_a_key_is_admitted_at_once_and_refused_as_soon_as_it_is_revoked(
    client: httpx.Client, keys: ApiKeys, path: str, body: dict[str, Any]
) -> None:
    key, secret = keys.add(ANA, "", NOW)
    _, other = keys.add(Caller(UserRef("bob")), "", NOW)
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.post(path, json=body, headers=headers).status_code == 200
    keys.revoke(key.id)
    answer = client.post(path, json=body, headers=headers)
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]
    assert client.post(path, json=body, headers={"Authorization": f"bearer {other}"}).status_code == 200


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_a_call_without_a_key_is_nobodys(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    for headers in ({}, {"Authorization": "Basic YW5hOmI="}, {"X-User-Id": "ana"}, {"Authorization": "Bearer"}):
        answer = client.post(path, json=body, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_two_keys_at_once_are_refused(client: httpx.Client, keys: ApiKeys) -> None:
    headers = [("Authorization", f"Bearer {keys.add(Caller(UserRef(user)), '', NOW)[1]}") for user in ("ana", "bob")]
    assert client.post("/v1/core/list", json={}, headers=headers).status_code == 400


def test_users_of_two_keys_see_their_own_alone(client: httpx.Client, keys: ApiKeys) -> None:
    for caller in (
        Caller(UserRef("ana", "acme"), None, None),
        Caller(UserRef("ana", "umbrella"), None, None),
        Caller(UserRef("ana")),
    ):
        headers = {"Authorization": f"Bearer {keys.add(caller, '', NOW)[1]}"}
        client.post("/v1/core/save", json={"content": f"Of {caller.user.tenant}."}, headers=headers)
        listed = client.post("/v1/core/list", json={}, headers=headers).json()["memories"]
        assert [memory["content"] for memory in listed] == [f"Of {caller.user.tenant}."]


@given(st.text(max_size=80))
def test_nothing_else_is_a_key(tmp_path: Path, text: str) -> None:
    keys = ApiKeys(LocalFolder(tmp_path / "keys"))
    keys.add(ANA, "", NOW)
    assert keys.find(text) is None


def test_a_key_with_anything_changed_is_no_key(keys: ApiKeys) -> None:
    _, secret = keys.add(ANA, "", NOW)
    changed = [secret[:at] + ("a" if secret[at] != "a" else "b") + secret[at + 1 :] for at in range(len(secret))]
    for wrong in [*changed, secret + "a", secret[:-1], secret.upper(), secret.removeprefix("stk_"), f"../{secret}"]:
        with pytest.raises(IdentityMissing, match="unknown or revoked"):
            keys.caller(scope(wrong))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"id": 5}', '{"sha256": 5, "user_id": "ana", "id": "x"}'])
def test_a_damaged_key_is_an_outage_for_who_shows_it(keys: ApiKeys, content: str) -> None:
    key, secret = keys.add(ANA, "", NOW)
    (Path(keys.folder.place) / f"{key.id}.json").write_text(content)
    with pytest.raises(Unavailable) as error:
        keys.caller(scope(secret))
    assert keys.folder.place not in error.value.message


def test_a_key_that_there_is_not_cannot_be_revoked(keys: ApiKeys) -> None:
    keys.add(ANA, "", NOW)
    for id in ("0" * 12, "../../etc/passwd", "", "*"):
        with pytest.raises(NotFound, match="keys list"):
            keys.revoke(id)
    assert len(keys.all()) == 1


def test_who_has_no_key_may_have_a_token(keys: ApiKeys) -> None:
    _, secret = keys.add(ANA, "", NOW)
    either = KeysOrTokens(keys, LocalUser("of-a-token", "a"))
    assert either.caller(scope(secret)) == ANA
    assert either.caller(scope("e30.e30.AAAA")) == Caller(UserRef("of-a-token"), "a")
    with pytest.raises(IdentityMissing):
        either.caller(scope("stk_000000000000_" + "A" * 43))


def test_a_file_of_a_key_has_what_is_known_of_it(keys: ApiKeys) -> None:
    key, _ = keys.add(ANA, "laptop", NOW)
    kept = json.loads((Path(keys.folder.place) / f"{key.id}.json").read_text())
    assert kept.pop("sha256")
    assert kept == {
        "id": key.id,
        "user_id": "ana",
        "tenant": "acme",
        "agent_id": "agent-1",
        "name": "laptop",
        "created_at": "2026-01-31T09:30:00+00:00",
        "expires_at": "",
        "permissions": {"read_only": False, "toolsets": [], "untrusted": False},
    }


# What a key may do


def allowed(keys: ApiKeys, **permissions: Any) -> dict[str, str]:
    """The header of a new key of Ana's."""
    _, secret = keys.add(Caller(UserRef("ana"), permissions=Permissions(**permissions)), "", NOW)
    return {"Authorization": f"Bearer {secret}"}


def mcp(client: httpx.Client, headers: dict[str, str], toolset: str, method: str, **params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post(f"/mcp/{toolset}", json=body, headers=headers).json()


def example(tool: Tool) -> dict[str, Any]:
    return {"json": tool.examples[0]}


@pytest.mark.parametrize("tool", CATALOGUE.tools(), ids=lambda tool: tool.full_name)
def test_a_key_that_may_only_read_reaches_no_tool_that_writes(client: httpx.Client, keys: ApiKeys, tool: Tool) -> None:
    headers = allowed(keys, read_only=True)
    over_http = [client.post(path, **example(tool), headers=headers) for path in paths(tool)]
    called = mcp(client, headers, tool.toolset, "tools/call", name=tool.name, arguments=tool.examples[0])["result"]
    if tool.access == "read":
        assert not {403} & {answer.status_code for answer in over_http}
        assert "may only read" not in str(called)
    else:
        assert {answer.status_code for answer in over_http} == {403}
        assert all("may only read" in answer.text for answer in over_http)
        assert called["isError"]
        assert "may only read" in called["content"][0]["text"]


def test_a_key_that_may_only_read_changes_nothing(client: httpx.Client, keys: ApiKeys, door: Door) -> None:
    client.post("/v1/core/save", json={"content": "Kept."}, headers=allowed(keys, read_only=True))
    assert door.invoke("core.list", {}, Caller(UserRef("ana"))).body["total"] == 0
    client.post("/v1/core/save", json={"content": "Kept."}, headers=allowed(keys))
    listed = client.post("/v1/core/list", json={}, headers=allowed(keys, read_only=True)).json()
    assert [memory["content"] for memory in listed["memories"]] == ["Kept."]


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_a_key_for_one_toolset_sees_and_reaches_that_one(client: httpx.Client, keys: ApiKeys, toolset: str) -> None:
    headers = allowed(keys, toolsets=(toolset,))
    for other in CATALOGUE.toolsets.values():
        tool = next(iter(other.tools.values()))
        answer = client.post(f"/v1/{tool.toolset}/{tool.name}", **example(tool), headers=headers)
        listed = mcp(client, headers, other.name, "tools/list")
        called = mcp(client, headers, other.name, "tools/call", name=tool.name, arguments=tool.examples[0])["result"]
        if other.name == toolset:
            assert answer.status_code != 403
            assert {entry["name"] for entry in listed["result"]["tools"]} == set(other.tools)
            assert "is for the toolset" not in str(called)
        else:
            assert answer.status_code == 403
            assert f"`{toolset}` only" in answer.text
            assert f"`{toolset}` only" in listed["error"]["message"]
            assert called["isError"]
            assert f"`{toolset}` only" in called["content"][0]["text"]


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_a_key_that_may_only_read_is_shown_the_tools_that_read(
    client: httpx.Client, keys: ApiKeys, toolset: str
) -> None:
    reading = {name for name, tool in CATALOGUE.toolsets[toolset].tools.items() if tool.access == "read"}
    answer = mcp(client, allowed(keys, read_only=True), toolset, "tools/list")
    if reading:
        assert {entry["name"] for entry in answer["result"]["tools"]} == reading
    else:
        assert "may only read" in answer["error"]["message"]


def test_an_expired_key_is_refused_and_says_when_it_expired(tmp_path: Path, clock: SettableClock) -> None:
    keys = ApiKeys(LocalFolder(tmp_path), clock.now)
    _, secret = keys.add(ANA, "", clock.now(), clock.now() + timedelta(hours=1))
    clock.advance(minutes=59)
    assert keys.caller(scope(secret)) == ANA
    clock.advance(minutes=1)
    with pytest.raises(IdentityMissing, match="expired at 2026-01-01T13:00:00") as refused:
        keys.caller(scope(secret))
    assert refused.value.details["reason"] == "invalid_token"


def test_a_key_of_before_may_do_everything_for_ever(keys: ApiKeys) -> None:
    key, secret = keys.add(ANA, "", NOW)
    file = Path(keys.folder.place) / f"{key.id}.json"
    kept = json.loads(file.read_text())
    del kept["expires_at"], kept["permissions"]
    file.write_text(json.dumps(kept))
    assert keys.caller(scope(secret)) == ANA


@pytest.mark.parametrize("kept", [{"permissions": []}, {"permissions": {"toolsets": None}}, {"expires_at": "soon"}])
def test_a_limit_that_cannot_be_read_lets_nobody_in(keys: ApiKeys, kept: dict[str, Any]) -> None:
    key, secret = keys.add(ANA, "", NOW)
    file = Path(keys.folder.place) / f"{key.id}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | kept))
    with pytest.raises(Unavailable):
        keys.caller(scope(secret))


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_a_call_without_a_key_is_told_what_to_send(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 401
    if "/notes/" not in path:  # that dialect has one sentence of its own
        assert "Send `Authorization: Bearer KEY`" in answer.json()["detail"]
        assert "steeltrap keys add" in answer.json()["detail"]


def test_who_may_have_a_key_or_a_token_is_told_so(keys: ApiKeys) -> None:
    with pytest.raises(IdentityMissing, match="token of the issuer, or with an API key"):
        KeysOrTokens(keys, LocalUser("of-a-token", "a")).caller({"headers": []})
