"""The conformance suite that any memory store can run, on steeltrap and on LangGraph's stores."""

import sqlite3
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from memory_store_conformance import MemoryStore, MemoryStoreSuite

from clock import SettableClock
from integrations.conforming import LangGraph, Steeltrap
from integrations.seams import seam as opened
from steeltrap.invoke import Door

NO_VERSIONS = pytest.mark.xfail(reason="a put replaces the value; the last of two edits wins", strict=True)


class TestSteeltrap(MemoryStoreSuite):
    @pytest.fixture
    def store(self, door: Door) -> Iterator[MemoryStore]:
        with opened("in-process", door) as seam:
            yield Steeltrap(seam)

    @pytest.fixture
    def pass_time(self, clock: SettableClock) -> Callable[[float], None]:
        def advance(seconds: float) -> None:
            clock.advance(seconds=seconds)

        return advance


class TestLangGraphInMemory(MemoryStoreSuite):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return LangGraph(pytest.importorskip("langgraph.store.memory").InMemoryStore())

    @NO_VERSIONS
    def test_the_second_of_two_edits_of_one_version_is_refused(self, store: MemoryStore) -> None:
        super().test_the_second_of_two_edits_of_one_version_is_refused(store)

    @pytest.mark.skip(reason="it is a dictionary in the process: no connection can end")
    def test_a_failure_is_no_empty_answer(self, store: MemoryStore) -> None: ...


class TestLangGraphSqlite(MemoryStoreSuite):
    @pytest.fixture
    def store(self) -> Iterator[MemoryStore]:
        module = pytest.importorskip("langgraph.store.sqlite")
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        store = module.SqliteStore(connection)
        store.setup()
        yield LangGraph(store, connection)
        connection.close()

    @NO_VERSIONS
    def test_the_second_of_two_edits_of_one_version_is_refused(self, store: MemoryStore) -> None:
        super().test_the_second_of_two_edits_of_one_version_is_refused(store)


def test_the_page_names_the_versions_that_the_suite_ran_on() -> None:
    page = (Path(__file__).parents[2] / "clients" / "conformance" / "README.md").read_text()
    for package in ("langgraph-checkpoint", "langgraph-checkpoint-sqlite"):
        assert f"({package} {version(package)})" in page
