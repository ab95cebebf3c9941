"""The emulators of AWS that a suite over its services runs on; the fixture `options` is what a client is made of."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from components import aws_url, check_wanted, localstack_url

EMULATORS = ["localstack"] if os.environ.get("STEELTRAP_TEST_LOCALSTACK") == "1" else ["moto", "ministack"]
"""`make localstack` sets the variable: LocalStack needs a Python of its own, so it is started for this alone."""
STACKS = [name for name in EMULATORS if name != "moto"]
"""Those that make a stack as its template says: moto leaves out a bucket's block of public access."""
_ACCOUNT = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture(scope="module", params=EMULATORS)
def options(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The options of a client of an AWS service here."""
    if request.param != "moto":
        url = localstack_url() if request.param == "localstack" else aws_url()
        yield {**_ACCOUNT, "endpoint_url": url}
        return
    check_wanted("aws")
    from moto import mock_aws

    with mock_aws():
        yield dict(_ACCOUNT)
