"""Machines over one log admit the same keys and sessions: where these lie, and how soon a change holds everywhere."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clock import SettableClock
from contracts import log_places
from faults.proxy import Answered, Proxy, passing, saying
from steeltrap.cli.app import app
from steeltrap.errors import IdentityMissing, NotFound, Unavailable
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import local
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.servers.console import Sessions, open_secret
from steeltrap.servers.console.sessions import SignInNeeded
from steeltrap.settings import Settings, read_settings
from steeltrap.stores.objects import Objects

ANA = Caller(UserRef("ana", "acme"), "agent-1")
Machine = tuple[ApiKeys, Sessions]


@pytest.fixture(params=["s3", "gcs", "dynamodb", "postgres", "folder"])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "folder":
        yield (tmp_path / "log").as_uri()
        return
    with log_places.proxied_url(request.param, monkeypatch) as (url, _):
        yield url


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Proxy]]:
    with log_places.proxied_url("gcs", monkeypatch) as found:
        yield found


@pytest.fixture
def start(tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Machine]:
    """Starts a machine with a data folder of its own over a log."""
    clock.stand()
    monkeypatch.setattr(local, "SystemClock", lambda: clock)
    made: list[Settings] = []

    def starting(url: str) -> Machine:
        settings = read_settings({}, data=tmp_path / f"machine {len(made)}", store=url)
        made.append(settings)
        keys = ApiKeys(local.open_keys_folder(settings), clock.now)
        secret = open_secret(local.open_shared_folder(settings))
        return keys, Sessions(keys, keys, secret, local.open_shared_folder(settings, "console.ended"), clock.now)

    yield starting
    assert not any(settings.data.exists() for settings in made), "the data folder has nothing of these"


def bearer(secret: str) -> dict[str, Any]:
    return {"headers": [(b"authorization", f"Bearer {secret}".encode())]}


def cookie(session: str | None) -> dict[str, Any]:
    return {"headers": [(b"cookie", f"steeltrap={session}".encode())]}


def test_a_key_of_one_machine_opens_the_others_until_it_is_revoked(
    url: str, start: Callable[[str], Machine], clock: SettableClock
) -> None:
    (here, _), (there, _) = start(url), start(url)
    key, secret = here.add(ANA, "laptop", clock.now())
    other, _ = there.add(ANA, "phone", clock.advance(seconds=1))
    assert there.caller(bearer(secret)) == ANA
    assert here.all() == there.all() == [key, other]
    here.revoke(key.id)
    with pytest.raises(IdentityMissing):
        here.caller(bearer(secret))
    clock.advance(seconds=60)
    with pytest.raises(IdentityMissing):
        there.caller(bearer(secret))
    with pytest.raises(NotFound):
        there.revoke(key.id)
    assert there.ids() == [other.id]


def test_a_session_of_one_machine_is_one_of_the_others_until_it_is_signed_out(
    url: str, start: Callable[[str], Machine], clock: SettableClock
) -> None:
    (keys, here), (_, there) = start(url), start(url)
    key, secret = keys.add(ANA, "", clock.now())
    session, other = cookie(here.begin(secret)), cookie(there.begin(secret))
    assert there.caller(session) == here.caller(other) == ANA
    there.end(session)
    with pytest.raises(SignInNeeded):
        there.caller(session)
    clock.advance(seconds=60)
    with pytest.raises(SignInNeeded):
        here.caller(session)
    assert here.caller(other) == ANA
    keys.revoke(key.id)
    clock.advance(seconds=60)
    with pytest.raises(SignInNeeded):
        there.caller(other)


def test_they_are_objects_beside_the_logs(
    bucket: tuple[str, Proxy], start: Callable[[str], Machine], clock: SettableClock
) -> None:
    keys, sessions = start(bucket[0])
    key, secret = keys.add(ANA, "", clock.now())
    session = cookie(sessions.begin(secret))
    sessions.end(session)
    names = sorted(name for page in Objects(bucket[0]).names("") for name in page)
    assert names[0].startswith("console.ended/")
    assert names[1:] == ["console.secret", f"keys/{key.id}.json"]


def test_calls_of_a_minute_cost_two_requests_a_key(
    bucket: tuple[str, Proxy], start: Callable[[str], Machine], clock: SettableClock
) -> None:
    keys, _ = start(bucket[0])
    _, secret = keys.add(ANA, "", clock.now())
    before = bucket[1].asked.total()
    for _ in range(59):
        keys.caller(bearer(secret))
        clock.advance(seconds=1)
    assert bucket[1].asked.total() - before == 2


def test_an_outage_of_the_bucket_makes_no_key_unknown_and_no_session_ended(
    bucket: tuple[str, Proxy], start: Callable[[str], Machine], clock: SettableClock
) -> None:
    keys, sessions = start(bucket[0])
    _, secret = keys.add(ANA, "", clock.now())
    session = cookie(sessions.begin(secret))
    clock.advance(seconds=60)
    bucket[1].rule = saying(503, b"")
    attempts: list[Callable[[], object]] = [
        lambda: keys.caller(bearer(secret)),
        lambda: sessions.caller(session),
        lambda: sessions.begin(secret),
        keys.all,
        lambda: keys.add(ANA, "", clock.now()),
    ]
    for attempt in attempts:
        with pytest.raises(Unavailable):
            attempt()
    with pytest.raises(Unavailable, match="still signed in"):
        sessions.end(session)
    bucket[1].rule = passing
    assert sessions.caller(session) == keys.caller(bearer(secret)) == ANA


def test_a_conflict_that_leaves_nothing_is_no_success(
    bucket: tuple[str, Proxy], start: Callable[[str], Machine], clock: SettableClock
) -> None:
    keys, sessions = start(bucket[0])
    _, secret = keys.add(ANA, "", clock.now())
    session = cookie(sessions.begin(secret))
    Objects(bucket[0]).delete("console.secret")
    bucket[1].rule = lambda asked, send: Answered(409, b"") if asked.method == "PUT" else send(asked)
    attempts: list[Callable[[], object]] = [
        lambda: keys.add(ANA, "", clock.now()),
        lambda: sessions.end(session),
        lambda: start(bucket[0]),
    ]
    for attempt in attempts:
        with pytest.raises(Unavailable, match="try again") as failed:
            attempt()
        assert failed.value.can_retry
    assert sessions.caller(session) == ANA


def test_a_folder_of_keys_that_is_set_goes_first(
    bucket: tuple[str, Proxy], tmp_path: Path, clock: SettableClock
) -> None:
    settings = read_settings({}, data=tmp_path / "data", store=bucket[0], keys_folder=tmp_path / "mounted")
    key, _ = ApiKeys(local.open_keys_folder(settings)).add(ANA, "", clock.now())
    assert [path.name for path in (tmp_path / "mounted").iterdir()] == [f"{key.id}.json"]
    assert bucket[1].asked.total() == 0


def test_commands_add_list_and_revoke_keys_over_a_bucket(
    bucket: tuple[str, Proxy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELTRAP_STORE", bucket[0])

    def run(machine: str, *arguments: str, exit_code: int = 0) -> str:
        monkeypatch.setenv("STEELTRAP_DATA", str(tmp_path / machine))
        result = CliRunner().invoke(app, ["keys", *arguments])
        assert result.exit_code == exit_code, result.output
        return result.output

    made = json.loads(run("laptop", "add", "--user", "ana", "--json"))
    assert [key["id"] for key in json.loads(run("phone", "list", "--json"))] == [made["id"]]
    assert "is revoked" in run("phone", "revoke", made["id"])
    run("laptop", "revoke", made["id"], exit_code=3)
    assert json.loads(run("laptop", "list", "--json")) == []
    bucket[1].rule = saying(403, b"<Error><Code>AccessDenied</Code></Error>")
    assert "may not list objects" in run("laptop", "list", exit_code=5)
