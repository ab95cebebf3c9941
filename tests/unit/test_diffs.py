"""Differences of two texts: nothing is lost, and the work has a bound whatever the texts are."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.servers.console import reading
from steeltrap.servers.console.reading import STEPS, Budget, Piece, difference

HAN = "".join(chr(0x4E00 + 7 * i % 4001) for i in range(10_900))
texts = st.lists(st.sampled_from(["a", "b", " ", "\n", "我", "住", "12", ".", "x\n"]), max_size=40).map("".join)


def joined(pieces: list[Piece], *kinds: str) -> str:
    return "".join(piece.text for piece in pieces if piece.kind in kinds)


@given(texts, texts, st.sampled_from([0, 1, 20, STEPS]))
def test_both_texts_can_be_read_from_their_difference(old: str, new: str, steps: int) -> None:
    pieces = difference(old, new, steps)
    assert joined(pieces, "same", "gone") == old
    assert joined(pieces, "same", "new") == new
    assert all(piece.text for piece in pieces)
    assert all(one.kind != other.kind for one, other in itertools.pairwise(pieces))
    if old == new and old:
        assert pieces == [Piece("same", old)]


@pytest.mark.parametrize(
    ("old", "new", "pieces"),
    [
        ("Ana lives in Porto.", "Ana lives in Faro.", ["Ana lives in ", "-Porto", "+Faro", "."]),
        ("我住在波尔图", "我住在法鲁", ["我住在", "-波尔图", "+法鲁"]),
        ("rated 12 of 20", "rated 13 of 20", ["rated ", "-12", "+13", " of 20"]),
        ("a b\nc d\ne f\n", "a b\nc x\ne f\ng\n", ["a b\nc ", "-d", "+x", "\ne f\n", "+g\n"]),
        ("abc", "abc 字", ["abc", "+ 字"]),
    ],
)
def test_what_changed_is_shown_by_words(old: str, new: str, pieces: list[str]) -> None:
    marks = {"gone": "-", "new": "+", "same": ""}
    assert [marks[piece.kind] + piece.text for piece in difference(old, new)] == pieces


def test_one_changed_letter_is_found_in_a_long_text_without_spaces() -> None:
    pieces = difference(HAN, HAN[:5000] + "é" + HAN[5001:], STEPS // 20)
    assert [(piece.kind, len(piece.text)) for piece in pieces] == [
        ("same", 5000),
        ("gone", 1),
        ("new", 1),
        ("same", 5899),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HAN, HAN[::-1]),
        ("a b " * 375, "b b a " * 250),
        ("a " * 750, "b a " * 375),
        ("a\nb\n" * 2700, "b\na\n" * 2000 + "c\n"),
        (".," * 16_000, ",." * 15_000 + "x"),
    ],
    ids=["han", "words", "same word", "lines", "marks"],
)
def test_a_difference_makes_no_more_comparisons_than_it_may(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Budget] = []

    def budget(steps: int) -> Budget:
        made.append(Budget(steps))
        return made[-1]

    monkeypatch.setattr(reading, "Budget", budget)
    pieces = difference(old, new, 20_000)
    assert made[0].steps_left > -60_000, "one round goes on to its end: a step per diagonal and letter"
    assert joined(pieces, "same", "gone") == old
    assert len(pieces) < 1000, "a page of 20 versions is shown in one piece"
