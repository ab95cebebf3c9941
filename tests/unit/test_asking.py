"""Questions about the conversation itself: which of their words say what is meant, and which only where it was said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.ranking.asking import asks_across, without_frame


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        (
            "Can you give me a summary of the budget tracker that we discussed throughout our conversations?",
            "the budget tracker that ?",
        ),
        (
            "Can you list the order in which I brought up different aspects of error handling, in order?",
            "error handling, ?",
        ),
        (
            "In which of my sessions did I plan the garden fence?",
            "In which of my sessions did I plan the garden fence?",
        ),
        ("Could you remind me of the hotel in Porto you mentioned in our previous chat?", "the hotel in Porto ?"),
        ("Kannst du mir sagen, wann in unseren Gesprächen das Boot vorkam?", ", wann das Boot vorkam?"),
        (
            "¿Puedes hacerme un resumen de las obras de la cocina en nuestras conversaciones?",
            "¿ las obras de la cocina ?",
        ),
    ],
)
def test_words_about_the_conversation_leave_the_query(query: str, rest: str) -> None:
    assert without_frame(query).split() == rest.split()


@pytest.mark.parametrize(
    "query",
    [
        "What did we discuss in our last session?",
        "Please summarize",
        "Can you list them in order?",
        "When does Ana arrive?",
        "",
    ],
)
def test_a_query_about_nothing_else_stays_as_it_is(query: str) -> None:
    assert without_frame(query) == query


@given(st.text())
def test_something_is_left_of_every_query(query: str) -> None:
    assert bool(without_frame(query).strip()) == bool(query.strip())


@pytest.mark.parametrize(
    ("query", "is_across"),
    [
        ("How many columns did I want to add across my requests?", True),
        ("How many weeks are left until the deadline?", False),
        ("In what order did I mention the three cities?", True),
        ("Summarize how the project has gone", True),
        ("What have we decided so far?", True),
        ("Wie viele Bücher habe ich bisher gelesen?", True),
        ("¿Cuántas plantas tengo en total?", True),
        ("When did I order the pizza?", False),
        ("Where does Ana live?", False),
        ("", False),
    ],
)
def test_a_question_for_what_many_conversations_say_is_told_by_its_words(query: str, is_across: bool) -> None:
    assert asks_across(query) is is_across
