"""Memories in English, Japanese and Spanish: what a keyword finds, in every dialect that searches by words."""

from collections.abc import Callable
from typing import Any

import pytest

MEMORIES = {
    "commute": "Ana takes the 7:30 train from Porto and reads on it.",
    "theme": "The user's themes are dark, and the letters large.",
    "language": "私は日本語を毎日勉強しています。",
    "move": "先月、横浜から東京に引っ越しました。",
    "server": "ｻｰﾊﾞｰの再起動は日曜日に、佐々木さんが行います。",
    "name": "部長はジョン・スミスさんで、時々出張します。",
    "noodles": "アレルギーがあるので、そばは食べられません。",
    "song": "Su canción favorita es «La Llorona».",
    "year": "¿El año del viaje? ¡2023, a Perú con el pingüino de peluche!",
    "child": "La niña y el niño piden ＣＡＦÉ con leche.",
}

FINDS = [
    # English: inflection, case, possessives
    ("trains", "commute"),
    ("PORTO", "commute"),
    ("user theme", "theme"),
    # Words inside a Japanese sentence, single characters, a question
    ("日本語", "language"),
    ("勉強", "language"),
    ("語", "language"),
    ("東京", "move"),
    ("京", "move"),
    ("横浜のどこから引っ越しましたか？", "move"),
    ("そば", "noodles"),
    ("アレルギー", "noodles"),
    # Forms: half-width kana, a long vowel written or not, full-width letters, iteration marks, middle dots
    ("サーバー", "server"),
    ("ｻｰﾊﾞｰ", "server"),
    ("サーバ", "server"),
    ("佐々木", "server"),
    ("時々", "name"),
    ("ジョン・スミス", "name"),
    ("スミス", "name"),
    ("ｊｏｈｎ ｃａｆｅ", "child"),
    ("café", "child"),
    # Spanish without its accents, and the reverse
    ("canción", "song"),
    ("cancion", "song"),
    ("CANCIÓN", "song"),
    ("canciones", "song"),
    ("cancio\u0301n", "song"),
    ("ano", "year"),
    ("año", "year"),
    ("peru", "year"),
    ("¿Perú?", "year"),
    ("pinguino", "year"),
    ("nina", "child"),
    ("niños", "child"),
]

NOT_FOUND = ["zebra", "隣町の天気はどうですか", "犬", "ｲﾇ", "¿Qué es la fotosíntesis?", "perro", "ジャズ"]


@pytest.fixture
def ana(agent: Callable[..., Any]) -> Callable[..., Any]:
    ask = agent("ana")
    for text in MEMORIES.values():
        assert ask("core.save", content=text, category="fact").error is None
    return ask


def by_keyword(ask: Callable[..., Any], query: str) -> list[str]:
    result = ask("core.search", query=query, mode="keyword")
    assert result.error is None, result.body
    return [hit["content"] for hit in result.body["results"]]


@pytest.mark.parametrize(("query", "name"), FINDS)
def test_a_keyword_finds_its_memory_first_in_every_dialect(ana: Callable[..., Any], query: str, name: str) -> None:
    text = MEMORIES[name]
    assert by_keyword(ana, query)[:1] == [text]
    assert ana("notes.memory_search", query=query).body[0]["text"] == text
    assert ana("categories.search_memories", query=query).body.split("\n")[1] == f"- [fact] {text}"


@pytest.mark.parametrize("query", NOT_FOUND)
def test_what_no_memory_speaks_of_is_not_found_by_words(ana: Callable[..., Any], query: str) -> None:
    assert by_keyword(ana, query) == []


def test_a_japanese_word_goes_before_its_single_characters(ana: Callable[..., Any]) -> None:
    assert by_keyword(ana, "日曜日") == [MEMORIES["server"], MEMORIES["language"]]
    assert by_keyword(ana, "日本語") == [MEMORIES["language"], MEMORIES["server"]]


def test_grammar_finds_no_japanese_memory(ana: Callable[..., Any]) -> None:
    assert by_keyword(ana, "京都の店が好きですか？") == [MEMORIES["move"]]


def test_a_memory_may_mix_languages(agent: Callable[..., Any]) -> None:
    ask = agent("ben")
    text = "会議でDuración del contratoをreviewします"
    ask("core.save", content=text)
    for query in ("会議", "duracion", "contratos", "reviewing", "ｒｅｖｉｅｗ"):
        assert by_keyword(ask, query) == [text]


@pytest.mark.parametrize("text", MEMORIES.values(), ids=MEMORIES)
def test_texts_come_back_as_they_were_given(ana: Callable[..., Any], text: str) -> None:
    assert text in [memory["content"] for memory in ana("core.list").body["memories"]]
    assert f"- {text}" in ana("categories.list_memories", category="fact").body.split("\n")


# Sentences are chosen where a merged text is longer than 4,000 characters

STORIES = {
    "English": ("The deploy key rotates in week {}. ", "Nobody minds that at all. "),
    "Japanese": ("第{}週に鍵を交換します。", "田中さんは「はい。すぐに。」と言いました。"),
    "Spanish": ("La clave de la Sra. García cambia en la semana {}. ", "¿A quién le importa? "),
}


@pytest.mark.parametrize("language", STORIES)
def test_a_long_merge_keeps_whole_sentences_in_their_order(agent: Callable[..., Any], language: str) -> None:
    ask = agent("ana")
    telling, filler = STORIES[language]
    halves = ["".join(telling.format(i) + filler for i in weeks) for weeks in (range(1, 151), range(151, 301))]
    ids = [ask("core.save", content=half).body["id"] for half in halves]
    assert sum(map(len, halves)) > 4000
    merged = ask("core.consolidate", ids=ids).body["content"]
    assert 2000 < len(merged) <= 4000
    chosen = [sentence for i in range(1, 301) if (sentence := telling.format(i).strip()) in merged]
    rest = merged
    for sentence in [*chosen, filler.strip()]:
        rest = rest.replace(sentence, "", 1)
    assert rest.strip() == ""
    places = [merged.index(sentence) for sentence in chosen]
    assert places == sorted(places)
    assert len(chosen) > 50
