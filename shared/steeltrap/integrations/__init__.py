"""Integrations: steeltrap as the memory of an agent framework, one module per framework.

Each is built over `steeltrap.client` alone, so that it works in this process, against a server and against deployed
functions alike. Each is an extra of its own, and nothing imports a module here but the program that asks for it. Not
here: what a memory is, and how it is found.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..client import Client


def listed(client: "Client", *, page: int = 1000, **which: Any) -> Iterator[Mapping[str, Any]]:
    """All memories that `core.list` gives for these arguments, asked for in pages of so many."""
    at = 0
    while True:
        rows = client.call("core.list", **which, limit=page, offset=at)["memories"]
        yield from rows
        at += len(rows)
        if len(rows) < page:
            return
