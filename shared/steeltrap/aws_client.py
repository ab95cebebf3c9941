"""How a client of AWS fails beside what the service itself answers: the one map, by the names of botocore's exceptions;
and the codes of DynamoDB that pass, which two stores read.

By name, because each version of botocore has others, and so that nothing of it is imported here. An exception whose
name is not here counts as the nearest of its base classes that is; without one it is a mistake of ours.
"""

from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal[
    "slow",
    "lost",
    "unreachable",
    "untrusted",
    "credentials",
    "profile",
    "configuration",
    "proxy",
    "endpoint",
    "region",
    "capacity",
    "installation",
    "outdated",
    "mistake",
]

_NAMES: Final[Mapping[Kind, str]] = {
    "slow": "ConnectTimeoutError ReadTimeoutError",
    "lost": "ConnectionError HTTPClientError IncompleteReadError ChecksumError FlexibleChecksumError",
    "unreachable": "EndpointConnectionError ProxyConnectionError",
    "untrusted": "SSLError",
    "credentials": (
        "NoCredentialsError NoAuthTokenError PartialCredentialsError CredentialRetrievalError TokenRetrievalError "
        "UnknownTokenProviderError UnknownCredentialError RefreshWithMFAUnsupportedError MetadataRetrievalError "
        "SSOError LoginError"
    ),
    "profile": "ProfileNotFound",
    "configuration": (
        "ConfigNotFound ConfigParseError InvalidConfigError InvalidDefaultsMode InvalidRetryConfigurationError "
        "InvalidChecksumConfigError InvalidSTSRegionalEndpointsConfigError InvalidIMDSEndpointError "
        "InvalidIMDSEndpointModeError InvalidHostLabelError InvalidDNSNameError InvalidS3AddressingStyleError "
        "InvalidS3UsEast1RegionalEndpointConfigError UnsupportedS3ArnError UnsupportedS3ControlArnError "
        "UnsupportedS3ConfigurationError UnsupportedS3AccesspointConfigurationError "
        "UnsupportedS3ControlConfigurationError"
    ),
    "proxy": "InvalidProxiesConfigError",
    "endpoint": "InvalidEndpointConfigurationError InvalidEndpointDiscoveryConfigurationError",
    "region": (
        "BaseEndpointResolverError EndpointProviderError UnknownRegionError InvalidRegionError ServiceNotInRegionError"
    ),
    "capacity": "CapacityNotAvailableError",
    "installation": "MissingDependencyException MD5UnavailableError",
    "outdated": (
        "DataNotFoundError ApiVersionNotFoundError UnknownSignatureVersionError UnsupportedSignatureVersionError "
        "UnsupportedServiceProtocolsError UnknownServiceStyle UndefinedModelAttributeError"
    ),
}
KINDS: Final[Mapping[str, Kind]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}

DYNAMODB_THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingException",
        "ThrottlingError",
        "Throttling",
    }
)
DYNAMODB_TRANSIENT: Final = frozenset(
    {
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "TransactionConflictException",
        "ReplicatedWriteConflictException",
        "ResourceInUseException",
    }
)
_TRANSIENT: Final = frozenset({"slow", "lost", "unreachable", "untrusted"})
_FIX_HINTS: Final[Mapping[Kind, str]] = {
    "credentials": "the credentials",
    "profile": "the profile",
    "configuration": "the configuration of AWS",
    "proxy": "the proxy",
    "endpoint": "the endpoint",
    "region": "the region (AWS_DEFAULT_REGION) or the endpoint",
    "capacity": "the capacity",
    "installation": "the installation",
}


def kind_of(error: Exception) -> Kind | None:
    """How a client failed; None for a service's answer, and for what isn't botocore's."""
    names = [each.__name__ for each in type(error).__mro__ if each.__module__ == "botocore.exceptions"]
    if not names or "ClientError" in names:
        return None
    return next((KINDS[name] for name in names if name in KINDS), "mistake")


def is_transient(error: Exception) -> bool:
    """Whether it is the network or the service, for now: the same call may succeed later."""
    return kind_of(error) in _TRANSIENT


def fix_hint(error: Exception) -> str | None:
    """A hint at what has to be set right on this side before the service can be asked: no retry helps."""
    kind = kind_of(error)
    return None if kind is None else _FIX_HINTS.get(kind)


def code_of(error: Exception) -> str:
    """The service's code of an error; "" for what isn't its answer."""
    answer = getattr(error, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, Mapping) else ""


def status_of(error: Exception) -> int:
    """The HTTP status of the service's answer, also where it has no code; 0 for what isn't its answer."""
    answer = getattr(error, "response", None)
    return int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) if isinstance(answer, Mapping) else 0
