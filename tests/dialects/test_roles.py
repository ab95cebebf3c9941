"""Roles decide between memories with the same words: the first is the one whose roles fit the question."""

from collections.abc import Sequence

import pytest

from clock import SettableClock
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef

ANA = Caller(UserRef("ana"), "assistant")
FILLER = ("The office is in Porto.", "Ana likes green tea.", "Deploys happen on Tuesdays.")

PAIRS = [
    ("Bruno reports to Ana.", "Carla reports to Bruno.", "who does Bruno report to?", "who reports to Bruno?"),
    ("Bruno reports to Ana.", "Carla reports to Bruno.", "To whom does Bruno report?", "Who is reporting to Bruno?"),
    ("Bruno reports to Ana.", "Carla reports to Bruno.", "tell me who Bruno reports to", "Did Carla report to Bruno?"),
    ("Ana lent money to Bob.", "Bob lent money to Ana.", "who lent money to Bob?", "whom did Bob lend money to?"),
    ("I lent money to Bob.", "Bob lent money to Ana.", "who did I lend money to?", "who did Bob lend money to?"),
    ("Paul manages Erik.", "Erik manages Sara.", "who manages Erik?", "who does Erik manage?"),
    ("Paul manages Erik.", "Erik manages Sara.", "Who is Erik managed by?", "Who is managed by Erik?"),
    ("Erik is managed by Paul.", "Sara is managed by Erik.", "who manages Erik?", "who does Erik manage?"),
    ("Tom is supervised by Dr. Lee.", "Dr. Lee is supervised by Kahn.", "who does Dr. Lee supervise?", "who supervises Dr. Lee?"),  # noqa: E501
    ("Ana called Bob on Monday.", "Bob called Ana on Friday.", "when did Ana call Bob?", "when did Bob call Ana?"),
    ("Service A calls service B.", "Service B calls service C.", "what calls service B?", "what does service B call?"),
    ("Acme acquired Beta in 2021.", "Beta acquired Gamma in 2019.", "which firm acquired Beta?", "which firm did Beta acquire?"),  # noqa: E501
]  # fmt: skip


def _saved(door: Door, clock: SettableClock, contents: Sequence[str]) -> None:
    for content in contents:
        door.invoke("core.save", {"content": content}, ANA)
        clock.advance(seconds=1)


def _first(door: Door, query: str, **arguments: object) -> str:
    body = door.invoke("core.search", {"query": query, **arguments}, ANA).body
    content: str = body["results"][0]["content"]
    return content


@pytest.mark.parametrize("newest_last", [True, False])
@pytest.mark.parametrize(("one", "other", "asks_one", "asks_other"), PAIRS)
def test_the_memory_whose_roles_fit_the_question_comes_first(
    own_door: Door, clock: SettableClock, one: str, other: str, asks_one: str, asks_other: str, newest_last: bool
) -> None:
    _saved(own_door, clock, (*((one, other) if newest_last else (other, one)), *FILLER))
    assert _first(own_door, asks_one) == one
    assert _first(own_door, asks_other) == other


@pytest.mark.parametrize("arguments", [{"limit": 1}, {"precision": "best"}, {"precision": "relevant"}])
def test_the_memory_whose_roles_fit_is_the_one_that_is_left_of_two(
    own_door: Door, clock: SettableClock, arguments: dict[str, object]
) -> None:
    _saved(own_door, clock, ("Bruno reports to Ana.", "Carla reports to Bruno.", *FILLER))
    assert _first(own_door, "who does Bruno report to?", **arguments) == "Bruno reports to Ana."


def test_recall_shows_the_memory_whose_roles_fit_first(own_door: Door, clock: SettableClock) -> None:
    _saved(own_door, clock, ("Bob lent money to Ana.", "Ana lent money to Bob.", *FILLER))
    shown = str(own_door.invoke("agent.recall", {"query": "Whom did Bob lend money to?"}, ANA).body)
    first = shown.index("Bob lent money to Ana.")
    assert first < shown.find("Ana lent money to Bob.") or "Ana lent money to Bob." not in shown


def test_why_tells_what_the_order_of_the_words_added(own_door: Door, clock: SettableClock) -> None:
    _saved(own_door, clock, ("Bruno reports to Ana.", "Carla reports to Bruno.", *FILLER))
    arguments = {"query": "who does Bruno report to?", "why": True}
    results = own_door.invoke("core.search", arguments, ANA).body["results"]
    assert [hit["why"].get("boosts", {}).get("order") for hit in results[:2]] == [0.1, None]


@pytest.mark.parametrize(
    ("answers", "other", "query"),
    [
        ("Opening hours of the shop: 9 to 5.", "The shop opens a new branch in June.", "what time does the shop open?"),
        (
            "The office key is at reception.",
            "The key works for the office on Sundays.",
            "where is the key to the office?",
        ),
        ("Bob's dog name is Rex.", "The name of Bob's dog groomer is Ivy.", "what is the name of Bob's dog?"),
        (
            "For Ana, the doctor recommended iron.",
            "Ana's doctor recommended a physio to Tom.",
            "what did the doctor recommend to Ana?",
        ),
    ],
)
def test_words_that_say_no_other_roles_are_not_taken_for_a_wrong_order(
    own_door: Door, clock: SettableClock, answers: str, other: str, query: str
) -> None:
    _saved(own_door, clock, (answers, other, *FILLER))
    hits = own_door.invoke("core.search", {"query": query, "why": True}, ANA).body["results"]
    assert all("order" not in hit["why"].get("boosts", {}) for hit in hits)
    assert hits[0]["content"] == answers
