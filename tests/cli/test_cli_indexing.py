"""setup, index, reindex and verify, on DynamoDB Local and OpenSearch."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from components import dynamodb_url, opensearch_url
from contracts.named_parts import named_parts, own_upkeep
from steeltrap.model import UserRef
from steeltrap.servers.aws_lambda.upkeep import index_handler

Run = Callable[..., Any]


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with named_parts(monkeypatch) as name:
        yield name


@pytest.mark.slow
def test_from_nothing_to_an_index_that_is_built_anew(name: str, run: Run) -> None:
    assert run("doctor").exit_code == 1
    assert json.loads(run("setup", "--json").stdout) == {"made": [name, f"{name}-usage", name]}
    assert run("setup").stdout == "Everything already exists.\n"
    assert run("remember", "the heron eats fish").exit_code == 0

    verified = run("verify")
    assert (verified.exit_code, verified.stdout.split()[0]) == (1, "missing")
    assert json.loads(run("index", "--once", "--json").stdout)["records"] >= 1
    assert run("verify").stdout == "The index matches the table.\n"

    assert json.loads(run("reindex", "--user", "local", "--json").stdout) == {
        "written": 1,
        "refused": 0,
        "switched": False,
    }
    assert run("reindex").stdout == "1 memory or tombstone was written, and the new index is in use.\n"
    assert run("verify", "--user", "local").exit_code == 0
    assert "the heron eats fish" in run("recall", "heron").stdout
    doctor = run("doctor")
    assert doctor.exit_code == 0, doctor.stdout
    assert name in doctor.stdout


@pytest.mark.parametrize(
    ("configured", "shards", "refresh"), [({}, "1", "30s"), ({"SHARDS": "3", "REFRESH": "7s"}, "3", "7s")]
)
def test_a_new_index_has_the_shards_and_the_refresh_of_the_settings(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch, configured: dict[str, str], shards: str, refresh: str
) -> None:
    for variable, value in configured.items():
        monkeypatch.setenv(f"STEELTRAP_OPENSEARCH_{variable}", value)
    assert run("setup").exit_code == 0
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{opensearch_url()}/{name}-1") as answer:
        of_index = json.load(answer)[f"{name}-1"]["settings"]["index"]
    assert (of_index["number_of_shards"], of_index["refresh_interval"]) == (shards, refresh)


@pytest.mark.parametrize("by", ["command", "function"])
def test_sweep_removes_old_tombstones_of_the_index(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    assert run("setup").exit_code == 0
    id = json.loads(run("remember", "the heron eats fish", "--json").stdout)["id"]
    assert run("call", "core.forget", json.dumps({"id": id})).exit_code == 0
    assert run("index", "--once").exit_code == 0
    later = datetime.now(UTC) + timedelta(days=16)
    monkeypatch.setattr("steeltrap.runtime.local.SystemClock.now", lambda self: later)
    assert json.loads(run("sweep", "--json").stdout) == {
        "users": 1,
        "memories": 0,
        "moved": 0,
        "failed": 0,
        "tombstones": 0,
    }
    # DynamoDB does this when the tombstone's time to live is over.
    client = boto3.client("dynamodb", endpoint_url=dynamodb_url())
    key = {"u": {"S": UserRef("local").key}, "k": {"S": f"m#{id}"}}
    gone = client.delete_item(TableName=name, Key=key, ReturnValues="ALL_OLD")
    client.close()
    assert "gone" in gone["Attributes"]
    refresh = urllib.request.Request(f"{opensearch_url()}/{name}/_refresh", method="POST")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(refresh, timeout=30):
        pass
    if by == "command":
        swept = run("sweep").stdout
        assert swept == "0 memories of 1 user were purged. 1 tombstone was removed from the search index.\n"
    else:
        assert index_handler(open=own_upkeep)({"source": "aws.events"}, None) == {"tombstones": 1}
    assert run("verify").exit_code == 0


def test_sweep_says_that_the_index_does_not_answer(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("setup").exit_code == 0
    monkeypatch.setenv("STEELTRAP_OPENSEARCH_URL", "http://127.0.0.1:9")
    swept = run("sweep", "--json")
    assert swept.exit_code == 1
    assert json.loads(swept.stdout) == {"users": 0, "memories": 0, "failed": 1, "moved": 0, "tombstones": 0}
    assert "search index can't be reached" in swept.stderr


@pytest.mark.parametrize("command", ["setup", "index", "reindex", "verify"])
def test_what_looks_after_the_index_asks_for_the_store_that_has_one(command: str, run: Run) -> None:
    result = run(command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("This needs STEELTRAP_STORE=aws")


@pytest.mark.parametrize("command", ["verify", "recall heron"])
def test_a_missing_address_is_refused_by_its_name(command: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELTRAP_STORE", "aws")
    result = run(*command.split())
    assert result.exit_code == 2
    assert "STEELTRAP_OPENSEARCH_URL is not set" in result.stderr


@pytest.mark.parametrize("command", ["setup", "recall heron"])
def test_a_missing_region_is_told_with_its_variable(command: str, run: Run, without_aws: pytest.MonkeyPatch) -> None:
    without_aws.setenv("STEELTRAP_STORE", "aws")
    without_aws.setenv("STEELTRAP_OPENSEARCH_URL", "https://search.example")
    result = run(*command.split())
    assert result.exit_code == 5
    assert "AWS_DEFAULT_REGION" in result.stderr


@pytest.mark.parametrize("missing", ["region", "credentials"])
def test_signing_asks_for_what_it_needs(missing: str, run: Run, without_aws: pytest.MonkeyPatch) -> None:
    settings = {"STORE": "aws", "OPENSEARCH_URL": "https://search.example", "OPENSEARCH_AUTH": "es"}
    for variable, value in settings.items():
        without_aws.setenv(f"STEELTRAP_{variable}", value)
    if missing == "credentials":
        without_aws.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    result = run("recall", "heron")
    assert result.exit_code == 2
    assert missing in result.stderr
