"""Maps the errors of botocore and DynamoDB to ours; the only place that does."""

import logging
from typing import Any, Final

from ....errors import Internal, SteeltrapError, Throttled, TooLarge, Unavailable
from ...aws_client import code_of, passes, to_mend

_log = logging.getLogger("steeltrap")

_SILENT = "The memory store does not answer; try again."
_SETUP = "The memory store can't be reached with these settings: fix {what}; the log has the cause."

THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ThrottlingError",
        "Throttling",
    }
)
BUSY: Final = frozenset(
    {
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "TransactionConflictException",
        "TransactionConflict",
        "TransactionInProgressException",
        "ReplicatedWriteConflictException",
        "LimitExceededException",
        "ResourceInUseException",
    }
)
"""Codes of what may pass in a moment. A conflict is another transaction over one of the same items."""
FULL: Final = frozenset({"ItemCollectionSizeLimitExceededException", "ItemCollectionSizeLimitExceeded"})
LASTING: Final = {
    "ResourceNotFoundException": "the table",
    "AccessDeniedException": "the permissions",
    "UnrecognizedClientException": "the credentials",
    "InvalidClientTokenId": "the credentials",
    "InvalidSignatureException": "the credentials or the clock",
    "IncompleteSignatureException": "the credentials",
    "MissingAuthenticationTokenException": "the credentials",
    "ExpiredTokenException": "the credentials",
    "RequestExpired": "the clock",
    "OptInRequired": "the account",
    "KMSAccessDeniedException": "the permissions",
}
MISTAKES: Final = frozenset(
    {"ValidationException", "ValidationError", "IdempotentParameterMismatchException", "SerializationException"}
)
"""Codes that only a mistake in this adapter earns."""
ASKED_FOR: Final = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
"""The answers that writes reckon with; whoever asks looks at them first."""


def codes_of(error: Exception) -> set[str]:
    """The codes that say why: of a cancelled transaction those of its actions."""
    reasons = {str(reason["Code"]) for reason in cancelled(error) if reason.get("Code") not in (None, "None")}
    return reasons or {code_of(error)}


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed in a moment."""
    if not code_of(error):
        return passes(error)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)  # type: ignore[attr-defined]
    return status >= 500 or codes_of(error) <= THROTTLED | BUSY


def translate(error: Exception) -> SteeltrapError:
    """The error of ours that stands for one of botocore's or DynamoDB's."""
    codes = codes_of(error)
    if codes <= THROTTLED:
        return Throttled("The memory store is throttled; try again in a second.", retry_after=1, part="store")
    if codes & FULL:
        return TooLarge(
            "This user's memories have reached 10 GB, the maximum per user in DynamoDB: forget some of them."
        )
    if may_pass(error):
        return Unavailable(_SILENT, part="store")
    what = next((LASTING[code] for code in codes if code in LASTING), None)
    what = what or to_mend(error)
    # DynamoDB's messages may quote values; the codes and the kind are enough to find the place.
    _log.error("the memory store failed: %s %s", type(error).__name__, " ".join(sorted(codes)))
    if what is not None:
        return Unavailable(_SETUP.format(what=what), retryable=False, part="store")
    return Internal("The memory store failed in an unexpected way; the log has the cause.")


def cancelled(error: Exception) -> list[dict[str, Any]]:
    """Why a transaction was cancelled: a reason for each action, `Code` and perhaps `Item`; [] for other errors."""
    if code_of(error) != "TransactionCanceledException":
        return []
    return list(error.response.get("CancellationReasons", ()))  # type: ignore[attr-defined]
