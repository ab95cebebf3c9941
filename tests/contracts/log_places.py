"""Places for logs as tests open them: a folder, and each cloud's service as an emulator of it runs here.

Clients find address and credentials in the environment, as users set them.
"""

import base64
import hashlib
import hmac
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import count
from math import inf
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import SplitResult, urlsplit

import pytest

from components import aws_url, azure_url, dynamodb_url, postgres_url
from faults.postgres_proxy import PostgresProxy, postgres_proxied
from faults.proxy import Proxy, proxied
from gcs_server import BUCKET, service_account, serving_gcs
from postgres_server import pooler
from steeltrap.ports import Logs
from steeltrap.stores.logs.bucket import BucketLogs
from steeltrap.stores.logs.dynamodb import DynamoLogs, log_table
from steeltrap.stores.logs.folder import FolderLogs
from steeltrap.stores.logs.postgres import PostgresLogs
from steeltrap.stores.objects import Objects
from steeltrap.stores.postgres_tables import TableObjects, database_at

_BUCKET = f"steeltrap-logs-{token_hex(8)}"
_numbers = count()
C = TypeVar("C", bound="Closes")
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own account, which its documentation publishes."""


class Closes(Protocol):
    """Something with connections."""

    def close(self) -> None: ...


@contextmanager
def connecting(make: Callable[[], C]) -> Iterator[Callable[[], C]]:
    """Makes clients of one place, closed in the end."""
    opened: list[C] = []

    def connect() -> C:
        opened.append(make())
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def folder(tmp_path: Path) -> Callable[[], Logs]:
    """A folder of this machine."""
    return lambda: FolderLogs(tmp_path / "logs")


def s3(monkeypatch: pytest.MonkeyPatch, through: str | None = None) -> str:
    """The URL of an empty prefix in ministack's S3, asked `through` another address where one is given."""
    _make_s3_bucket(aws_url())
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", through or aws_url())
    return f"s3://{_BUCKET}/memories/{next(_numbers)}"


def azure(monkeypatch: pytest.MonkeyPatch, through: str | None = None) -> str:
    """The URL of an empty prefix in Azurite."""
    _make_azure_container(azure_url())
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", AZURE_ACCOUNT)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", AZURE_KEY)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"{through or azure_url()}/{AZURE_ACCOUNT}")
    return f"az://{_BUCKET}/memories/{next(_numbers)}"


def gcs(monkeypatch: pytest.MonkeyPatch, address: str) -> str:
    """The URL of an empty prefix in the fake of Google Cloud Storage at an address."""
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", service_account(address))
    return f"gs://{BUCKET}/memories/{next(_numbers)}"


def dynamodb(monkeypatch: pytest.MonkeyPatch, through: str | None = None) -> str:
    """The URL of an empty prefix in a table of DynamoDB Local, with an empty one in ministack's S3."""
    _make_table(dynamodb_url())
    bases = s3(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", through or dynamodb_url())
    return f"dynamodb://{_BUCKET}/{next(_numbers)}?bases={bases}"


@contextmanager
def postgres(through: str | None = None) -> Iterator[str]:
    """The URL of an empty schema in PostgreSQL, which is gone in the end."""
    import psycopg

    url, schema = postgres_url(), f"{_BUCKET.replace('-', '_')}_{next(_numbers)}"
    try:
        yield f"{through or url}?schema={schema}"
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET client_min_messages = error")
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


def objects(url: str) -> Objects | TableObjects:
    """The objects at the URL of a bucket or a database."""
    return TableObjects(database_at(url), url) if url.startswith("postgresql:") else Objects(url)


def _at(server: SplitResult, port: int) -> str:
    """The URL of a server that is asked at another port."""
    return server._replace(netloc=f"{server.username}@{server.hostname}:{port}").geturl()


@contextmanager
def place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Logs]]:
    """Makes clients of an empty place of a kind."""
    if name == "folder":
        yield folder(tmp_path)
        return
    with empty_url(name, monkeypatch) as url:
        yield _opening(url)


