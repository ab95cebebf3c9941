"""The keys that a server admits, made, listed and ended from the command line; how a server knows who calls."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from steeltrap.model import Caller, Permissions, UserRef
from steeltrap.servers.auth.api_keys import ApiKeys
from steeltrap.stores.shared_folders import LocalFolder

ROOT = Path(__file__).parents[2]


def scope(token):
    return {"headers": [(b"authorization", f"Bearer {token}".encode())]}


def test_a_key_is_shown_once_and_opens_its_users_memories(run, data):
    result = run("keys", "add", "--user", "ana", "--tenant", "acme", "--agent", "a1", "--name", "laptop")
    secret = result.stdout.strip()
    assert ApiKeys(LocalFolder(data / "keys")).caller(scope(secret)) == Caller(UserRef("ana", "acme"), "a1", None)
    assert secret not in result.stderr
    listed = run("keys", "list").stdout
    assert "user ana, tenant acme, agent a1  laptop" in listed
    assert secret not in listed


def test_keys_are_listed_and_ended_by_id(run):
    ids = [json.loads(run("keys", "add", "--user", user, "--json").stdout)["id"] for user in ("ana", "bob")]
    assert {key["id"]: key["user"] for key in json.loads(run("keys", "list", "--json").stdout)} == {
        ids[0]: "ana",
        ids[1]: "bob",
    }
    assert run("keys", "revoke", ids[0]).exit_code == 0
    assert [key["user"] for key in json.loads(run("keys", "list", "--json").stdout)] == ["bob"]
    again = run("keys", "revoke", ids[0])
    assert again.exit_code == 3
    assert "keys list" in again.stderr


def test_what_a_key_may_do_is_kept_and_listed(run, data, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "UTC")
    limits = ["--read-only", "--untrusted", "--toolset", "notes", "--toolset", "core", "--expires", "2999-12-31"]
    secret = run("keys", "add", "--user", "ana", *limits).stdout.strip()
    caller = ApiKeys(LocalFolder(data / "keys")).caller(scope(secret))
    assert caller.permissions == Permissions(read_only=True, toolsets=("notes", "core"), untrusted=True)
    listed = run("keys", "list").stdout
    assert "user ana, toolset notes, toolset core, read only, untrusted, expires 2999-12-31 00:00" in listed
    [key] = json.loads(run("keys", "list", "--json").stdout)
    assert (key["read_only"], key["toolsets"], key["expires_at"]) == (
        True,
        ["notes", "core"],
        "2999-12-31T00:00:00+00:00",
    )


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--toolset", "nothing", "No toolset `nothing`; there are: agent, core"),
        ("--expires", "2020-01-01", "--expires must be in the future"),
        ("--expires", "soon", "--expires must be a time such as"),
    ],
)
def test_a_limit_that_does_not_fit_makes_no_key(run, data, option, value, says):
    result = run("keys", "add", "--user", "ana", option, value)
    assert result.exit_code != 0
    assert says in result.stderr
    assert not (data / "keys").exists()


def test_an_expired_key_is_listed_as_expired(run, data, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "UTC")
    past = datetime(2026, 1, 1, tzinfo=UTC)
    ApiKeys(LocalFolder(data / "keys")).add(Caller(UserRef("ana")), "", past, past + timedelta(days=1))
    assert "expired 2026-01-02 00:00" in run("keys", "list").stdout


def test_a_key_expires_as_the_day_begins_in_the_users_zone(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "America/Los_Angeles")
    run("keys", "add", "--user", "ana", "--expires", "2999-07-01")
    assert json.loads(run("keys", "list", "--json").stdout)[0]["expires_at"] == "2999-07-01T07:00:00+00:00"
    assert "expires 2999-07-01 00:00" in run("keys", "list").stdout


def test_a_gateways_secret_that_is_easily_guessed_is_refused(run, monkeypatch):
    monkeypatch.setenv("STEELTRAP_GATEWAY_SECRET", "hunter2")
    result = run("serve", "--auth", "headers", "--port", "0")
    assert result.exit_code == 2
    assert "STEELTRAP_GATEWAY_SECRET must have at least 16 characters" in result.stderr
    assert "hunter2" not in result.stderr


def test_no_keys_are_said_to_be_none(run):
    assert "keys add" in run("keys", "list").stderr
    assert json.loads(run("keys", "list", "--json").stdout) == []


def test_a_user_that_no_store_can_keep_gets_no_key(run, data):
    assert run("keys", "add", "--user", "").exit_code == 2
    assert run("keys", "add", "--user", "a" * 2049).exit_code == 2
    assert not (data / "keys").exists()


@pytest.mark.parametrize("option", ["--user", "--tenant", "--agent", "--name"])
@pytest.mark.parametrize("character", ["\n", "\x1b", "\x7f", "\u2028"])
def test_what_would_not_be_shown_as_it_is_gets_no_key(run, data, option, character):
    result = run("keys", "add", "--user", "ana", option, f"ana{character}root")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"{option} contains a control character or line break; remove it.\n"
    assert not (data / "keys").exists()


def test_the_folder_of_the_keys_is_a_setting(run, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELTRAP_KEYS_FOLDER", str(tmp_path / "mounted"))
    run("keys", "add", "--user", "ana")
    assert len(list((tmp_path / "mounted").glob("*.json"))) == 1


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (["--auth", "oidc"], {}, "STEELTRAP_OIDC_ISSUER"),
        (["--auth", "oidc"], {"STEELTRAP_OIDC_ISSUER": "https://issuer.example"}, "STEELTRAP_OIDC_AUDIENCE"),
        (
            ["--auth", "oidc"],
            {"STEELTRAP_OIDC_ISSUER": "https://issuer.example", "STEELTRAP_OIDC_AUDIENCE": " ,"},
            "STEELTRAP_OIDC_AUDIENCE",
        ),
        (["--auth", "oidc+keys"], {}, "STEELTRAP_OIDC_ISSUER"),
        (
            [],
            {
                "STEELTRAP_AUTH": "oidc",
                "STEELTRAP_OIDC_ISSUER": "http://issuer.example",
                "STEELTRAP_OIDC_AUDIENCE": "a",
            },
            "https://",
        ),
        (["--auth", "keys", "--user-header", "X-User"], {}, "--user-header needs --auth headers, not --auth keys."),
        (
            ["--user-header", "X"],
            {"STEELTRAP_AUTH": "keys"},
            "--user-header needs --auth headers, not STEELTRAP_AUTH=keys.",
        ),
        (["--user-header", "X"], {"STEELTRAP_AUTH": "oidc"}, "not STEELTRAP_AUTH=oidc."),
        (["--agent-header", "X-Agent"], {}, "--agent-header needs --auth headers."),
        ([], {"STEELTRAP_AUTH": "nobody"}, "STEELTRAP_AUTH must be one of"),
        (["--auth", "local", "--host", "0.0.0.0"], {"STEELTRAP_AUTH": "keys"}, "--auth"),
    ],
)
def test_a_server_that_could_not_know_who_calls_does_not_start(run, monkeypatch, arguments, environment, says):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = run("serve", "--port", "0", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_server_admits_a_key_that_is_made_while_it_runs_until_it_is_revoked(run, data):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "shared"), os.environ.get("PYTHONPATH", ""))),
        "STEELTRAP_DATA": str(data),
    }
    command = [sys.executable, "-c", "from steeltrap.cli import main; main()", "serve", "--auth", "keys"]
    command += ["--port", "0", "--host", "0.0.0.0"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def status(url, secret):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {secret}"}
        try:
            with opener.open(urllib.request.Request(f"{url}/v1/core/list", b"{}", headers), timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            said = next(line for line in server.stderr if "listens on" in line)
            url = said.split(" on ")[1].split(" ")[0].replace("0.0.0.0", "127.0.0.1")
            for line in server.stderr:
                if line.startswith("Ctrl-C"):
                    break
            made = json.loads(run("keys", "add", "--user", "ana", "--json").stdout)
            statuses = [status(url, made["key"])]
            run("keys", "revoke", made["id"])
            statuses.append(status(url, made["key"]))
        finally:
            server.terminate()
    assert "API keys" in said
    assert statuses == [200, 401]
