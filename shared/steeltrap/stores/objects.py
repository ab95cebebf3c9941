"""Objects in a bucket of S3 and what is compatible with it, of Google Cloud Storage or of Azure, through obstore.

Here: requests, how long they may take, the one map of foreign errors, and what obstore doesn't find by itself of each
cloud's credentials and endpoints. Not here: what the objects mean.
"""

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import from_url

from ..errors import StoreUnreachable, TooLarge, Unavailable
from .data_folder import require_process

T = TypeVar("T")
Right = Literal["read", "write", "list", "delete"]

AT_ONCE: Final = 32
"""Requests side by side, at most."""
_CONNECT_SECONDS: Final = 1.0
_PATIENCE: Final = ((64 * 1024, 3.0), (1024 * 1024, 12.0), (inf, 120.0))
"""How long a service may be silent, by the bytes that it is sent. Of an answer each part has the first of these."""
_LONGEST: Final = timedelta(minutes=10)
_RETRIES: Final[Any] = {
    "max_retries": 1,
    "retry_timeout": timedelta(seconds=3),
    "backoff": {"init_backoff": timedelta(milliseconds=50), "max_backoff": timedelta(milliseconds=500), "base": 2},
}
_PAGE: Final = 1000

SCHEMES: Final = ("s3", "gs", "az")


