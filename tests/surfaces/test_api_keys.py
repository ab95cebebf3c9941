"""API keys: who is let in by one, what is kept of it, and how it ends."""

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import IdentityMissing, NotFound, Unavailable
from recollect.invoke import Door
from recollect.model import Caller
from recollect.surfaces.api_keys import ApiKeys, KeysOrTokens
from recollect.surfaces.http import create_app
from recollect.surfaces.identity import LocalUser
from surfaces.serving import served

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
ANA = Caller("ana", "agent-1", None, "acme")
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("/v1/core/list", {}),
    ("/v1/notes/memory_search", {"query": "x"}),
    ("/mcp", LIST),
]


@pytest.fixture
def keys(tmp_path: Path) -> ApiKeys:
    return ApiKeys(tmp_path / "keys")


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
    assert keys.caller(scope(secret, **headers)) == Caller("ana", "agent-1", "chat-1", "acme")


def test_what_is_kept_tells_nobody_the_key_and_is_the_owners_alone(keys: ApiKeys) -> None:
    key, secret = keys.add(ANA, "laptop", NOW)
    [file] = keys.folder.iterdir()
    assert secret.rpartition("_")[2] not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.folder.stat().st_mode) == 0o700
    assert keys.all() == [key]


def test_no_two_keys_are_alike(keys: ApiKeys) -> None:
    assert len({keys.add(ANA, "", NOW)[1] for _ in range(50)}) == 50


@pytest.mark.parametrize(("path", "body"), CALLS)
def test_a_key_is_admitted_at_once_and_refused_as_soon_as_it_is_revoked(
    client: httpx.Client, keys: ApiKeys, path: str, body: dict[str, Any]
) -> None:
    key, secret = keys.add(ANA, "", NOW)
    _, other = keys.add(Caller("bob"), "", NOW)
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
    headers = [("Authorization", f"Bearer {keys.add(Caller(user), '', NOW)[1]}") for user in ("ana", "bob")]
    assert client.post("/v1/core/list", json={}, headers=headers).status_code == 400


def test_users_of_two_keys_see_their_own_alone(client: httpx.Client, keys: ApiKeys) -> None:
    for caller in (Caller("ana", None, None, "acme"), Caller("ana", None, None, "umbrella"), Caller("ana")):
        headers = {"Authorization": f"Bearer {keys.add(caller, '', NOW)[1]}"}
        client.post("/v1/core/save", json={"content": f"Of {caller.tenant}."}, headers=headers)
        listed = client.post("/v1/core/list", json={}, headers=headers).json()["memories"]
        assert [memory["content"] for memory in listed] == [f"Of {caller.tenant}."]


@given(st.text(max_size=80))
def test_nothing_else_is_a_key(tmp_path: Path, text: str) -> None:
    keys = ApiKeys(tmp_path / "keys")
    keys.add(ANA, "", NOW)
    assert keys.find(text) is None


def test_a_key_with_anything_changed_is_no_key(keys: ApiKeys) -> None:
    _, secret = keys.add(ANA, "", NOW)
    changed = [secret[:at] + ("a" if secret[at] != "a" else "b") + secret[at + 1 :] for at in range(len(secret))]
    for wrong in [*changed, secret + "a", secret[:-1], secret.upper(), secret.removeprefix("rk_"), f"../{secret}"]:
        with pytest.raises(IdentityMissing, match="not known"):
            keys.caller(scope(wrong))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"id": 5}', '{"sha256": 5, "user_id": "ana", "id": "x"}'])
def test_a_damaged_key_is_an_outage_for_who_shows_it(keys: ApiKeys, content: str) -> None:
    key, secret = keys.add(ANA, "", NOW)
    (keys.folder / f"{key.id}.json").write_text(content)
    with pytest.raises(Unavailable) as error:
        keys.caller(scope(secret))
    assert str(keys.folder) not in error.value.message


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
    assert either.caller(scope("e30.e30.AAAA")) == Caller("of-a-token", "a")
    with pytest.raises(IdentityMissing):
        either.caller(scope("rk_000000000000_" + "A" * 43))


def test_a_file_of_a_key_has_what_is_known_of_it(keys: ApiKeys) -> None:
    key, _ = keys.add(ANA, "laptop", NOW)
    kept = json.loads((keys.folder / f"{key.id}.json").read_text())
    assert kept.pop("sha256")
    assert kept == {
        "id": key.id,
        "user_id": "ana",
        "tenant": "acme",
        "agent_id": "agent-1",
        "name": "laptop",
        "created_at": "2026-01-31T09:30:00+00:00",
    }
