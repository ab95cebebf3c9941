"""DynamoDB's units per call, counted: docs/cost.md says the same."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bench.corpus import Corpus

from clock import SettableClock
from components import dynamodb_url
from contracts.dynamodb_stores import local, stores, tables
from contracts.memory_index import MemoryIndex
from docs import cost
from embedding import HashedWords
from steeltrap.engine.upkeep import sweep
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.dynamodb.keys import WRITTEN
from steeltrap.toolsets import CATALOGUE

ROOT = Path(__file__).parents[2]
WRITES = {"put_item", "update_item", "batch_write_item", "transact_write_items"}
ANA = Caller(UserRef("ana"), "agent")
Count = Callable[[Callable[[Door], object]], cost.Units]


@pytest.fixture(scope="module")
def count() -> Iterator[Count]:
    """Counts the units of something done by a function that just started, to a user with the page's memories."""
    embedder = HashedWords(dimension=256)
    clock = SettableClock()
    sentences = list(Corpus().texts(3 * cost.MEMORIES_A_USER))
    index = MemoryIndex()
    with (
        tables(local(dynamodb_url()), fetches=True) as names,
        stores(local(dynamodb_url()), names, lambda _: index, timedelta(minutes=5)) as opening,
    ):

        def door() -> Door:
            return Door(catalogue=CATALOGUE, store=opening(clock, embedder), embedder=embedder, clock=clock)

        first = door()
        for at in range(cost.MEMORIES_A_USER):
            # Of the same time they would be listed by their ids, and each time others would be read and deleted.
            clock.advance(seconds=1)
            content = " ".join(sentences[3 * at : 3 * at + 3])
            assert first.invoke("core.save", {"content": content, "tags": ["work"]}, ANA).error is None

        def counted(act: Callable[[Door], object]) -> cost.Units:
            clock.advance(hours=1)
            fresh: Any = door()
            taken: list[tuple[bool, float]] = []
            call = fresh.store.tables.call

            def counting(operation: str, request: Any, deadline: Any) -> Any:
                answer = call(operation, {**request, "ReturnConsumedCapacity": "INDEXES"}, deadline)
                # Threads ask side by side: appending is one step, adding is not.
                taken.append((operation in WRITES, units(request, answer)))
                return answer

            fresh.store.tables.call = counting
            act(fresh)
            fresh.store.flush(just_read=True)
            reads, writes = (sum(each for is_write, each in taken if is_write is kind) for kind in (False, True))
            return cost.Units(int(reads), int(writes))

        yield counted


def units(request: Any, answer: Any) -> float:
    """The units that AWS counts. For a query of an index the emulator always reads the table, AWS only if it must."""
    consumed = answer.get("ConsumedCapacity", ())
    if "IndexName" not in request:
        return sum(each["CapacityUnits"] for each in (consumed if isinstance(consumed, list) else [consumed]))
    of_index = max(1.0, *(each["CapacityUnits"] for each in consumed["LocalSecondaryIndexes"].values()))
    fetches = request["IndexName"] == WRITTEN and "ProjectionExpression" not in request
    return float(of_index + (answer["Count"] if fetches else 0))


def test_the_tables_are_as_generated() -> None:
    text = (ROOT / "docs" / "cost.md").read_text()
    assert text.count("<!-- cost: ") == 5 + len(cost.BILLS)
    assert text == cost.page(text), "run `make docs`"


def test_an_idle_month_of_the_default_stage_is_under_a_dollar_and_so_are_a_thousand_calls_under_two_cents() -> None:
    idle, *_ = cost.BUCKET_SIZES
    assert idle.calls == 0
    assert cost.total("dynamodb", idle) < 1
    assert cost.total("dynamodb", cost.BucketSize(0, 0, 1_000, 0)) - cost.total("dynamodb", idle) < 0.02


def test_a_log_costs_nothing_while_nobody_calls_except_where_a_database_runs() -> None:
    idle, *_ = cost.BUCKET_SIZES
    assert {store for store in cost.BILLS if cost.total(store, idle) > 0.05} == {"postgres"}


def told(tool: str, **arguments: Any) -> Callable[[Door], object]:
    def tell(door: Door) -> object:
        result = door.invoke(f"core.{tool}", arguments, ANA)
        assert result.error is None, result.body
        return result.body

    return tell


def test_the_page_says_what_each_call_takes(count: Count) -> None:
    listed: Any = None

    def some(door: Door) -> None:
        nonlocal listed
        listed = told("list", limit=50)(door)

    counted = {"list": count(some)}
    ids = [each["id"] for each in listed["memories"]]
    query = " ".join(listed["memories"][0]["content"].split()[:6])
    counted["search"] = count(told("search", query=query, limit=10))
    counted["get"] = count(told("get", id=ids[1]))
    new = " ".join(Corpus().texts(3, part=1))
    counted["save"] = count(told("save", content=new, tags=["work"]))
    counted["update"] = count(told("update", id=ids[2], content=f"{new} And more."))
    counted["delete"] = count(told("delete", id=ids[3]))
    assert counted == {name: cost.UNITS[name] for name in counted}


def test_the_page_says_what_a_sweep_takes(count: Count) -> None:
    assert count(lambda door: sweep(door.call_for(ANA, seconds=60))) == cost.SWEEP
