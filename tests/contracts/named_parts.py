"""Tables and an index of one's own, as the environment's settings name them."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

import boto3
import pytest

from components import dynamodb_url, opensearch_url
from contracts.dynamodb_stores import local
from steeltrap.runtime import aws as runtime_aws
from steeltrap.runtime import local as runtime
from steeltrap.runtime.aws import Upkeep
from steeltrap.settings import read_settings
from steeltrap.stores.opensearch import OpenSearchUpkeep


def own_upkeep() -> Upkeep:
    """Table and index, as a function of its own opens them, but for what it would tell."""
    return runtime.open_upkeep(read_settings())


@contextmanager
def named_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of tables and index, on DynamoDB Local and OpenSearch; nothing is there yet, and nothing in the end."""
    name = f"own-{uuid4().hex[:12]}"
    monkeypatch.setattr(OpenSearchUpkeep, "learned_seconds", 0.0)
    monkeypatch.setattr(runtime_aws, "connect", lambda settings: local(settings.dynamodb_url))
    addresses = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "STEELTRAP_STORE": "aws",
        "STEELTRAP_MEMORY_TABLE": name,
        "STEELTRAP_USAGE_TABLE": f"{name}-usage",
        "STEELTRAP_DYNAMODB_URL": dynamodb_url(),
        "STEELTRAP_OPENSEARCH_URL": opensearch_url(),
        "STEELTRAP_OPENSEARCH_INDEX": name,
    }
    for variable, value in addresses.items():
        monkeypatch.setenv(variable, value)
    yield name
    client = boto3.client("dynamodb", endpoint_url=dynamodb_url())
    for table in {name, f"{name}-usage"} & set(client.list_tables()["TableNames"]):
        client.delete_table(TableName=table)
    client.close()
    for path in (f"{name}-*", f"_index_template/{name}*"):
        request = urllib.request.Request(f"{opensearch_url()}/{path}", method="DELETE")
        # What was never made is not there.
        with suppress(urllib.error.HTTPError):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30).close()
