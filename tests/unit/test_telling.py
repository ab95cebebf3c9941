"""How telling a conversation is, in several languages; and the one or two sentences that it is told by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.model import Message
from steeltrap.text.sentences import SUMMARY_CHARACTERS, gist, sentences, summary, telling


def talk(*said: str) -> list[Message]:
    return [Message(role=("user", "assistant")[place % 2], content=text) for place, text in enumerate(said)]


PIVOTS = {
    "en": ("I got fired yesterday and I'm scared about the rent. My wife is pregnant.", "Oh!", "I need a job by May."),
    "es": ("Me despidieron ayer y tengo miedo por el alquiler. Mi mujer está embarazada.", "¡Oh!", "Necesito trabajo."),
    "de": (
        "Ich habe gestern gekündigt und meine Frau ist schwanger.",
        "Oh!",
        "Ich habe Angst, dass die Frist nicht reicht.",
    ),
    "ja": ("昨日、会社を退職しました。来月、東京から大阪に引っ越します。", "ええ？", "妻が妊娠していて、心配です。"),
}
ROUTINE = {
    "en": ("The bus was ten minutes late today.", "Annoying.", "It happens every Monday, I just listen to music."),
    "es": ("El autobús llegó diez minutos tarde.", "Vaya.", "Pasa todos los lunes, escucho música."),
    "de": ("Der Bus kam heute zehn Minuten zu spät.", "Schade.", "Das ist jeden Montag so, ich höre Musik."),
    "ja": ("今朝は電車が十分遅れました。", "大変でしたね。", "音楽を聞いていたので大丈夫です。"),
}


@pytest.mark.parametrize("language", PIVOTS)
def test_what_changes_a_life_is_telling_and_routine_is_not(language: str) -> None:
    assert telling(talk(*PIVOTS[language])) >= 0.7 > telling(talk(*ROUTINE[language]))


def test_questions_and_the_assistants_words_tell_nothing() -> None:
    assert telling(talk("Was I fired, and is my wife pregnant?", PIVOTS["en"][0])) == 0


@pytest.mark.parametrize("language", [*PIVOTS])
def test_a_gist_has_one_or_two_sentences_and_is_not_the_transcript(language: str) -> None:
    said = talk(*PIVOTS[language])
    text = gist(summary(said), said)
    assert 1 <= len(sentences(text.partition(":")[2])) <= 2
    assert len(text) < len(summary(said))


def test_a_summary_that_somebody_wrote_stays() -> None:
    assert gist("User switches careers. One. Two. Three.", talk("I quit.", "Why?")).endswith("Three.")


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=8))
def test_any_conversation_has_a_gist_within_bounds_and_a_measure(said: list[str]) -> None:
    messages = talk(*said)
    text = gist(summary(messages), messages)
    assert 0 < len(text) <= SUMMARY_CHARACTERS
    assert 0 <= telling(messages) <= 1
