"""Any request to OpenSearch, by the client that the product has."""

from collections.abc import Mapping
from typing import Any

from spaces import in_time
from steeltrap.stores.opensearch import OpenSearch


def send_to_index(
    client: OpenSearch,
    method: str,
    path: str,
    body: Any = None,
    *,
    timeout: float = 30,
    params: Mapping[str, str] | None = None,
) -> Any:
    """The answer of the index, within `timeout` seconds."""
    named = dict(params) if params else None
    return client.transport.perform_request(method, path, params=named, body=body, timeout=in_time(timeout))
