"""S3's requests and answers: every error has its place in the map; a new one fails here."""

import logging
from collections.abc import Iterator

import botocore.session
import pytest
from botocore import exceptions as foreign
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from steeltrap.errors import Internal, SteeltrapError, Throttled, Unavailable
from steeltrap.model import UserRef
from steeltrap.stores.files import s3
from steeltrap.stores.files.s3 import BucketFiles

_OPERATIONS = ("PutObject", "GetObject", "ListObjectsV2", "ListObjectVersions", "DeleteObjects")
_CODES = (
    s3.THROTTLED,
    s3.BUSY,
    frozenset(s3.PERMANENT),
    s3.MISTAKES,
    s3.ASKED_FOR,
)


def _refused(code: str, status: int = 400) -> ClientError:
    answer = {"Error": {"Code": code, "Message": "a secret"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "PutObject")  # type: ignore[arg-type]


def test_every_error_that_s3_declares_for_what_we_ask_is_in_one_place_of_the_map() -> None:
    model = botocore.session.get_session().get_service_model("s3")
    declared = {shape.name for name in _OPERATIONS for shape in model.operation_model(name).error_shapes}
    assert declared
    assert {code: sum(code in place for place in _CODES) for code in declared} == dict.fromkeys(declared, 1)


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (_refused("SlowDown", 503), Throttled, True),
        (_refused("InternalError", 500), Unavailable, True),
        (_refused("NeverHeardOf", 503), Unavailable, True),
        (_refused("BadDigest"), Unavailable, True),
        (_refused("NoSuchBucket", 404), Unavailable, False),
        (_refused("AccessDenied", 403), Unavailable, False),
        (_refused("NeverHeardOf", 403), Unavailable, False),
        (_refused("KMS.DisabledException"), Unavailable, False),
        (_refused("InvalidRequest"), Internal, False),
        (_refused("NeverHeardOf"), Internal, False),
        (foreign.EndpointConnectionError(endpoint_url="http://secret"), Unavailable, True),
        (foreign.ReadTimeoutError(endpoint_url="http://secret"), Unavailable, True),
        (foreign.ResponseStreamingError(error="secret"), Unavailable, True),
        (foreign.FlexibleChecksumError(error_msg="secret"), Unavailable, True),
        (foreign.NoCredentialsError(), Unavailable, False),
        (foreign.ParamValidationError(report="a secret"), Internal, False),
    ],
)
def test_an_error_says_whether_a_retry_helps_and_quotes_nothing(
    error: ClientError | foreign.BotoCoreError,
    kind: type[SteeltrapError],
    retryable: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        ours = s3.translate(error)
    assert type(ours) is kind
    assert ours.can_retry is retryable
    assert "secret" not in ours.message
    assert "secret" not in caplog.text


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> BucketFiles:
    """Files over a client that `stub` answers for."""
    files = BucketFiles("steeltrap-stubbed")
    client = botocore.session.get_session().create_client(
        "s3", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    monkeypatch.setattr(files, "_client", client)
    return files


@pytest.fixture
def stub(files: BucketFiles) -> Iterator[Stubber]:
    with Stubber(files._client) as stub:
        yield stub
        stub.assert_no_pending_responses()


def test_a_version_that_cannot_be_deleted_is_an_error_and_no_receipt(files: BucketFiles, stub: Stubber) -> None:
    stub.add_response("list_object_versions", {"Versions": [{"Key": "exports/x/a.json", "VersionId": "1"}]})
    stub.add_response("delete_objects", {"Errors": [{"Key": "exports/x/a.json", "Code": "AccessDenied"}]})
    with pytest.raises(Unavailable, match="fix the permissions"):
        files.forget_user(UserRef("ana"))


def test_a_file_is_sent_with_its_checksum(files: BucketFiles, stub: Stubber) -> None:
    stub.add_response("list_objects_v2", {})
    stub.add_response(
        "put_object",
        {},
        {
            "Bucket": "steeltrap-stubbed",
            "Key": f"exports/{UserRef('ana').key}/a.json",
            "Body": b"hello",
            "ChecksumSHA256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
        },
    )
    files.files(UserRef("ana")).write("a.json", b"hello")
