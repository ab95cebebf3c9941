"""A name that one of the best memories brings up leads to what else is known of whom it names."""

import pytest

from clock import SettableClock
from dialects.recording import ranked
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ranking.choosing import other_names

ANA = Caller(UserRef("ana"), "assistant")
FACTS = (
    "Noor works nights in the children's ward.",
    "Noor's oldest friend lives in a lighthouse.",
    "Noor's flat has two balconies.",
    "No meetings for Noor on Fridays after lunch.",
    "Noor declined to lead the clinic: too much paper.",
    "Noor keeps bees behind the garage.",
    "Noor's car fails in the cold.",
)


def _led_by(hit: dict[str, object]) -> list[str] | None:
    return hit["why"].get("led_by")  # type: ignore[attr-defined, no-any-return]


def _lift(hit: dict[str, object]) -> float | None:
    return hit["why"].get("boosts", {}).get("name")  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("introduction", "answer", "query"),
    [
        (
            "Noor's parents are called Samir and Hala.",
            "Samir got a pacemaker in October and is well again.",
            "How is Noor's dad after his heart surgery?",
        ),
        (
            "Noor's wife is Sarah.",
            "Sarah is allergic to nuts.",
            "Can I bring walnut cake for Noor's spouse?",
        ),
        (
            "Noor's boss is Tom Berger.",
            "Tom wants reports on Mondays.",
            "When does Noor's manager want to hear from her?",
        ),
        (
            "Noor's card payments go through Finvera.",
            "The contract with Finvera ends in August.",
            "What do we know about Noor's card processor?",
        ),
    ],
)
def test_what_is_known_of_whom_the_best_memory_names_is_among_the_first(
    own_door: Door, clock: SettableClock, introduction: str, answer: str, query: str
) -> None:
    hits = ranked(own_door, clock, ANA, (introduction, *FACTS, answer), query)
    by_content = {hit["content"]: hit for hit in hits[:4]}
    assert introduction in by_content
    assert (_lift(by_content[answer]) or 0) > 0
    assert hits[0]["content"] != answer  # what leads to it stays before it


def test_a_name_that_many_memories_have_leads_nowhere(own_door: Door, clock: SettableClock) -> None:
    everywhere = tuple(fact.replace("Noor", "Samir") for fact in FACTS)
    hits = ranked(own_door, clock, ANA, ("Noor's father is called Samir.", *everywhere), "How is Noor's dad?")
    assert not any(map(_lift, hits))


def test_a_name_changes_the_order_alone_not_what_is_relevant(own_door: Door, clock: SettableClock) -> None:
    for content, day in (
        ("Noor's wife is Sarah.", "2025-03-02"),
        ("Sarah ran the marathon.", "2025-11-05"),
        ("The garage was painted.", "2025-11-05"),
        *((fact, "2025-06-01") for fact in FACTS),
    ):
        own_door.invoke("core.save", {"content": content, "occurred_at": day}, ANA)
        clock.advance(seconds=1)
    question = "What happened with Noor's husband or wife around 5 November?"
    relevant, best, likely = (
        own_door.invoke("core.search", {"query": question, "precision": precision, "why": True}, ANA).body["results"]
        for precision in ("relevant", "best", "likely")
    )
    assert not any(map(_lift, [*relevant, *best]))
    assert not any(map(_led_by, [*relevant, *best]))
    assert {hit["id"] for hit in likely if not hit.get("less_sure")} == {hit["id"] for hit in relevant}


def test_why_says_which_name_led_to_a_result(own_door: Door, clock: SettableClock) -> None:
    contents = (
        "Noor's parents are called Samir and Hala.",
        *FACTS,
        "Samir got a pacemaker in October and is well again.",
        "Hala sings.",
    )
    hits = ranked(own_door, clock, ANA, contents, "How is Noor's dad after his heart surgery?")
    by_content = {hit["content"]: hit for hit in hits}
    assert _led_by(by_content[contents[-2]]) == ["Samir"]
    assert _led_by(by_content[contents[-1]]) == ["Hala"]
    assert not any(map(_led_by, (by_content[content] for content in contents[:-2])))


def test_a_sure_answer_is_followed_by_nothing_that_it_names(own_door: Door, clock: SettableClock) -> None:
    contents = ("Noor's father is called Samir.", "Samir got a pacemaker in October.", *FACTS)
    hits = ranked(own_door, clock, ANA, contents, "What is Noor's father called?")
    assert hits[0]["content"] == contents[0]
    assert not any(map(_lift, hits))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ana's mother Graça lives alone.", ["graca"]),
        ("Deploys go through Argo CD; ask Lena.", ["argo", "lena"]),
        ("Die Station im Gebirge ist kaputt.", []),
        ("They met in April, on a Friday.", []),
        ("Groceries\nMilk\n- Eggs", []),
        ("Samir drives.", []),
        ("x" * 2_000 + " with Samir", []),
    ],
)
def test_names_are_words_with_a_capital_inside_a_sentence(text: str, names: list[str]) -> None:
    assert list(other_names(text, ())) == names


def test_a_name_that_the_query_has_is_not_another_one() -> None:
    assert other_names("The parents of Noor are Samir and Hala.", ("noor", "hala")) == {"samir": "Samir"}


def test_a_part_of_a_name_is_told_as_it_is_written() -> None:
    text = "He met Sarah's twin Sarah-Jane, and Sarah\u2019s aunt Zoë."
    assert other_names(text, ()) == {"sarah": "Sarah", "jane": "Jane", "zoe": "Zoë"}
