"""Users' files in a bucket of S3: one prefix per user, which no name given by a client leaves."""

import logging
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Lock
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ...aws_client import code_of, fix_hint, is_transient, status_of
from ...errors import Internal, NotFound, SteeltrapError, Throttled, TooLarge, Unavailable
from ...model import UserRef
from . import check_apart, check_name

__all__ = ["BucketFiles"]


_log = logging.getLogger("steeltrap")

_SILENT = "The storage for exported files does not answer; try again."
_MISCONFIGURED = "Exported files can't be reached with these settings: fix {what}; the log has the cause."

THROTTLED: Final = frozenset({"SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded"})
BUSY: Final = frozenset(
    {
        "InternalError",
        "ServiceUnavailable",
        "RequestTimeout",
        "OperationAborted",
        "BadDigest",
        "XAmzContentChecksumMismatch",
        "IncompleteBody",
    }
)
"""Codes of what may pass in a moment; any answer of 500 and above may, too."""
PERMANENT: Final = {
    "NoSuchBucket": "the bucket",
    "PermanentRedirect": "the region",
    "AuthorizationHeaderMalformed": "the region",
    "AccessDenied": "the permissions",
    "AllAccessDisabled": "the permissions",
    "AccountProblem": "the account",
    "InvalidAccessKeyId": "the credentials",
    "SignatureDoesNotMatch": "the credentials",
    "ExpiredToken": "the credentials",
    "InvalidToken": "the credentials",
    "RequestTimeTooSkewed": "the clock",
    "InvalidObjectState": "the file, which is archived",
    "KMS.DisabledException": "the key of the bucket",
    "KMS.KMSInvalidStateException": "the key of the bucket",
    "KMS.NotFoundException": "the key of the bucket",
}
MISTAKES: Final = frozenset({"EncryptionTypeMismatch", "InvalidRequest", "InvalidWriteOffset", "TooManyParts"})
"""Codes that only a mistake in this adapter earns."""
ASKED_FOR: Final = frozenset({"NoSuchKey"})
"""The answer that a read reckons with."""


@contextmanager
def translated() -> Iterator[None]:
    """Inside, the errors of botocore and S3 become ours."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise translate(error) from error


def translate(error: BotoCoreError | ClientError) -> SteeltrapError:
    """The error of ours that stands for one of botocore's or S3's."""
    code = code_of(error)
    status = status_of(error) if code else 0
    if code in THROTTLED:
        return Throttled(
            "The storage for exported files throttles requests; try again in a second.", retry_after=1, part="store"
        )
    if code in BUSY or status >= 500 or is_transient(error):
        return Unavailable(_SILENT, part="store")
    hint = PERMANENT.get(code) or ("the permissions" if status == 403 else fix_hint(error))
    # S3's messages name the bucket and the key.
    _log.error("the storage for exported files failed: %s %s", type(error).__name__, code)
    if hint is not None:
        return Unavailable(_MISCONFIGURED.format(what=hint), retryable=False, part="store")
    return Internal("The storage for exported files failed in an unexpected way; the log has the cause.")


CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 10
ATTEMPTS: Final = 3
"""All attempts together fit inside the minute that an export or an import has."""


class BucketFiles:
    """The bucket of a name. Its client is made at the first use; `options` are boto3's (region, endpoint, credentials).

    What each method asks of S3: `write` ListBucket and PutObject, `read` GetObject and ListBucket (without it S3 says
    forbidden where there is no file), `names` ListBucket, `forget_user` ListBucketVersions, DeleteObject and
    DeleteObjectVersion.
    """

    def __init__(self, bucket: str, **options: Any) -> None:
        self._bucket = bucket
        self._options = options
        self._client: Any = None
        self._lock = Lock()

    def files(self, user: UserRef) -> "UserPrefix":
        return UserPrefix(self._opened, self._bucket, _prefix(user))

    def forget_user(self, user: UserRef) -> bool:
        """Remove every version of every file. False when there was none. Raises Unavailable when one is left."""
        had_files = False
        with translated():
            # Listed again until nothing is left: so it is seen to be gone.
            while versions := self._versions(_prefix(user)):
                had_files = True
                answer = self._opened().delete_objects(Bucket=self._bucket, Delete={"Objects": versions, "Quiet": True})
                if errors := answer.get("Errors"):
                    raise ClientError({"Error": errors[0]}, "DeleteObjects")
        return had_files

    def _versions(self, prefix: str) -> list[dict[str, str]]:
        """The first versions and marks of deletions, as many as one request deletes."""
        page = self._opened().list_object_versions(Bucket=self._bucket, Prefix=prefix)
        versions = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        return [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in versions]

    def _opened(self) -> Any:
        import boto3
        from botocore.config import Config

        with self._lock:
            if self._client is None:
                config = Config(
                    connect_timeout=CONNECT_SECONDS,
                    read_timeout=READ_SECONDS,
                    retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                )
                self._client = boto3.session.Session().client("s3", config=config, **self._options)
        return self._client


class UserPrefix:
    """One user's files. Made without a request."""

    def __init__(self, connect: Callable[[], Any], bucket: str, prefix: str) -> None:
        self._connect = connect
        self._bucket = bucket
        self._prefix = prefix

    def write(self, name: str, content: bytes) -> None:
        check_name(name)
        # A bucket could hold both; what is exported must fit a folder, too.
        check_apart(name, self.names())
        with translated():
            self._connect().put_object(
                Bucket=self._bucket,
                Key=self._prefix + name,
                Body=content,
                ChecksumSHA256=b64encode(sha256(content).digest()).decode(),
            )

    def read(self, name: str, *, max_bytes: int) -> bytes:
        key = self._prefix + check_name(name)
        with translated():
            try:
                answer = self._connect().get_object(Bucket=self._bucket, Key=key, ChecksumMode="ENABLED")
            except ClientError as error:
                if code_of(error) == "NoSuchKey":
                    raise NotFound(f"No file `{name}` among the exported files.") from None
                raise
            with answer["Body"] as body:
                if answer["ContentLength"] > max_bytes:
                    raise TooLarge(f"The file `{name}` has more than {max_bytes:,} bytes.")
                return bytes(body.read())

    def names(self) -> list[str]:
        with translated():
            paginator = self._connect().get_paginator("list_objects_v2")
            pages = paginator.paginate(Bucket=self._bucket, Prefix=self._prefix)
            keys = [row["Key"] for page in pages for row in page.get("Contents", ())]
        # AWS's console makes folders of empty objects whose keys end in a slash.
        return sorted(key.removeprefix(self._prefix) for key in keys if not key.endswith("/"))


def _prefix(user: UserRef) -> str:
    return f"exports/{user.key}/"
