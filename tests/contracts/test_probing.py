"""Faults that `steeltrap doctor` finds in a place for logs, by probes that go away again."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from components import aws_url
from contracts import log_places
from contracts.log_contract import ANA
from faults.proxy import Answered, Asked, Proxy, Rule, Send, saying
from steeltrap.errors import Unavailable
from steeltrap.stores.logs.bucket import BucketLogs
from steeltrap.stores.logs.dynamodb import DynamoLogs
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.logs.postgres import PostgresLogs
from steeltrap.stores.logs.probing import Fault, probe
from steeltrap.stores.objects import Objects


def now() -> datetime:
    return datetime.now(UTC)


def faults_of(logs: Any, **ahead: float) -> list[Fault]:
    return [fault for place in logs.places(ANA) for fault in probe(place, lambda: now() + timedelta(**ahead))]


def found(logs: Any, **ahead: float) -> list[str]:
    return [fault.problem for fault in faults_of(logs, **ahead)]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[BucketLogs, Proxy]]:
    with log_places.proxied_place("gcs", monkeypatch) as (make, proxy), log_places.connecting(make) as connect:
        logs = connect()
        assert isinstance(logs, BucketLogs)
        yield logs, proxy


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[DynamoLogs, Proxy]]:
    with log_places.proxied_place("dynamodb", monkeypatch) as (make, proxy), log_places.connecting(make) as connect:
        logs = connect()
        assert isinstance(logs, DynamoLogs)
        yield logs, proxy


def asks(asked: Asked) -> str:
    if asked.method == "GET":
        return "list" if "list-type" in asked.path or "comp=list" in asked.path else "read"
    return {"PUT": "write", "DELETE": "delete"}[asked.method]


def forbidding(right: str) -> Rule:
    def rule(asked: Asked, send: Send) -> Answered:
        if asks(asked) == right:
            return Answered(403, b"<Error><Code>AccessDenied</Code></Error>")
        return send(asked)

    return rule


@pytest.mark.parametrize("kind", ["folder", "s3", "azure", "gcs", "dynamodb", "postgres"])
def test_a_sound_place_has_no_fault_and_nothing_is_left_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with log_places.place(kind, tmp_path, monkeypatch) as make, log_places.connecting(make) as connect:
        logs = connect()
        assert faults_of(logs) == []
        assert list(logs.users()) == []
        if isinstance(logs, FolderLogs):
            assert list((tmp_path / "logs").rglob("*")) == []
        else:
            assert isinstance(logs, BucketLogs | PostgresLogs)
            assert [page for folder in ("", f"u/{ANA.key}") for page in logs.objects.names(folder)] == []
        if isinstance(logs, DynamoLogs):
            assert list(logs._table.query(logs._partition(ANA.key), -(2**64))) == []


def test_a_look_whether_a_bucket_can_be_written_leaves_nothing_but_its_id(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    logs.check()
    id = logs.id()
    logs.check()
    assert [name for page in logs.objects.names("") for name in page] == ["log"]
    assert logs.objects.get("log") == id
    proxy.rule = saying(403, b"<Error><Code>AccessDenied</Code></Error>")
    with pytest.raises(Unavailable, match="may not"):
        logs.check()


@pytest.mark.parametrize("right", ["read", "write", "list"])
def test_each_right_that_is_missing_is_one_line(bucket: tuple[BucketLogs, Proxy], right: str) -> None:
    logs, proxy = bucket
    proxy.rule = forbidding(right)
    [fault] = faults_of(logs)
    assert fault.broken
    assert f"these credentials may not {right} objects; grant storage.objects." in fault.problem


def test_who_may_not_delete_is_warned_alone(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    proxy.rule = forbidding("delete")
    [fault] = faults_of(logs)
    assert not fault.broken
    assert "grant storage.objects.delete" in fault.problem
    proxy.rule = lambda asked, send: Answered(403, b"<Error><Code>AccessDenied</Code></Error>")
    assert len(found(logs)) == 4, "each of the four"


def test_a_bucket_that_creates_what_is_there_is_refused(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    proxy.rule = lambda asked, send: send(
        replace(asked, headers={name: value for name, value in asked.headers.items() if "if-generation" not in name})
    )
    [fault] = faults_of(logs)
    assert fault.broken
    assert fault.problem.startswith("It creates an object where one is already")


def test_a_cache_in_front_of_a_bucket_is_found(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    kept: dict[str, Answered] = {}

    def caching(asked: Asked, send: Send) -> Answered:
        return kept.setdefault(asked.path, send(asked)) if asked.method == "GET" else send(asked)

    proxy.rule = caching
    assert found(logs) == ["It still answers what was overwritten: forgotten memories would stay."]
    proxy.rule = lambda asked, send: (
        Answered(404, b"<Error><Code>NoSuchKey</Code></Error>") if asks(asked) == "read" else send(asked)
    )
    assert found(logs)[0] == "It doesn't find what was written a moment ago: a saved memory could be lost."
    proxy.rule = lambda asked, send: (
        Answered(200, b"<ListBucketResult></ListBucketResult>") if asks(asked) == "list" else send(asked)
    )
    assert found(logs) == ["It doesn't list what was written a moment ago."]


def test_a_bucket_that_does_not_answer_is_waited_for_once(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    proxy.rule = saying(503, b"")
    assert found(logs) == ["The bucket of the memories does not answer; try again."]
    assert proxy.asked.total() <= 4


@pytest.mark.parametrize(
    ("ahead", "says"),
    [
        ({"seconds": 50}, None),
        ({"minutes": 5}, "This machine's clock is 5 minutes ahead of the store's."),
        ({"minutes": -3}, "This machine's clock is 3 minutes behind the store's."),
        ({"days": 365}, "This machine's clock is 525,600 minutes ahead of the store's."),
    ],
)
def test_a_clock_that_is_a_minute_off_is_told(
    bucket: tuple[BucketLogs, Proxy], tmp_path: Path, ahead: dict[str, float], says: str | None
) -> None:
    for logs in (bucket[0], FolderLogs(tmp_path / "logs")):
        faults = faults_of(logs, **ahead)
        assert [fault.problem for fault in faults] == ([says] if says else [])
        assert not any(fault.broken for fault in faults)


def test_credentials_that_reach_one_user_only_are_enough(
    bucket: tuple[BucketLogs, Proxy], table: tuple[DynamoLogs, Proxy]
) -> None:
    logs, proxy = bucket

    def own(asked: Asked, send: Send) -> Answered:
        if f"/u/{ANA.key}/" in unquote(asked.path):
            return send(asked)
        return Answered(403, b"<Error><Code>AccessDenied</Code></Error>")

    proxy.rule = own
    assert faults_of(logs) == []
    logs, proxy = table
    for n in range(1, 4):
        logs.of(ANA).create(n, b"x")
    assert faults_of(logs) == []
    assert len(logs.of(ANA).read_on(1)) == 3


def test_another_region_is_told(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    proxy.rule = saying(301, b"<Error><Code>PermanentRedirect</Code></Error>")
    [told] = found(logs)
    assert "it is in another region; set the region (AWS_REGION) or the endpoint." in told


def test_a_bucket_that_keeps_versions_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    url = log_places.s3(monkeypatch)
    assert found(BucketLogs(url)) == []
    name = "versions-" + url.rsplit("-", 1)[1].partition("/")[0]
    client = log_places._s3_client(aws_url())
    client.create_bucket(Bucket=name)
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    client.close()
    [fault] = faults_of(BucketLogs(f"s3://{name}/memories"))
    assert fault.problem.startswith("It keeps old versions: forgotten memories stay in them")
    assert not fault.broken


@pytest.mark.parametrize("code", ["RetentionPolicyNotMet", "ObjectUnderActiveHold", "ObjectLocked"])
def test_a_policy_that_forbids_overwriting_is_told(bucket: tuple[BucketLogs, Proxy], code: str) -> None:
    logs, proxy = bucket
    written: list[str] = []

    def locked(asked: Asked, send: Send) -> Answered:
        if asked.path in written and "x-goog-if-generation-match" not in asked.headers and asks(asked) != "read":
            return Answered(403, f"<Error><Code>{code}</Code></Error>".encode())
        written.append(asked.path)
        return send(asked)

    proxy.rule = locked
    first = faults_of(logs)[0]
    assert first.broken
    assert "a policy forbids overwriting and deleting" in first.problem


def test_a_folder_that_takes_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    assert set(found(FolderLogs(tmp_path / "logs"))) == {
        "The folder of the logs can't be used (Not a directory); check its disk and permissions."
    }


@pytest.mark.parametrize(
    ("operation", "says"),
    [("PutItem", "grant dynamodb:PutItem"), ("Query", "dynamodb:Query"), ("BatchGetItem", "dynamodb:BatchGetItem")],
)
def test_each_right_that_is_missing_at_a_table_is_told(
    table: tuple[DynamoLogs, Proxy], operation: str, says: str
) -> None:
    logs, proxy = table
    denied = saying(400, {"__type": "com.amazon.coral.service#AccessDeniedException", "Message": "no"})
    proxy.rule = lambda asked, send: denied(asked, send) if asked.operation == operation else send(asked)
    [fault] = faults_of(logs)
    assert says in fault.problem


def test_a_probe_is_no_entry(bucket: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = bucket
    proxy.rule = forbidding("delete")
    faults_of(logs)
    assert logs.of(ANA).read_on(1) == []
    assert list(logs.users()) == []
    [[left]] = list(Objects(logs.objects.url).names(f"u/{ANA.key}/check"))
    assert len(left) == 16
