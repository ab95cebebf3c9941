"""How a client of AWS fails, beside what the service itself answers. Each adapter that has such a client maps both."""

from typing import Final

from botocore import exceptions as foreign

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
    foreign.InvalidHostLabelError: "the configuration of AWS",
    foreign.InvalidDNSNameError: "the configuration of AWS",
    foreign.InvalidS3AddressingStyleError: "the configuration of AWS",
    foreign.UnsupportedS3ArnError: "the configuration of AWS",
    foreign.UnsupportedS3ControlArnError: "the configuration of AWS",
    foreign.UnsupportedS3ConfigurationError: "the configuration of AWS",
    foreign.UnsupportedS3AccesspointConfigurationError: "the configuration of AWS",
    foreign.UnsupportedS3ControlConfigurationError: "the configuration of AWS",
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
    foreign.UnsupportedOutpostResourceError,
)
"""What only a mistake in an adapter raises."""


def code_of(error: Exception) -> str:
    """The service's code of an error; "" for what isn't its answer."""
    if not isinstance(error, foreign.ClientError):
        return ""
    return str(error.response.get("Error", {}).get("Code", ""))


def to_mend(error: Exception) -> str | None:
    """What somebody has to set right on this side before the service can be asked."""
    return next((what for kind, what in SETUP.items() if isinstance(error, kind)), None)
