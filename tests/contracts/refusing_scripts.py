"""OpenSearch as it answers where scripted similarities are not allowed."""

from collections.abc import Iterator
from contextlib import contextmanager

from components import opensearch_url
from faults.proxy import Answered, Asked, Proxy, Send, proxied, saying

_REASON = "cannot execute scripts using [similarity] context"
_REFUSAL = {"error": {"type": "illegal_argument_exception", "reason": _REASON}, "status": 400}


def _without_scripts(asked: Asked, send: Send) -> Answered | None:
    is_scripted = asked.method == "PUT" and b'"scripted"' in asked.body
    return saying(400, _REFUSAL)(asked, send) if is_scripted else send(asked)


@contextmanager
def refusing_scripts() -> Iterator[Proxy]:
    """A proxy before the real OpenSearch that refuses scripts in an index."""
    with proxied(opensearch_url()) as proxy:
        proxy.rule = _without_scripts
        yield proxy
