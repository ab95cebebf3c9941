"""Functions' policies allow the requests that they send to OpenSearch: checked on the real parts."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest
from opensearchpy import Transport
from synthesised import template

from contracts.named_parts import named_parts, own_upkeep
from steeltrap.model import Caller, UserRef
from steeltrap.runtime import local as runtime
from steeltrap.servers.aws_lambda.upkeep import index_handler
from steeltrap.settings import read_settings


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with named_parts(monkeypatch) as name:
        yield name


def test_functions_ask_the_index_for_no_more_than_they_may(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, set[str]] = {"reindex": set(), "save": set(), "search": set(), "indexer": set()}
    now = ["reindex"]
    perform = Transport.perform_request

    def noting(transport: Transport, method: str, url: str, *rest: Any, **how: Any) -> Any:
        asked[now[0]].add(f"es:ESHttp{method.title()} {url.replace(name, 'steeltrap')}")
        return perform(transport, method, url, *rest, **how)

    monkeypatch.setattr(Transport, "perform_request", noting)
    runtime.set_up(read_settings())
    door = runtime.open_door(read_settings())

    def call(tool: str, **arguments: Any) -> None:
        now[0] = tool
        assert door.invoke(f"core.{tool}", arguments, Caller(UserRef("ana"))).error is None

    call("save", content="the heron eats fish")
    call("search", query="heron")
    now[0] = "indexer"
    following = runtime.open_indexer(read_settings())
    following.drain()
    following.close()
    now[0] = "reindex"
    index_handler(open=own_upkeep)({"rebuild": True}, None)
    index_handler(open=own_upkeep)({"source": "aws.events"}, None)
    door.store.close()

    for function, requests in asked.items():
        patterns = [
            f"{action} {where.partition('steeltrap-domain')[2]}"
            for action, where in template("domain").allowed(function)
        ]
        assert requests, function
        for request in requests:
            assert any(fnmatchcase(request, pattern) for pattern in patterns), f"{function}: {request}"
