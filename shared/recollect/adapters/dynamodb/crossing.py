"""The one map by which the errors of botocore and DynamoDB cross over."""

import logging
from typing import Any, Final

from botocore import exceptions as foreign

from ...errors import Internal, RecollectError, Throttled, TooLarge, Unavailable

_log = logging.getLogger("recollect")

_SILENT = "The memory store does not answer; try again."
_SETUP = "The memory store can't be reached as it is set up: mend {what}; the log has the cause."

PASSING: Final[tuple[type[Exception], ...]] = (
    foreign.ConnectionError,
    foreign.HTTPClientError,
    foreign.IncompleteReadError,
    foreign.ChecksumError,
    foreign.FlexibleChecksumError,
)
"""The network or the service, for now: the same call may succeed later."""

SETUP: Final[dict[type[Exception], str]] = {
    foreign.NoCredentialsError: "the credentials",
    foreign.NoAuthTokenError: "the credentials",
    foreign.PartialCredentialsError: "the credentials",
    foreign.CredentialRetrievalError: "the credentials",
    foreign.TokenRetrievalError: "the credentials",
    foreign.UnknownTokenProviderError: "the credentials",
    foreign.UnknownCredentialError: "the credentials",
    foreign.RefreshWithMFAUnsupportedError: "the credentials",
    foreign.MetadataRetrievalError: "the credentials",
    foreign.SSOError: "the credentials",
    foreign.LoginError: "the credentials",
    foreign.InvalidIMDSEndpointError: "the credentials",
    foreign.InvalidIMDSEndpointModeError: "the credentials",
    foreign.ProfileNotFound: "the profile",
    foreign.ConfigNotFound: "the configuration of AWS",
    foreign.ConfigParseError: "the configuration of AWS",
    foreign.InvalidConfigError: "the configuration of AWS",
    foreign.InvalidDefaultsMode: "the configuration of AWS",
    foreign.InvalidRetryConfigurationError: "the configuration of AWS",
    foreign.InvalidProxiesConfigError: "the proxy",
    foreign.InvalidChecksumConfigError: "the configuration of AWS",
    foreign.InvalidSTSRegionalEndpointsConfigError: "the configuration of AWS",
    foreign.InvalidS3UsEast1RegionalEndpointConfigError: "the configuration of AWS",
    foreign.InvalidEndpointConfigurationError: "the endpoint",
    foreign.InvalidEndpointDiscoveryConfigurationError: "the endpoint",
    foreign.BaseEndpointResolverError: "the region or the endpoint",
    foreign.EndpointProviderError: "the region or the endpoint",
    foreign.UnknownRegionError: "the region",
    foreign.InvalidRegionError: "the region",
    foreign.ServiceNotInRegionError: "the region",
    foreign.CapacityNotAvailableError: "the capacity",
    foreign.MissingDependencyException: "the installation",
}
"""What somebody has to set right: no retry helps."""

OURS: Final[tuple[type[Exception], ...]] = (
    foreign.ValidationError,
    foreign.ParamValidationError,
    foreign.MissingParametersError,
    foreign.InvalidExpressionError,
    foreign.DataNotFoundError,
    foreign.ApiVersionNotFoundError,
    foreign.UnknownSignatureVersionError,
    foreign.UnsupportedSignatureVersionError,
    foreign.UnsupportedServiceProtocolsError,
    foreign.UnknownServiceStyle,
    foreign.UnknownClientMethodError,
    foreign.UndefinedModelAttributeError,
    foreign.PaginationError,
    foreign.OperationNotPageableError,
    foreign.UnseekableStreamError,
    foreign.AwsChunkedWrapperError,
    foreign.WaiterError,
    foreign.WaiterConfigError,
    foreign.StubResponseError,
    foreign.MD5UnavailableError,
    foreign.InvalidHostLabelError,
    foreign.InvalidDNSNameError,
    foreign.InvalidS3AddressingStyleError,
    foreign.UnsupportedS3ArnError,
    foreign.UnsupportedS3ControlArnError,
    foreign.UnsupportedOutpostResourceError,
    foreign.UnsupportedS3ConfigurationError,
    foreign.UnsupportedS3AccesspointConfigurationError,
    foreign.UnsupportedS3ControlConfigurationError,
)
"""What only a mistake in this adapter raises, or another service: Internal, with the cause in the log."""

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


def code_of(error: Exception) -> str:
    """DynamoDB's code of an error; "" for what isn't its answer."""
    if not isinstance(error, foreign.ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def codes_of(error: Exception) -> set[str]:
    """The codes that say why: of a cancelled transaction those of its actions."""
    reasons = {str(reason["Code"]) for reason in cancelled(error) if reason.get("Code") not in (None, "None")}
    return reasons or {code_of(error)}


def may_pass(error: Exception) -> bool:
    """Whether the same request may succeed in a moment."""
    if not code_of(error):
        return isinstance(error, PASSING)
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)  # type: ignore[attr-defined]
    return status >= 500 or codes_of(error) <= THROTTLED | BUSY


def translate(error: Exception) -> RecollectError:
    """The error of ours that stands for one of botocore's or DynamoDB's."""
    codes = codes_of(error)
    if codes <= THROTTLED:
        return Throttled("The memory store is throttled; try again in a second.", retry_after=1, part="store")
    if codes & FULL:
        return TooLarge("This user's memories have reached 10 GB, which is all that fits: forget or purge some.")
    if may_pass(error):
        return Unavailable(_SILENT, part="store")
    what = next((LASTING[code] for code in codes if code in LASTING), None)
    what = what or next((name for kind, name in SETUP.items() if isinstance(error, kind)), None)
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
