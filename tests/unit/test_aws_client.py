"""Every way in which a client of AWS fails has its place in the one map; one that botocore grows fails here."""

import subprocess
import sys

import pytest
from botocore import exceptions as foreign
from botocore.exceptions import BotoCoreError, ClientError

from steeltrap.aws_client import KINDS, code_of, fix_hint, is_transient, kind_of

LATER = {
    *("AwsChunkedWrapperError", "CapacityNotAvailableError", "InvalidChecksumConfigError", "LoginError"),
    *("UnknownTokenProviderError", "UnsupportedServiceProtocolsError"),
}
"""Those that not every botocore has that will do."""

MISTAKES = {
    *("ValidationError", "ParamValidationError", "MissingParametersError", "InvalidExpressionError"),
    *("UnknownClientMethodError", "PaginationError", "OperationNotPageableError", "UnseekableStreamError"),
    *("AwsChunkedWrapperError", "WaiterError", "WaiterConfigError", "StubResponseError"),
    "UnsupportedOutpostResourceError",
}
"""Raised only by a mistake of ours: left to the map's last resort on purpose."""

_OWN = {
    name: kind
    for name, kind in vars(foreign).items()
    if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == foreign.__name__
}


def test_every_exception_of_botocore_is_placed_or_known_as_a_mistake() -> None:
    failures = {name: kind for name, kind in _OWN.items() if not issubclass(kind, Warning | ClientError)}
    placed = KINDS.keys() | MISTAKES
    unplaced = {name for name, kind in failures.items() if not placed & {each.__name__ for each in kind.__mro__}}
    # BotoCoreError is the root: placing it would place whatever comes. ClientError goes by its code.
    assert unplaced == {"BotoCoreError"}


def test_the_map_names_no_exception_that_botocore_does_not_have() -> None:
    assert (KINDS.keys() | MISTAKES) - _OWN.keys() <= LATER
    assert not KINDS.keys() & MISTAKES


@pytest.mark.parametrize(
    ("error", "kind", "to_be_mended"),
    [
        (foreign.ReadTimeoutError(endpoint_url="x"), "slow", None),
        (foreign.ConnectionClosedError(endpoint_url="x"), "lost", None),
        (foreign.EndpointConnectionError(endpoint_url="x"), "unreachable", None),
        (foreign.SSLError(endpoint_url="x", error="x"), "untrusted", None),
        (foreign.NoCredentialsError(), "credentials", "the credentials"),
        (foreign.NoRegionError(), "region", "the region (AWS_DEFAULT_REGION) or the endpoint"),
        (foreign.InvalidIMDSEndpointError(endpoint="x"), "configuration", "the configuration of AWS"),
        (foreign.UnknownServiceError(service_name="x", known_service_names="x"), "outdated", None),
        (foreign.ParamValidationError(report="x"), "mistake", None),
    ],
)
def test_a_failure_is_known_by_its_name_or_its_base_s(error: Exception, kind: str, to_be_mended: str | None) -> None:
    assert kind_of(error) == kind
    assert fix_hint(error) == to_be_mended
    assert is_transient(error) == (kind in ("slow", "lost", "unreachable", "untrusted"))


def test_a_failure_of_a_newer_botocore_counts_as_its_base() -> None:
    newer = type("NeverHeardOfError", (foreign.HTTPClientError,), {"__module__": foreign.__name__})
    assert kind_of(newer(error="x")) == "lost"
    unrelated = type("NeverHeardOfError", (BotoCoreError,), {"__module__": foreign.__name__})
    assert kind_of(unrelated()) == "mistake"


@pytest.mark.parametrize("error", [ConnectionError(), ZeroDivisionError(), ClientError({"Error": {"Code": "No"}}, "x")])
def test_what_is_not_a_failure_of_botocore_has_no_place(error: Exception) -> None:
    assert kind_of(error) is None
    assert not is_transient(error)
    assert fix_hint(error) is None


def test_the_service_s_answer_has_its_code() -> None:
    assert code_of(ClientError({"Error": {"Code": "NoSuchKey"}}, "x")) == "NoSuchKey"
    assert code_of(foreign.HTTPClientError(error="x")) == ""
    assert code_of(ValueError()) == ""


def test_the_map_imports_nothing_of_aws() -> None:
    code = "import sys, steeltrap.aws_client; sys.exit('botocore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
