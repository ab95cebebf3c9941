"""Suggesting a scope on an empty store, with the embedder that ships: by meaning, not by keywords."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clock import SettableClock
from spaces import in_time, space_of
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.engine.call import Call
from steeltrap.engine.saving import save
from steeltrap.engine.scopes import DESCRIBED, suggest_scope
from steeltrap.model import Caller, Draft, UserRef
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.text.limits import check_scope


@pytest.fixture
def call(tmp_path: Path, clock: SettableClock) -> Iterator[Call]:
    embedder = StaticEmbedder()
    store = SqliteStore(tmp_path, embedder, clock)
    space, deadline = space_of(store, "ana"), in_time(60)
    yield Call(caller=Caller(UserRef("ana")), space=space, embedder=embedder, clock=clock, deadline=deadline)
    store.close()


@pytest.mark.parametrize(
    ("content", "scope"),
    [
        ("Bug fix implementation", "work/debugging"),
        ("API endpoint documentation", "learning/api-design"),
        ("Meeting notes from standup discussion", "work/meetings"),
        ("Python FastMCP implementation details", "learning/programming"),
        ("Personal reminder to call dentist", "personal/tasks"),
        ("The login page crashes with a null pointer", "work/debugging"),
        ("We flew to Tokyo and stayed at a small hotel", "personal/travel"),
        ("Quarterly budget was approved", "personal/finance"),
        ("Alice is allergic to peanuts", "personal/health"),
        ("REST API の設計", "learning/api-design"),
    ],
)
def test_an_empty_store_suggests_a_common_scope_by_meaning(call: Call, content: str, scope: str) -> None:
    suggested = suggest_scope(call, content)
    assert (suggested.scope, suggested.basis, suggested.compared) == (scope, "described_scopes", 0)
    assert suggested.confidence >= 0.2
    assert [guess.confidence for guess in suggested.others] == sorted(
        (guess.confidence for guess in suggested.others), reverse=True
    )


@pytest.mark.parametrize("content", ["good morning", "xyzzy", "ok"])
def test_what_is_like_nothing_goes_to_the_default(call: Call, content: str) -> None:
    suggested = suggest_scope(call, content)
    assert (suggested.scope, suggested.basis) == ("user/default", "default")


def test_the_users_own_scopes_go_before_common_ones(call: Call) -> None:
    save(call, Draft(content="Fixed the crash of the login page: the session was null.", scope="acme/incidents"))
    suggested = suggest_scope(call, "The login page crashes again with a null session")
    assert (suggested.scope, suggested.basis, suggested.compared) == ("acme/incidents", "stored_memories", 1)
    assert suggested.others[0].scope == "work/debugging"


def test_three_near_memories_are_surer_than_one_and_no_more_than_three_count(call: Call) -> None:
    confidences = []
    for i in range(5):
        save(call, Draft(content=f"The deploy key of server {i} rotates every 90 days.", scope="acme/keys"))
        confidences.append(suggest_scope(call, "When is a key rotated?").confidence)
    assert confidences[0] < confidences[1] < confidences[2]
    assert confidences[4] - confidences[2] < confidences[1] - confidences[0]


def test_the_current_scope_wins_a_close_call_and_no_other(call: Call) -> None:
    for scope in ("a", "b"):
        save(call, Draft(content="The deploy key rotates every 90 days.", scope=scope))
    save(call, Draft(content="Ana prefers green tea.", scope="c"))
    asked = "How often does the key rotate?"
    assert suggest_scope(call, asked).scope == "a"
    assert suggest_scope(call, asked, "b").scope == "b"
    assert suggest_scope(call, asked, "c").scope == "a"


def test_the_described_scopes_are_scopes() -> None:
    for scope, description in DESCRIBED.items():
        assert check_scope(scope) == scope
        assert description
