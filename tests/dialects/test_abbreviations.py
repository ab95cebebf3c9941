"""A question with a short form finds the memory with the long one, and the reverse."""

import pytest

from clock import SettableClock
from dialects.recording import ranked
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.ranking.abbreviations import abbreviations, long_form

ANA = Caller(UserRef("ana"), "assistant")


@pytest.mark.parametrize(
    ("answer", "other", "query"),
    [
        (
            "New Year's Eve: set menu of seven courses, 95 dollars.",
            "From October the restaurant is open on Tuesdays, too.",
            "Is there a NYE dinner?",
        ),
        (
            "Devon finished the Moorland race in 1:27:40, a personal best.",
            "Devon prefers rice cakes to gels.",
            "What's Devon's PB?",
        ),
        (
            "Everything was rewritten in TypeScript last year.",
            "The plugin is written for Firefox and Chrome.",
            "Which parts are written in TS?",
        ),
        (
            "New Year's Eve: the gate is closed.",
            "From October the restaurant is open on Tuesdays, too.",
            "NYE 2026?",
        ),
        (
            "WAL replay lost the last record at a block edge.",
            "Files written by 0.7 can still be read.",
            "Was there a bug in the write-ahead log?",
        ),
    ],
)
def test_the_memory_with_the_other_form_of_an_abbreviation_comes_first(
    own_door: Door, clock: SettableClock, answer: str, other: str, query: str
) -> None:
    first, *others = ranked(own_door, clock, ANA, (answer, other, "Ana likes green tea."), query)
    assert first["content"] == answer
    assert [hit["why"].get("boosts", {}).get("abbreviation") for hit in (first, *others)] == [0.2, None, None]  # type: ignore[attr-defined]


def test_a_short_form_that_a_memory_has_is_not_looked_for_in_initials(own_door: Door, clock: SettableClock) -> None:
    contents = ("CI runs on every push.", "The customers' inboxes are full.")
    hits = ranked(own_door, clock, ANA, contents, "Where does CI run?")
    assert hits[0]["content"] == contents[0]
    assert all("abbreviation" not in hit["why"].get("boosts", {}) for hit in hits)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("short", "text", "long"),
    [
        ("NYE", "We close early on New Year's Eve.", "New Year's Eve"),
        ("HIL", "The hardware-in-the-loop bench", "hardware-in-the-loop"),
        ("TS", "moved to TypeScript", "Type Script"),
        ("CI", "The cluster is down", ""),
        ("HIL", "half of it for loading", ""),
        ("AB", "A bee", ""),
        ("WAL", "write-ahead", ""),
    ],
)
def test_a_long_form_is_words_whose_initials_are_the_letters(short: str, text: str, long: str) -> None:
    assert long_form(short, text) == long


@pytest.mark.parametrize(
    "query",
    [
        "where does Ana live?",
        "NYE DINNER PRICE",
        "NYE DINNER",
        "ONLY one",
        "",
        "OK?",
        "NYE " + "a " * 400,
        "At 8:00 PM?",
        "At 8:00\u202fPM?",
        "At 8:00\u00a0AM?",
        "At 8:00  PM?",
    ],
)
def test_a_query_without_an_abbreviation_reads_no_memory(query: str) -> None:
    assert abbreviations(query, {"ok": 1}) is None


def test_a_time_of_day_neither_is_literal_text_nor_has_an_abbreviation(own_door: Door, clock: SettableClock) -> None:
    contents = (
        "I set the reading light to 7, which is good for papers.",
        "The meeting with the accountants was moved to 8:00 on Friday.",
        "Susan is in a party mood: red light!",
    )
    for time in ("8:00 PM", "8:00\u202fPM", "8:00:00"):
        query = f"At {time} in the car: turn on my reading light."
        first, *_ = ranked(own_door, clock, ANA, contents, query)
        assert first["content"] == contents[0]
        assert not {"abbreviation", "literal"} & set(first["why"].get("boosts", {}))  # type: ignore[attr-defined]


def test_long_texts_and_two_initials_of_a_query_tell_nothing() -> None:
    asked = abbreviations("NYE dinner", {})
    assert asked is not None
    assert asked.spelled_by("New Year's Eve") == "New Year's Eve"
    assert asked.spelled_by("New Year's Eve" + " and more" * 200) == ""
    asked = abbreviations("Who can sign in to the self-service desk?", {})
    assert asked is not None
    assert asked.spelled_by("The SD card is full.") == ""
    asked = abbreviations("Is the by-election result out?", {})
    assert asked is not None
    assert asked.spelled_by("BER TO BERLIN") == asked.spelled_by("All are tickers: " + "QQQ ZZZ " * 100) == ""


def test_two_initials_of_common_words_make_no_memory_relevant(own_door: Door, clock: SettableClock) -> None:
    contents = ("Ben puts plastic cups in the recycling.", "Ana likes green tea.", "The kettle leaks.")
    for content in contents:
        own_door.invoke("core.save", {"content": content}, ANA)
    answer = own_door.invoke("agent.recall", {"query": "Which PC do we use?"}, ANA).body
    assert "Nothing close to this among 3 memories" in str(answer)


def test_two_initials_of_common_words_raise_no_confidence(own_door: Door, clock: SettableClock) -> None:
    contents = ("Ben puts plastic cups in the recycling.", "Ana likes green tea.", "The kettle leaks.")
    guess, *others = ranked(own_door, clock, ANA, contents, "Which PC do we use?")
    assert guess["content"] == contents[0]
    assert float(str(guess["confidence"])) <= max(float(str(other["confidence"])) for other in others) + 0.01


def test_the_initials_of_a_name_raise_confidence(own_door: Door, clock: SettableClock) -> None:
    contents = ("New Year's Eve: set menu of seven courses.", "Ana likes green tea.", "The kettle leaks.")
    best = ranked(own_door, clock, ANA, contents, "Is there a NYE dinner?")[0]
    assert best["content"] == contents[0]
    assert float(str(best["confidence"])) > 0.4