class Objects:
    """The objects under a URL: `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`. Safe for threads.

    Nothing is asked of the service when it is made. All methods raise Unavailable.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.scheme = urlsplit(url).scheme
        self._options = options_for(self.scheme)
        self._stores: dict[float, Any] = {}
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="steeltrap-bucket")
        self._store(0)

    def get(self, path: str, *, max_bytes: float = inf) -> bytes | None:
        """An object's content; None where there is none. Raises TooLarge where it has more bytes than `max_bytes`."""
        with self._translated("read"):
            try:
                answer = obstore.get(self._store(0), path)
                if answer.meta["size"] > max_bytes:
                    raise TooLarge(f"An object has more than {max_bytes:,} bytes.")
                return bytes(answer.bytes())
            except FileNotFoundError as error:
                if _code(error) in NOT_THERE:
                    return None
                raise

    def create(self, path: str, content: bytes) -> bool:
        """Put an object where none is. False where one is, or the service says so."""
        with self._translated("write"):
            try:
                obstore.put(self._store(len(content)), path, content, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def put(self, path: str, content: bytes) -> str | None:
        """Put an object in the place of what is there; its version, where the service says one."""
        # Parts of an upload that was cut off would stay where nobody sees them.
        with self._translated("write"):
            return obstore.put(self._store(len(content)), path, content, use_multipart=False)["version"]

    def delete(self, path: str) -> None:
        """Remove an object, if it is there."""
        with self._translated("delete"):
            try:
                obstore.delete(self._store(0), path)
            except FileNotFoundError as error:
                if _code(error) not in NOT_THERE:
                    raise

    def may_delete(self, path: str) -> bool:
        """Whether these credentials may remove objects, tried with one that isn't there."""
        with self._translated("delete"):
            try:
                obstore.delete(self._store(0), path)
            except PermissionDeniedError:
                return False
            except FileNotFoundError as error:
                if _code(error) not in NOT_THERE:
                    raise
        return True

    def names(self, folder: str) -> Iterator[list[str]]:
        """The names under `folder/`, without it, in pages."""
        with self._translated("list"):
            for page in obstore.list(self._store(0), folder, chunk_size=_PAGE):
                yield [row["path"].removeprefix(f"{folder}/") for row in page]

    def write_times(self, folder: str) -> dict[str, datetime]:
        """The names under `folder/`, without it, and when the service wrote each of them."""
        with self._translated("list"):
            return {
                row["path"].removeprefix(f"{folder}/"): row["last_modified"]
                for page in obstore.list(self._store(0), folder, chunk_size=_PAGE)
                for row in page
            }

    def side_by_side(self, request: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """The answers to many requests, `AT_ONCE` of them at a time."""
        return list(self._pool.map(request, *arguments))

    def get_all(self, paths: Sequence[str]) -> list[bytes | None]:
        """The contents of objects, None for those that aren't there."""
        return [self.get(paths[0])] if len(paths) == 1 else self.side_by_side(self.get, paths)

    def close(self) -> None:
        """Let go of threads and connections."""
        self._pool.shutdown()
        with self._lock:
            self._stores.clear()

    def _store(self, size: int) -> Any:
        require_process(_process_with_threads())
        seconds = next(seconds for max_bytes, seconds in _PATIENCE if size <= max_bytes)
        with self._lock:
            if seconds not in self._stores:
                self._stores[seconds] = self._open(seconds)
            return self._stores[seconds]

    def _open(self, seconds: float) -> Any:
        client: Any = {
            "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
            "read_timeout": timedelta(seconds=seconds),
            "timeout": _LONGEST,
            "allow_http": True,  # only an endpoint that the settings name is one
        }
        try:
            if self.scheme not in SCHEMES:  # obstore has others: a memory, a web server
                raise ValueError(self.scheme)
            return from_url(self.url, client_options=client, retry_config=_RETRIES, **self._options)
        except (BaseError, ValueError) as error:
            _log.error("the bucket can't be opened: %s", type(error).__name__)
            raise Unavailable(
                "The bucket of the memories can't be opened with these settings: check the store's URL and your "
                "cloud's variables.",
                retryable=False,
                part="store",
            ) from None

    @contextmanager
    def _translated(self, right: Right) -> Iterator[None]:
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise translate(error, self.scheme, right) from None


@cache
def _process_with_threads() -> int:
    """The process that has obstore's threads: the first to open a bucket. All buckets of a process share them."""
    return os.getpid()


# Foreign errors

_log = logging.getLogger("steeltrap")

NOT_THERE: Final = frozenset({"NoSuchKey", "BlobNotFound", "404"})
"""Codes of an object that isn't there; 404 is Azure's in a batch of deletions. A missing bucket, and a proxy that knows
neither, answer with 404, too: an outage would look like the end of a log."""

_CREDENTIALS: Final = "its credentials are refused; check them"
_REGION: Final = "it is in another region; set the region (AWS_REGION) or the endpoint"
_BUCKET: Final = "there is no such bucket; create it, or correct the store's URL"
_KEY: Final = "its encryption key can't be used; check the key and the right to use it"
_CLOCK: Final = "this machine's clock is wrong; set it"
PERMANENT: Final[Mapping[str, str]] = {
    "NoSuchBucket": _BUCKET,
    "InvalidBucketName": _BUCKET,
    "ContainerNotFound": _BUCKET,
    "ContainerBeingDeleted": _BUCKET,
    "ContainerDisabled": _BUCKET,
    "InvalidAccessKeyId": _CREDENTIALS,
    "SignatureDoesNotMatch": _CREDENTIALS,
    "ExpiredToken": _CREDENTIALS,
    "InvalidToken": _CREDENTIALS,
    "InvalidSecurity": _CREDENTIALS,
    "AuthenticationRequired": _CREDENTIALS,
    "AuthenticationFailed": _CREDENTIALS,
    "AuthorizationFailure": "its credentials are refused, or its firewall keeps this machine out; check both",
    "InvalidAuthenticationInfo": _CREDENTIALS,
    "NoAuthenticationInformation": _CREDENTIALS,
    "RequestTimeTooSkewed": _CLOCK,
    "PermanentRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "AccountIsDisabled": "the account is disabled; ask its owner",
    "AllAccessDisabled": "the account is disabled; ask its owner",
    "KMS.DisabledException": _KEY,
    "KMS.KMSInvalidStateException": _KEY,
    "KMS.NotFoundException": _KEY,
    "InvalidObjectState": "an object is archived; restore it from the archive",
    "BlobArchived": "an object is archived; restore it from the archive",
    "BlobImmutableDueToPolicy": "a policy forbids overwriting and deleting; memories could not be forgotten there",
    "RetentionPolicyNotMet": "a policy forbids overwriting and deleting; memories could not be forgotten there",
    "ObjectUnderActiveHold": "a policy forbids overwriting and deleting; memories could not be forgotten there",
    "ObjectLocked": "a policy forbids overwriting and deleting; memories could not be forgotten there",
}
"""The reasons that no retry ends, by the service's codes."""
BUSY: Final = frozenset({"SlowDown", "ServerBusy", "TooManyRequests", "RequestLimitExceeded", "OperationTimedOut"})

_RIGHTS: Final[Mapping[str, Mapping[Right, str]]] = {
    "s3": {
        "read": "s3:GetObject and s3:ListBucket",
        "write": "s3:PutObject",
        "list": "s3:ListBucket",
        "delete": "s3:DeleteObject",
    },
    "gs": {
        "read": "storage.objects.get and storage.objects.list",
        "write": "storage.objects.create and storage.objects.delete",
        "list": "storage.objects.list",
        "delete": "storage.objects.delete",
    },
}
_AZURE_RIGHT: Final = "the role Storage Blob Data Contributor"

KNOWN: Final = frozenset(
    {
        "AlreadyExistsError",
        "BaseError",
        "GenericError",
        "InvalidPathError",
        "JoinError",
        "NotFoundError",
        "NotModifiedError",
        "NotSupportedError",
        "PermissionDeniedError",
        "PreconditionError",
        "UnauthenticatedError",
        "UnknownConfigurationKeyError",
    }
)
"""obstore's exceptions, each of which `translate` tells apart by type, status or code. A test finds a new one."""
_MISTAKES: Final = ("InvalidPathError", "NotSupportedError", "NotModifiedError", "UnknownConfigurationKeyError")
_STATUS: Final = re.compile(r"status(?: code:)? (\d{3})")
_CODE: Final = re.compile(r"<Code>([\w.]+)</Code>|\(code: ([\w.]+)\)")
_HOST: Final = re.compile(r"performing \w+ https?://([^/:\s]+)")
_SIGN_IN: Final = re.compile(r"sts[.-].*|.*\.microsoftonline\.(com|us|cn)|oauth2\.googleapis\.com|iamcredentials\..*")
_METADATA: Final = ("169.254.169.254", "169.254.170.2", "169.254.170.23", "metadata", "metadata.google.internal")


def translate(error: Exception, scheme: str, right: Right) -> Unavailable:
    """The error of ours that stands for one of obstore's, met where a right was used.

    Theirs quote URLs and answers, so nothing of them but the service's code is kept.
    """
    text, code, status = _text(error), _code(error), _status(error)
    match = _HOST.search(text)
    host = match[1] if match is not None else ""
    if host in _METADATA or ("token request" in text and (status or not host)):
        why: str | None = "no credentials were found; sign in as your cloud's own tools want it"
    elif _SIGN_IN.fullmatch(host) and status in range(400, 500):
        why = _CREDENTIALS
    elif code in PERMANENT:
        why = PERMANENT[code]
    elif isinstance(error, UnauthenticatedError) or status == 401:
        why = _CREDENTIALS
    elif status == 403 and code:
        why = f"these credentials may not {right} objects; grant {_RIGHTS.get(scheme, {}).get(right, _AZURE_RIGHT)}"
    elif status == 403:
        why = "the service, or a proxy before it, forbids the request; check the endpoint and the proxy"
    elif "redirect without LOCATION" in text:
        why = _REGION
    elif type(error).__name__ in _MISTAKES or (status in range(400, 500) and status not in _TRANSIENT):
        why = f"it refuses the request ({code or status or type(error).__name__})"
    else:
        why = None
    if why is not None:
        _log.error("the bucket failed: %s %s %s", type(error).__name__, status, code)
        return Unavailable(f"The bucket of the memories can't be used: {why}.", retryable=False, part="store")
    if status == 404:
        return Unavailable(
            "Something answers in the place of the bucket of the memories; check the endpoint and the network.",
            part="store",
        )
    if status == 429 or code in BUSY:
        return Unavailable("The bucket of the memories is busy; try again in a second.", part="store")
    kind = StoreUnreachable if host and not (status or code) else Unavailable
    return kind("The bucket of the memories does not answer; try again.", part="store")


_TRANSIENT: Final = (404, 408, 409, 412, 425, 429)
"""Answers that another time may be other ones. A conflict is another request over the same object."""


def _text(error: Exception) -> str:
    return str(error).partition("\n\nDebug source")[0]


def _code(error: Exception) -> str:
    """The service's code in an error; "" where there is none."""
    match = _CODE.search(_text(error))
    return (match[1] or match[2]) if match else ""


def _status(error: Exception) -> int:
    """The HTTP status in an error; 0 where there is none."""
    match = _STATUS.search(_text(error))
    return int(match[1]) if match else 0


# Credentials, region and endpoint: what obstore leaves out. It finds AWS's and Google's variables, Google's application
# default credentials, and the services that give credentials to a machine, a container or a function.

_AWS_KEY: Final = "AWS_ACCESS_KEY_ID"
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_AZURE_NAMES: Final = {
    "account_name": "AZURE_STORAGE_ACCOUNT",
    "account_key": "AZURE_STORAGE_KEY",
    "sas_key": "AZURE_STORAGE_SAS_TOKEN",
}
"""Azure's command line has names of its own for them."""
_AZURE_PARTS: Final = {
    "account_name": "AccountName",
    "account_key": "AccountKey",
    "sas_key": "SharedAccessSignature",
    "endpoint": "BlobEndpoint",
}
_AZURE_SIGNS: Final = ("KEY", "TOKEN", "CLIENT_ID", "IDENTITY_ENDPOINT", "MSI_ENDPOINT", "TOKEN_FILE")


def options_for(scheme: str) -> dict[str, Any]:
    """The options for obstore beside a URL of this scheme. Raises Unavailable."""
    if scheme == "s3":
        # Objects are deleted one by one, and not every service that is like S3 deletes many in one request.
        return {"disable_bulk_delete": True, **_aws(os.environ)}
    if scheme == "az":
        return _azure(os.environ)
    return {}


def _aws(environment: Mapping[str, str]) -> dict[str, Any]:
    """A provider by boto3, which reads profiles and signs in as they say; nothing where the variables say it all."""
    if _AWS_KEY in environment and any(name in environment for name in _REGIONS):
        return {}
    folder = Path.home() / ".aws"
    keys = Path(environment.get("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials"))
    config = Path(environment.get("AWS_CONFIG_FILE", folder / "config"))
    if not ("AWS_PROFILE" in environment or keys.expanduser().exists() or config.expanduser().exists()):
        return {}
    if find_spec("boto3") is None:
        if _AWS_KEY in environment:
            return {}
        raise Unavailable(
            "AWS profiles need boto3: run `pip install boto3`, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            retryable=False,
            part="store",
        )
    from boto3.session import Session
    from botocore.exceptions import BotoCoreError
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        session = Session()
        if session.get_credentials() is None:
            return {} if session.region_name is None else {"region": session.region_name}
        return {"credential_provider": Boto3CredentialProvider(session)}
    except BotoCoreError as error:
        raise Unavailable(
            "The AWS profile can't be used: check AWS_PROFILE and the files in ~/.aws.", retryable=False, part="store"
        ) from error


def _azure(environment: Mapping[str, str]) -> dict[str, Any]:
    """The variables that Azure's command line reads; its own sign-in where nothing else is there."""
    parts = dict(
        part.split("=", 1) for part in environment.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";") if "=" in part
    )
    options = {option: parts[name] for option, name in _AZURE_PARTS.items() if name in parts}
    options |= {option: environment[name] for option, name in _AZURE_NAMES.items() if name in environment}
    signs = [name for name in environment if name.startswith(("AZURE_", "IDENTITY_", "MSI_"))]
    is_signed = any(name.endswith(_AZURE_SIGNS) for name in signs) or "account_key" in options or "sas_key" in options
    if not is_signed and shutil.which("az") is not None:
        return {**options, "use_azure_cli": True}
    return options