KINDS: Final = ("folder", "s3", "azure", "gcs", "dynamodb", "postgres")
"""The kinds of places that logs can be in."""


@contextmanager
def log_of(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty log of a kind; of a folder, within the one that is given."""
    if kind == "folder":
        yield (folder / "log").as_uri()
        return
    with empty_url(kind, monkeypatch) as url:
        yield url


@contextmanager
def empty_url(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty place of a kind, but for a folder."""
    if name == "gcs":
        with serving_gcs() as address:
            yield gcs(monkeypatch, address)
        return
    if name == "postgres":
        with postgres() as url:
            yield url
        return
    if name == "pooler":
        server = urlsplit(postgres_url())
        with pooler(server.hostname or "", server.port or 5432) as port, postgres(_at(server, port)) as url:
            yield url
        return
    yield {"s3": s3, "azure": azure, "dynamodb": dynamodb}[name](monkeypatch)


@contextmanager
def proxied_place(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Callable[[], Logs], Proxy | PostgresProxy]]:
    """Makes clients of an empty place, and the proxy that is between."""
    with proxied_url(name, monkeypatch) as (url, proxy):
        yield _opening(url), proxy


@contextmanager
def proxied_url(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Proxy | PostgresProxy]]:
    """The URL of an empty place, and the proxy that is between."""
    if name == "postgres":
        with postgres_proxied(postgres_url()) as between, postgres(between.url) as url:
            yield url, between
        return
    services = {"s3": aws_url, "azure": azure_url, "dynamodb": dynamodb_url}
    with serving_gcs() as fake, proxied(services.get(name, lambda: fake)()) as proxy:
        yield {"s3": s3, "azure": azure, "gcs": gcs, "dynamodb": dynamodb}[name](monkeypatch, proxy.url), proxy


def _opening(url: str) -> Callable[[], Logs]:
    if url.startswith("postgresql:"):
        return lambda: PostgresLogs(database_at(url), url)
    return lambda: DynamoLogs(url) if url.startswith("dynamodb:") else BucketLogs(url)


def make_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have clients wait for a moment where they would for seconds.

    Only tests of a silent service need it: on a busy machine a sound one may take as long.
    """
    monkeypatch.setattr("steeltrap.stores.logs.dynamodb._READ_SECONDS", 1.0)
    monkeypatch.setattr("steeltrap.stores.objects._PATIENCE", ((inf, 1.0),))
    monkeypatch.setattr("steeltrap.stores.postgres._PATIENCE", ((inf, 1.0),))
    monkeypatch.setattr("steeltrap.stores.postgres._CONNECT_SECONDS", 1.0)


@cache
def _make_s3_bucket(url: str) -> None:
    client: Any = _s3_client(url)
    client.create_bucket(Bucket=_BUCKET)
    client.close()


@cache
def _make_table(url: str) -> None:
    from boto3.session import Session

    client = Session().client(
        "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    client.create_table(**log_table(_BUCKET))
    client.close()


def _s3_client(url: str) -> Any:
    from boto3.session import Session

    return Session().client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )


@cache
def _make_azure_container(url: str) -> None:
    """Azure's client would be one more package for one request, so it is signed here."""
    when, version = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"), "2021-08-06"
    signed = (
        f"PUT{12 * chr(10)}x-ms-date:{when}\nx-ms-version:{version}\n"
        f"/{AZURE_ACCOUNT}/{AZURE_ACCOUNT}/{_BUCKET}\nrestype:container"
    )
    signature = base64.b64encode(hmac.new(base64.b64decode(AZURE_KEY), signed.encode(), hashlib.sha256).digest())
    request = urllib.request.Request(
        f"{url}/{AZURE_ACCOUNT}/{_BUCKET}?restype=container",
        method="PUT",
        headers={
            "x-ms-date": when,
            "x-ms-version": version,
            "Authorization": f"SharedKey {AZURE_ACCOUNT}:{signature.decode()}",
        },
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10):
        pass
