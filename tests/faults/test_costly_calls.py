"""Calls that a known user can make costly: what each of them takes is bounded, by counting what it does and holds."""

import random
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
import Stemmer

from clock import SettableClock
from embedding import HashedWords
from steeltrap.invoke import Door
from steeltrap.model import Caller, JsonObject, Matches, Query, UserRef
from steeltrap.ranking import likeness
from steeltrap.stores.exact.postings import LONGEST_KEPT, MOST_KEPT, word_digest
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.stores.sqlite.records import to_terms
from steeltrap.stores.sqlite.space import SqliteSpace
from steeltrap.text.words import tokens
from steeltrap.toolsets import CATALOGUE

MB = 1024 * 1024
ANA = Caller(UserRef("ana"), "assistant")


@pytest.fixture
def door(tmp_path: Path, clock: SettableClock) -> Iterator[Door]:
    embedder = HashedWords()
    store = SqliteStore(tmp_path, embedder, clock)
    yield Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
    store.close()


def answer(door: Door, tool: str, **arguments: Any) -> JsonObject:
    result = door.invoke(tool, arguments, ANA)
    assert result.error is None
    body: JsonObject = result.body
    return body


def fill(door: Door, *texts: str, **fields: Any) -> None:
    for start in range(0, len(texts), 100):
        items = [{"content": text, **fields} for text in texts[start : start + 100]]
        answer(door, "core.batch_save", items=items, on_error="rollback")


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """MaxBytes what happens in the block to so many bytes at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def test_choosing_among_alike_memories_holds_no_table_of_all_pairs(door: Door) -> None:
    fill(door, *["The heron waits at the pond at dawn."] * 1000)
    with at_most(20 * MB):
        found = answer(door, "core.search", query="heron", limit=200, diversity_threshold=0)
    assert len(found["results"]) == 1


def test_what_is_like_a_chosen_memory_is_compared_no_further(monkeypatch: pytest.MonkeyPatch, door: Door) -> None:
    compared = []
    near = likeness._near

    def counted(ones: Any, others: Any, *how: Any) -> Any:
        compared.append(len(ones) * len(others))
        return near(ones, others, *how)

    monkeypatch.setattr(likeness, "_near", counted)
    fill(door, *["The heron waits at the pond at dawn."] * 1000)
    answer(door, "core.search", query="heron", limit=200, diversity_threshold=0)
    assert sum(compared) < 1000 + likeness.TILE**2


def test_a_query_of_thousands_of_terms_holds_no_table_of_all_terms_of_all_memories(door: Door) -> None:
    ideographs = [chr(0x4E00 + i) for i in range(3000)]
    pick = random.Random(1)
    fill(door, *["".join(pick.sample(ideographs, 40)) for _ in range(400)])
    answer(door, "core.search", query="the first search loads the index")
    with at_most(20 * MB):
        found = answer(door, "core.search", query="".join(ideographs), sort_by="importance", limit=5)
    assert len(found["results"]) == 5


def test_what_terms_add_is_held_only_where_the_ranking_rules_ask_for_it(
    monkeypatch: pytest.MonkeyPatch, door: Door
) -> None:
    cells = []
    search = SqliteSpace.search

    def counted(space: SqliteSpace, query: Query) -> Matches:
        found = search(space, query)
        cells.append(sum(len(c.terms) for c in found.candidates))
        return found

    monkeypatch.setattr(SqliteSpace, "search", counted)
    said = [{"role": "user", "content": f"the heron and frog {i}"} for i in range(20)]
    fill(door, *[f"A heron, an otter, a frog {i}" for i in range(50)])
    answer(door, "core.append_messages", conversation_id="talk", messages=said)
    for more in ({"vector_weight": 0.5}, {"mode": "keyword"}, {"mode": "semantic"}, {}):
        answer(door, "core.search", query="heron otter frog", include_conversation=True, **more)
    # Fifty memories with three of the words, and twenty messages with two.
    assert cells == [0, 0, 0, 50 * 3 + 20 * 2]


def _long_words(count: int) -> list[str]:
    """Words that nobody has said before, of the greatest length that a memory has room for."""
    return [f"{i:08}".translate(str.maketrans("0123456789", "abcdfghjkl")) * 500 for i in range(count)]


def test_long_words_are_not_remembered() -> None:
    words = _long_words(3000)
    tokens(words[0])
    with at_most(3 * MB):
        for word in words:
            to_terms(tokens(word))


def test_long_words_have_the_stems_and_digests_that_they_always_had() -> None:
    assert tokens(f"{'ha' * 40}running runs") == ["ha" * 40 + "run", "run"]
    assert word_digest("x" * 100) == blake2b(b"x" * 100, digest_size=8).digest()
    assert to_terms(["heron", "heron", "x" * 100])[:8] == blake2b(b"heron", digest_size=8).digest()


def test_what_is_remembered_of_words_has_a_bound_in_bytes() -> None:
    with at_most(40 * MB):
        for i in range(MOST_KEPT + 5000):
            word_digest(chr(0x20000 + i % 40_000) * (LONGEST_KEPT - 1) + chr(0x4E00 + i // 40_000))


def test_all_threads_share_what_is_remembered_of_stems(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    stemmer = Stemmer.Stemmer

    def counted(*how: Any) -> Any:
        made.append(how)
        return stemmer(*how)

    monkeypatch.setattr(Stemmer, "Stemmer", counted)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokens, ["running herons"] * 200)) == [["run", "heron"]] * 200
    assert made == []
