"""Cutting a long text into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from steeltrap.text.sentences import pieces

TEXTS = st.text(alphabet=st.sampled_from("ab é京🦆.!?。「」\n\t "), max_size=400)


@given(text=TEXTS, most=st.integers(4, 60))
def test_pieces_fit_and_lose_nothing_but_white_space(text: str, most: int) -> None:
    cut = pieces(text, most)
    if len(text.encode()) <= most:
        assert cut == [text]
        return
    assert all(piece.strip() and len(piece.encode()) <= most for piece in cut)
    assert "".join("".join(cut).split()) == "".join(text.split())


@given(text=TEXTS.filter(lambda text: all(map(str.strip, text))), most=st.integers(4, 60))
def test_pieces_without_blanks_between_them_join_to_the_text(text: str, most: int) -> None:
    assert "".join(pieces(text, most)) == text


def test_a_text_is_cut_behind_a_paragraph_rather_than_a_line_a_sentence_or_a_word() -> None:
    assert pieces("One. Two three\nfour.\n\nFive. Six", 28) == ["One. Two three\nfour.\n\n", "Five. Six"]
    assert pieces("One. Two three\nfour. Five. Six", 26) == ["One. Two three\n", "four. Five. Six"]
    assert pieces("One two three. Four five six", 24) == ["One two three. ", "Four five six"]
    assert pieces("one two three four five", 20) == ["one two three four ", "five"]
    assert pieces("onetwothreefour", 10) == ["onetwothre", "efour"]


def test_a_text_is_not_cut_in_its_first_half_where_a_piece_can_be_longer() -> None:
    assert pieces("One.\n\nTwo three four five six", 20) == ["One.\n\nTwo three ", "four five six"]


def test_a_character_of_several_bytes_stays_whole() -> None:
    assert pieces("🦆" * 5, 10) == ["🦆🦆", "🦆🦆", "🦆"]


def test_a_piece_of_nothing_but_white_space_is_left_out() -> None:
    assert pieces("one" + " " * 30 + "two", 10) == ["one       ", "   two"]
