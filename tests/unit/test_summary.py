"""A summary gives a conversation in a few of its own sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from steeltrap.changes.images import meaning
from steeltrap.model import Memory, Message
from steeltrap.text.sentences import SUMMARY_CHARACTERS, summary


def talk(*said: tuple[str, str]) -> list[Message]:
    return [Message(role=role, content=content) for role, content in said]


def test_a_short_conversation_is_told_whole_with_who_said_what() -> None:
    said = talk(("user", "I moved to Lisbon. It was in May."), ("assistant", "Welcome!"), ("user", "Thank you."))
    assert summary(said) == "User: I moved to Lisbon. It was in May. Assistant: Welcome! User: Thank you."


def test_a_name_stands_where_there_is_one() -> None:
    said = [Message(role="user", content="I moved.", speaker="Ana\nMaria"), Message(role="user", content="Why?")]
    assert summary(said) == "Ana Maria: I moved. User: Why?"


def test_a_long_conversation_is_told_by_what_says_most() -> None:
    filler = [("assistant", "Is that so?"), ("user", "And so it was."), ("assistant", "How nice!")] * 6
    said = talk(
        *filler,
        ("user", "My new team writes all of its trading systems in Rust."),
        *filler,
        ("user", "I must learn Rust within 3 months for the trading team."),
    )
    text = summary(said, 125)
    assert text == (
        "User: My new team writes all of its trading systems in Rust. "
        "I must learn Rust within 3 months for the trading team."
    )


def test_what_was_said_twice_is_told_once() -> None:
    said = talk(("user", "Go west. Go west."), ("user", "Go west."), ("user", "And then she went away again."))
    assert summary(said, 40) == "User: Go west."


def test_japanese_is_split_at_its_own_full_stops() -> None:
    said = talk(
        ("user", "京都に引っ越しました。寺が多いです。"), ("user", "ところで、" + "昨日は雨でした、" * 20 + "。")
    )
    assert summary(said, 40) == "User: 京都に引っ越しました。 寺が多いです。"


@pytest.mark.parametrize("text", ["x" * 5000, "word " * 2000, "。", "...", "?!"])
def test_whatever_was_said_has_a_summary(text: str) -> None:
    assert 0 < len(summary(talk(("user", text)))) <= SUMMARY_CHARACTERS


TEXT = st.text(min_size=1, max_size=200).filter(lambda text: text.strip())


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXT), min_size=1, max_size=12))
def test_a_summary_fits_and_is_never_blank(said: list[tuple[str, str]]) -> None:
    text = summary(talk(*said))
    assert text.strip()
    assert len(text) <= SUMMARY_CHARACTERS


def test_an_episode_is_found_by_all_that_was_said_without_the_names() -> None:
    said = (Message(role="user", content="I moved.", speaker="Ana"), Message(role="user", content="When (in May)?"))
    episode = Memory(
        id="a", content="Ana: I moved. User: Hana: no. Bananas.", messages=said, created_at=NOON, updated_at=NOON
    )
    assert meaning(episode) == "I moved. Hana: no. Bananas.\nI moved.\nWhen (in May)?"
