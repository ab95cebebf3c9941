"""Normal forms of any text: ordinary text is left alone, and no run of marks is long enough to be slow."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steeltrap.text import words
from steeltrap.text.words import JOINER, MOST_MARKS, fold_case, normalised, stream_safe, text_digest, tokens

MARKS = "\u0300\u0316\u0344\u0345\u05b0\u0f71\u0f73\u3099\uff9e\uff9f"
CROWDED = st.text(st.sampled_from(MARKS + "a\u1f82\u00e9\u304b\uff76"), max_size=200)
ORDINARY = [
    "Les élèves étaient très déçus, naïve café.",
    "Tiê\u0301ng Việt có nhiều dấu",
    "ﾊﾟｿｺﾝでｶﾞｽを検索",
    "שָׁלוֹם עֲלֵיכֶם",
    "بِسْمِ ٱللَّٰهِ",
    "क्षत्रिय ज्ञान",
    "བོད་ཡིག",
    "Z̵̨͓͉̺̈́͗a̷̘͐l̶̻̓g̴̲͝o̷̞͌",
    "a\u034f\u0301 か\u034f\u3099",
]


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in unicodedata.normalize("NFKD", text):
        run = run + 1 if unicodedata.combining(char) else 0
        longest = max(longest, run)
    return longest


@given(CROWDED)
@example("a" + "\u0316\u0300" * 40)
@example("\u1f82" + "\u0316" * 28)
@example("a" + "\u0344" * 16)
@example("\u0316\uff9e" * 16)
def test_no_more_than_30_marks_follow_each_other(text: str) -> None:
    assert _longest_run(stream_safe(text)) <= MOST_MARKS
    assert stream_safe(text).replace(JOINER, "") == text
    if _longest_run(text) <= MOST_MARKS:
        assert stream_safe(text) == text


@given(st.text())
def test_a_text_without_such_runs_keeps_its_normal_forms(text: str) -> None:
    assert normalised("NFKC", text) == unicodedata.normalize("NFKC", text)
    assert normalised("NFKD", text) == unicodedata.normalize("NFKD", text)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_of_any_script_is_left_alone(text: str) -> None:
    assert stream_safe(text) is text or stream_safe(text) == text
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    bare = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
    assert fold_case(text) == unicodedata.normalize("NFKC", bare)


@pytest.mark.parametrize(
    "text",
    ["a" + "\u0316\u0300" * 8000, "\u05b0\u05b1" * 8000, "\u0316\uff9e" * 6000, ("\u05b1\u05b0" * 15 + JOINER) * 500],
    ids=["European marks", "Hebrew points", "half-width voicing marks", "joiners of its own"],
)
def test_no_normalisation_meets_a_long_run_of_marks(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    met = []

    def normalize(form: str, given: str) -> str:
        # Not by normalising it, which is what takes so long.
        run = longest = 0
        for char in given:
            opens = unicodedata.combining(unicodedata.normalize("NFKD", char)[0])
            run = run + len(unicodedata.normalize("NFKD", char)) if opens else 0
            longest = max(longest, run)
        met.append(longest)
        return unicodedata.normalize(form, given)  # type: ignore[arg-type]

    monkeypatch.setattr(words, "normalize", normalize)
    tokens(text)
    text_digest(text)
    assert max(met) <= MOST_MARKS
    assert JOINER not in "".join(tokens(text))
