"""Maps the errors of botocore and S3 to ours; the only place that does."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from ...errors import Internal, SteeltrapError, Throttled, Unavailable
from ..aws_client import code_of, passes, to_mend

_log = logging.getLogger("steeltrap")

_SILENT = "The storage for exported files does not answer; try again."
_SETUP = "Exported files can't be reached with these settings: fix {what}; the log has the cause."

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
LASTING: Final = {
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
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if code else 0
    if code in THROTTLED:
        return Throttled(
            "The storage for exported files throttles requests; try again in a second.", retry_after=1, part="store"
        )
    if code in BUSY or status >= 500 or passes(error):
        return Unavailable(_SILENT, part="store")
    what = LASTING.get(code) or ("the permissions" if status == 403 else to_mend(error))
    # S3's messages name the bucket and the key.
    _log.error("the storage for exported files failed: %s %s", type(error).__name__, code)
    if what is not None:
        return Unavailable(_SETUP.format(what=what), retryable=False, part="store")
    return Internal("The storage for exported files failed in an unexpected way; the log has the cause.")
