"""A bucket of logs: how much is asked of it, where its credentials come from, and how it says what is wrong."""

import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore.exceptions
import pytest

from contracts import log_places
from contracts.log_contract import ANA, BEN
from faults.proxy import Answered, Asked, Proxy, Send, passing, saying
from gcs_server import serving_gcs
from steeltrap.errors import Unavailable
from steeltrap.ports import BaseName
from steeltrap.stores import objects
from steeltrap.stores.logs.bucket import BucketLogs
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.objects import KNOWN, Objects, translate


@pytest.fixture
def kind() -> str:
    return "gcs"


@pytest.fixture
def place(kind: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[BucketLogs, Proxy]]:
    with (
        log_places.proxied_place(kind, monkeypatch) as (make, proxy),
        log_places.connecting(make) as connect,
    ):
        logs = connect()
        assert isinstance(logs, BucketLogs)
        yield logs, proxy


class Counting:
    """Counts requests by what they are."""

    def __init__(self, proxy: Proxy) -> None:
        self.found: Counter[str] = Counter()
        proxy.rule = self

    def __call__(self, asked: Asked, send: Send) -> Answered:
        self.found["LIST" if "list-type" in asked.path else asked.method] += 1
        return send(asked)

    def take(self) -> dict[str, int]:
        """The counts since the last time."""
        found, self.found = dict(self.found), Counter()
        return found


