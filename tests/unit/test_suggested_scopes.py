"""Which scope a text is filed under, and how sure that is: texts placed at chosen cosines from the one asked about."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from embedding import Placed
from steeltrap.engine.scopes import DESCRIBED
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.toolsets import CATALOGUE

ASKED = "the text to file"
LONG = "a" * 640 + "b" * 60
Suggest = Callable[..., dict[str, Any]]


@pytest.fixture
def embedder() -> Placed:
    return Placed(ASKED, unrelated=0.2)


@pytest.fixture
def suggest(tmp_path: Path, clock: SettableClock, embedder: Placed) -> Iterator[Suggest]:
    """`suggest({scope: similarities of its memories}, {described scope: similarity})` is the answer about ASKED.

    A similarity of 0 is that of unrelated texts.
    """
    store = SqliteStore(tmp_path, embedder, clock)
    door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock)
    ana = Caller(UserRef("ana"), "assistant")

    def suggest(
        stored: dict[str, Sequence[float]], described: dict[str, float] | None = None, **asked: str
    ) -> dict[str, Any]:
        for scope, similarity in (described or {}).items():
            embedder.cosines[DESCRIBED[scope]] = 0.2 + 0.8 * similarity
        for scope, similarities in stored.items():
            for i, similarity in enumerate(similarities):
                content = f"{scope} {i}"
                embedder.cosines[content] = 0.2 + 0.8 * similarity
                assert door.invoke("core.save", {"content": content, "scope": scope}, ana).error is None
        tool = "associative.scope_suggest" if "response_level" in asked else "core.suggest_scope"
        result = door.invoke(tool, {"content": ASKED, **asked}, ana)
        assert result.error is None, result.error
        body: dict[str, Any] = result.body
        return body

    yield suggest
    store.close()


def _answer(body: dict[str, Any]) -> tuple[str, float, str]:
    return body["scope"], round(body["confidence"], 3), body["basis"]


def _others(body: dict[str, Any]) -> list[tuple[str, float]]:
    """The alternatives of any confidence, the best first."""
    return [(o["scope"], round(o["confidence"], 3)) for o in body["alternatives"] if o["confidence"]]


def test_each_memory_that_is_near_takes_its_part_of_the_doubt(suggest: Suggest) -> None:
    body = suggest({"home": [0.4], "work": [0.2, 0.5]})
    assert _answer(body) == ("work", 0.6, "stored_memories")
    assert _others(body) == [("home", 0.4)]


def test_three_memories_of_a_scope_have_a_say(suggest: Suggest) -> None:
    assert _answer(suggest({"work": [0.2, 0.1, 0.2, 0.2]})) == ("work", 0.488, "stored_memories")


def test_equals_come_by_name(suggest: Suggest) -> None:
    body = suggest({"c": [0.3], "a": [0.3], "b": [0.3]})
    assert [body["scope"], *(scope for scope, _ in _others(body))] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("work", "answer"),
    [(0.48, ("work", 0.53, "stored_memories")), (0.44, ("home", 0.5, "stored_memories"))],
)
def test_the_current_scope_wins_a_close_call_and_no_other(
    suggest: Suggest, work: float, answer: tuple[str, float, str]
) -> None:
    assert _answer(suggest({"home": [0.5], "work": [work]}, current_scope="work")) == answer


def test_no_confidence_is_above_1(suggest: Suggest) -> None:
    assert _answer(suggest({"work": [1.0]}, current_scope="work")) == ("work", 1.0, "stored_memories")


@pytest.mark.parametrize(
    ("stored", "described", "answer"),
    [
        ({"work": [0.2]}, {"personal/health": 0.9}, ("work", 0.2, "stored_memories")),
        ({"work": [0.21]}, {"personal/health": 0.15}, ("work", 0.21, "stored_memories")),
        ({"work": [0.21]}, {"personal/health": 0.9}, ("work", 0.21, "stored_memories")),
        ({"work": [0.19]}, {"personal/health": 0.21}, ("personal/health", 0.21, "described_scopes")),
        ({}, {"personal/health": 0.3, "work/meetings": 0.4}, ("work/meetings", 0.4, "described_scopes")),
        ({"work": [0.19]}, {"personal/health": 0.19}, ("user/default", 0.0, "default")),
        ({}, {}, ("user/default", 0.0, "default")),
        ({"user/default": [0.19]}, {}, ("user/default", 0.19, "default")),
    ],
)
def test_described_scopes_and_the_default_come_after_stored_ones(
    suggest: Suggest, stored: dict[str, Sequence[float]], described: dict[str, float], answer: tuple[str, float, str]
) -> None:
    assert _answer(suggest(stored, described)) == answer


def test_the_users_own_scopes_go_before_common_ones_which_fill_up_three(suggest: Suggest) -> None:
    body = suggest({"a": [0.5], "b": [0.1], "c": [0.1]}, {"personal/health": 0.9, "personal/tasks": 0.3})
    named = [(guess["scope"], guess["confidence"]) for guess in body["alternatives"]]
    assert named == [("b", 0.1), ("c", 0.1), ("personal/health", 0.9), ("personal/tasks", 0.3)]
    # With a fourth scope of the user's own the common ones are left out, and so is what is sure of nothing.
    body = suggest({"d": [0.05]})
    assert [guess["scope"] for guess in body["alternatives"]] == ["b", "c", "d"]


def test_confidence_has_four_places(suggest: Suggest) -> None:
    body = suggest({"work": [0.123456, 0.3]}, {"personal/health": 0.123456})
    assert body["confidence"] == 0.3864
    assert [guess["confidence"] for guess in body["alternatives"]] == [0.1235]


def test_a_scope_tells_how_near_its_nearest_memory_is_and_how_many_are_near(suggest: Suggest) -> None:
    body = suggest({"home": [0.123456, 0.1], "work": [0.9]}, {"personal/health": 0.123456}, response_level="full")
    assert body["suggestion_analysis"] == {
        "suggested_scope": "work",
        "confidence": 0.9,
        "basis": "stored_memories",
        "compared_memories": 3,
    }
    told = [tuple(guess[key] for key in ("similarity", "similar_memories")) for guess in body["all_alternatives"]]
    # A cosine: 0.2 + 0.8 x 0.123456.
    assert told == [(0.2988, 2), (0.2988, 0)]


def test_the_hundred_nearest_have_a_say(suggest: Suggest) -> None:
    body = suggest({"far": [0.1], "near": [0.2] * 100}, response_level="full")
    assert body["suggestion_analysis"]["compared_memories"] == 100
    assert "far" not in [guess["scope"] for guess in body["all_alternatives"]]


def test_where_nothing_is_sure_the_current_scope_stays(suggest: Suggest) -> None:
    body = suggest({"work": [0.18]}, {"personal/health": 0.1}, current_scope="desk/left")
    assert _answer(body) == ("desk/left", 0.0, "current_scope")
    assert _others(body) == [("work", 0.18), ("personal/health", 0.1)]
    assert _answer(suggest({}, current_scope="personal/health")) == ("personal/health", 0.1, "current_scope")


def test_a_scope_of_the_users_own_goes_before_its_description(suggest: Suggest) -> None:
    body = suggest({"personal/health": [0.1], "work": [0.1]}, {"personal/health": 0.9, "personal/tasks": 0.3})
    assert _answer(body) == ("personal/tasks", 0.3, "described_scopes")
    assert _others(body) == [("personal/health", 0.1), ("work", 0.1)]


def test_a_session_is_suggested_only_while_it_goes_on(suggest: Suggest) -> None:
    assert _answer(suggest({"session/one": [0.9], "work": [0.5]})) == ("work", 0.5, "stored_memories")
    assert _answer(suggest({}, current_scope="session/one")) == ("session/one", 0.95, "stored_memories")


def test_a_description_is_compared_with_the_nearest_part_of_a_long_text(suggest: Suggest, embedder: Placed) -> None:
    embedder.cosines[LONG[544:]] = 1.0
    assert _answer(suggest({}, {"personal/tasks": 0.5}, content=LONG)) == (
        "personal/tasks",
        0.5,
        "described_scopes",
    )
