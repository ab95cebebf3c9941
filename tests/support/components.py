"""Where the real parts run that some tests need: `make up` starts them.

A part that isn't running leaves its tests out and says so; with STEELTRAP_REQUIRE_ALL=1 it fails them.
STEELTRAP_TEST_PARTS=0 leaves them out whatever runs, and with them the stores of the cloud on emulators.
"""

import os
import shutil
import socket
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def opensearch_url() -> str:
    """Where OpenSearch answers."""
    return _running("opensearch", os.environ.get("STEELTRAP_TEST_OPENSEARCH", "http://127.0.0.1:9250"))


def dynamodb_url() -> str:
    """Where DynamoDB Local answers."""
    return _running("dynamodb", os.environ.get("STEELTRAP_TEST_DYNAMODB", "http://127.0.0.1:8250"))


def aws_url() -> str:
    """Where the emulator of AWS answers."""
    return _running("aws", os.environ.get("STEELTRAP_TEST_AWS", "http://127.0.0.1:4599"))


def aws_iam_url() -> str:
    """Where the emulator of AWS answers that checks signatures and policies."""
    return _running("aws-iam", os.environ.get("STEELTRAP_TEST_AWS_IAM", "http://127.0.0.1:4600"), "make e2e")


def azure_url() -> str:
    """Where the emulator of Azure's storage answers."""
    return _running("azure", os.environ.get("STEELTRAP_TEST_AZURE", "http://127.0.0.1:10150"))


def postgres_url() -> str:
    """Where PostgreSQL answers, as the owner of a database."""
    check_wanted("postgres")
    url = os.environ.get("STEELTRAP_TEST_POSTGRES", "postgresql://memories@127.0.0.1:5450/memories")
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 5432), timeout=20):
            return url
    except OSError:
        missing(f"postgres does not answer at {url}: `make up` starts it")


def localstack_url() -> str:
    """Where LocalStack answers."""
    url = os.environ.get("STEELTRAP_TEST_LOCALSTACK_URL", "http://127.0.0.1:4566")
    return _running("localstack", url, "make localstack")


def check_node() -> None:
    """Templates are synthesised by Node.js, which the CDK's Python package drives."""
    if shutil.which("node") is None:
        missing("Node.js is not on the path: templates can't be synthesised")


def small_model() -> Path:
    """The folder of small-4, in the project; what runs it has to be installed."""
    if find_spec("onnxruntime") is None:
        missing("onnxruntime is not installed: `make install` installs it")
    return Path(__file__).parents[2] / "models" / "small" / "steeltrap_small"


def check_wanted(part: str) -> None:
    """Skip a test of a part that is left out on purpose."""
    if os.environ.get("STEELTRAP_TEST_PARTS") == "0":
        pytest.skip(f"{part} is left out by STEELTRAP_TEST_PARTS=0")


def missing(reason: str) -> NoReturn:
    """Leave a test out, or fail it where nothing may be left out."""
    if os.environ.get("STEELTRAP_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _running(part: str, url: str, starting: str = "make up") -> str:
    check_wanted(part)
    try:
        with _OPENER.open(url, timeout=20):
            return url
    except urllib.error.HTTPError:
        return url
    except OSError:
        missing(f"{part} does not answer at {url}: `{starting}` starts it")