@pytest.mark.parametrize("kind", ["s3", "gcs"])
def test_each_operation_asks_as_little_as_it_can(place: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = place
    counting = Counting(proxy)
    log = logs.of(ANA)
    assert counting.take() == {}
    assert log.read_on(1) == []
    assert counting.take() == {"GET": 1}, "a quiet read"
    assert log.create(1, b"x")
    assert counting.take() == {"PUT": 1}
    assert not log.create(1, b"y")
    assert counting.take() == {"PUT": 1}
    for n in range(2, 8):
        log.create(n, b"x")
    counting.take()
    assert len(log.read_on(7)) == 1
    assert counting.take() == {"GET": 2}, "one entry is new"
    assert len(log.read_on(1)) == 7
    assert counting.take() == {"GET": 1 + 1 + 8}
    log.overwrite(dict.fromkeys(range(1, 8), b"s"))
    assert counting.take() == {"PUT": 7}
    log.put_base(BaseName(7, 7), b"b")
    log.bases()
    log.read_base(BaseName(7, 7))
    log.delete_base(BaseName(7, 7))
    assert counting.take() == {"PUT": 1, "LIST": 1, "GET": 1, "DELETE": 1}
    log.list_user()
    assert counting.take() == {"PUT": 1}
    logs.id()
    assert counting.take() == {"GET": 2, "PUT": 1}, "the first time it is made"
    logs.id()
    assert counting.take() == {}
    logs.check()
    assert counting.take() == {"PUT": 1}


def test_waves_grow_up_to_thirty_two(place: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = place
    log = logs.of(ANA)
    for n in range(1, 60):
        log.create(n, b"x")
    counting = Counting(proxy)
    assert len(log.read_on(1)) == 59
    assert counting.take() == {"GET": 1 + 1 + 8 + 32 + 32}


def test_a_prefix_is_a_place_of_its_own_and_its_names_are_those_of_a_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with serving_gcs() as address:
        url = log_places.gcs(monkeypatch, address)
        with log_places.connecting(lambda: BucketLogs(url)) as connect:
            for logs in (connect(), FolderLogs(tmp_path)):
                for user in (ANA, BEN):
                    logs.of(user).create(1, b"x")
                    logs.of(user).put_base(BaseName(1, 0), b"b")
                    logs.of(user).list_user()
                logs.id()
        other = Objects(url + "0")
        whole = Objects(url)
        names = {name for page in whole.names("") for name in page}
        assert names == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
        assert list(other.names("")) == []
        other.close()
        whole.close()


def test_what_else_lies_there_is_no_base_and_no_user(place: tuple[BucketLogs, Proxy], tmp_path: Path) -> None:
    logs, _ = place
    folder = FolderLogs(tmp_path)
    for each in (logs, folder):
        each.of(ANA).put_base(BaseName(1, 0), b"b")
        each.of(ANA).list_user()
    for stray in (f"u/{ANA.key}/b/.DS_Store", f"u/{ANA.key}/b/1-0", "who/.DS_Store", "who/desktop.ini"):
        logs.objects.put(stray, b"stray")
        (tmp_path / stray).write_bytes(b"stray")
    for each in (logs, folder):
        assert each.of(ANA).bases() == [BaseName(1, 0)]
        assert list(each.users()) == [ANA]


# What is wrong


def test_every_exception_of_obstore_is_known() -> None:
    found = {name for name, each in inspect.getmembers(obstore.exceptions, inspect.isclass)}
    assert found == KNOWN


def _xml(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>The key AKIAEXAMPLE of u/secret is wrong</Message></Error>".encode()


@pytest.mark.parametrize(
    ("status", "code", "says", "retry"),
    [
        (403, "AccessDenied", "storage.objects.get and storage.objects.list", False),
        (403, "SignatureDoesNotMatch", "credentials are refused", False),
        (403, "InvalidAccessKeyId", "credentials are refused", False),
        (400, "ExpiredToken", "credentials are refused", False),
        (403, "RequestTimeTooSkewed", "clock is wrong", False),
        (401, "AuthenticationRequired", "credentials are refused", False),
        (401, "", "credentials are refused", False),
        (403, "", "a proxy before it", False),
        (404, "NoSuchBucket", "no such bucket", False),
        (404, "ContainerNotFound", "no such bucket", False),
        (404, "", "answers in the place of the bucket", True),
        (301, "PermanentRedirect", "another region", False),
        (400, "AuthorizationHeaderMalformed", "another region", False),
        (400, "InvalidArgument", "refuses the request (InvalidArgument)", False),
        (403, "InvalidObjectState", "archived", False),
        (400, "KMS.DisabledException", "encryption key", False),
        (429, "SlowDown", "busy", True),
        (503, "SlowDown", "busy", True),
        (503, "", "does not answer", True),
        (500, "InternalError", "does not answer", True),
        (409, "OperationAborted", "does not answer", True),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence_without_secrets(
    place: tuple[BucketLogs, Proxy], status: int, code: str, says: str, retry: bool, caplog: pytest.LogCaptureFixture
) -> None:
    logs, proxy = place
    proxy.rule = saying(status, _xml(code) if code else b"")
    with pytest.raises(Unavailable) as failed:
        logs.of(ANA).read([1])
    message = failed.value.message
    assert says in message
    assert failed.value.can_retry is retry
    assert failed.value.details == {"part": "store"}
    for secret in ("AKIA", "memories/", ANA.key, "127.0.0.1"):
        assert secret not in message + caplog.text
    assert failed.value.__cause__ is None


@pytest.mark.parametrize(
    ("act", "right"),
    [
        ("create", "storage.objects.create"),
        ("list_user", "storage.objects.create"),
        ("bases", "storage.objects.list"),
        ("delete_base", "storage.objects.delete"),
        ("read_on", "storage.objects.get"),
    ],
)
def test_a_missing_right_is_named(place: tuple[BucketLogs, Proxy], act: str, right: str) -> None:
    logs, proxy = place
    arguments: dict[str, tuple[Any, ...]] = {"create": (1, b"x"), "delete_base": (BaseName(1, 0),), "read_on": (1,)}
    proxy.rule = saying(403, _xml("AccessDenied"))
    with pytest.raises(Unavailable, match=right) as failed:
        getattr(logs.of(ANA), act)(*arguments.get(act, ()))
    assert not failed.value.can_retry


@pytest.mark.parametrize(("scheme", "right"), [("s3", "s3:PutObject"), ("az", "Storage Blob Data Contributor")])
def test_each_clouds_rights_have_their_names(scheme: str, right: str) -> None:
    error = obstore.exceptions.PermissionDeniedError(
        "no: Server returned non-2xx status code: 403 Forbidden: <Code>AccessDenied</Code>"
    )
    assert right in translate(error, scheme, "write").message


@pytest.mark.parametrize(
    ("text", "says", "retry"),
    [
        ("Error performing PUT http://169.254.169.254/latest/api/token in 1s - HTTP error: -", "no credentials", False),
        ("Error performing token request: Error performing GET http://metadata/ in 1s - -", "no credentials", False),
        (
            "Error performing POST https://sts.eu-west-1.amazonaws.com/ in 1s - Server returned non-2xx status code: "
            "403 Forbidden: <Code>AccessDenied</Code>",
            "credentials are refused",
            False,
        ),
        ("Error performing POST https://login.microsoftonline.com/x in 1s - HTTP error: -", "does not answer", True),
        ("Error performing GET https://sts-bucket.example.com/ in 1s - HTTP error: -", "does not answer", True),
    ],
)
def test_a_sign_in_that_fails_is_no_missing_right(text: str, says: str, retry: bool) -> None:
    ours = translate(obstore.exceptions.GenericError(text), "s3", "read")
    assert says in ours.message
    assert ours.can_retry is retry


def test_a_bucket_that_is_not_there_is_no_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("s3", "azure"):
        url = getattr(log_places, name)(monkeypatch).replace("steeltrap-logs", "never-made")
        logs = BucketLogs(url)
        for attempt in (
            lambda logs=logs: logs.of(ANA).read_on(1),
            lambda logs=logs: logs.of(ANA).create(1, b"x"),
            lambda logs=logs: logs.of(ANA).bases(),
            lambda logs=logs: logs.of(ANA).read_base(BaseName(1, 0)),
            lambda logs=logs: list(logs.users()),
            logs.id,
            logs.check,
        ):
            with pytest.raises(Unavailable, match="no such bucket") as failed:
                attempt()
            assert not failed.value.can_retry
        logs.close()


def test_nobody_at_the_address_is_an_outage(place: tuple[BucketLogs, Proxy]) -> None:
    logs, proxy = place
    proxy.stop()
    with pytest.raises(Unavailable, match="does not answer") as failed:
        logs.of(ANA).read_on(1)
    assert failed.value.can_retry
    proxy.start()
    proxy.rule = passing
    assert logs.of(ANA).read_on(1) == []


def test_a_damaged_id_is_refused(place: tuple[BucketLogs, Proxy]) -> None:
    logs, _ = place
    logs.objects.put("log", b"short")
    with pytest.raises(Unavailable, match="`log`"):
        logs.id()


# Credentials and addresses


@pytest.mark.parametrize(
    "url", ["s3://", "gs:///prefix", "ftp://bucket/prefix", "bucket", "memory:///", "http://bucket/prefix"]
)
def test_a_url_that_names_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(Unavailable, match="store's URL") as failed:
        BucketLogs(url)
    assert not failed.value.can_retry


def test_keys_of_a_profile_are_those_that_aws_tools_find(without_aws: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = s\n")
    (tmp_path / "config").write_text("[profile work]\nregion = eu-central-1\n")
    without_aws.setenv("AWS_PROFILE", "work")
    provider = objects.options_for("s3")["credential_provider"]
    assert provider()["access_key_id"] == "AKIAWORK"
    assert provider.config == {"region": "eu-central-1"}


def test_a_profile_that_is_not_there_is_refused(without_aws: pytest.MonkeyPatch) -> None:
    without_aws.setenv("AWS_PROFILE", "work")
    with pytest.raises(Unavailable, match="AWS_PROFILE"):
        BucketLogs("s3://bucket/prefix")


def test_a_profile_without_boto3_says_what_to_install(without_aws: pytest.MonkeyPatch) -> None:
    without_aws.setenv("AWS_PROFILE", "work")
    without_aws.setattr(objects, "find_spec", lambda name: None)
    with pytest.raises(Unavailable, match=r"run `pip install .*boto3`"):
        BucketLogs("s3://bucket/prefix")


def test_variables_that_say_it_all_need_no_boto3(without_aws: pytest.MonkeyPatch) -> None:
    without_aws.setenv("AWS_PROFILE", "work")
    without_aws.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    without_aws.setenv("AWS_REGION", "eu-west-1")
    assert objects.options_for("s3") == {"disable_bulk_delete": True}
    without_aws.delenv("AWS_PROFILE")
    without_aws.delenv("AWS_REGION")
    assert objects.options_for("s3") == {"disable_bulk_delete": True}


@pytest.fixture
def without_azure(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(objects.os, "environ", {"HOME": "/"})
    monkeypatch.setattr(objects.shutil, "which", lambda name: None)
    return monkeypatch


def test_azures_own_variables_are_read(without_azure: pytest.MonkeyPatch) -> None:
    environment = objects.os.environ
    assert objects.options_for("az") == {}
    environment["AZURE_STORAGE_ACCOUNT"] = "ours"
    environment["AZURE_STORAGE_KEY"] = "key=="
    assert objects.options_for("az") == {"account_name": "ours", "account_key": "key=="}


def test_a_connection_string_is_read(without_azure: pytest.MonkeyPatch) -> None:
    objects.os.environ["AZURE_STORAGE_CONNECTION_STRING"] = (
        "DefaultEndpointsProtocol=https;AccountName=ours;AccountKey=a2V5==;BlobEndpoint=http://127.0.0.1:1/ours;"
    )
    assert objects.options_for("az") == {
        "account_name": "ours",
        "account_key": "a2V5==",
        "endpoint": "http://127.0.0.1:1/ours",
    }


def test_azures_sign_in_is_used_where_nothing_else_is_there(without_azure: pytest.MonkeyPatch) -> None:
    without_azure.setattr(objects.shutil, "which", lambda name: "/usr/bin/az")
    objects.os.environ["AZURE_STORAGE_ACCOUNT"] = "ours"
    assert objects.options_for("az") == {"account_name": "ours", "use_azure_cli": True}
    objects.os.environ["AZURE_CLIENT_ID"] = "machine"
    assert objects.options_for("az") == {"account_name": "ours"}


def test_a_store_of_each_patience_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_gcs() as address:
        place = Objects(log_places.gcs(monkeypatch, address))
        assert place._store(0) is place._store(1000)
        assert place._store(0) is not place._store(1_000_000)
        place.close()
    assert objects._PATIENCE[0][1] <= 5
