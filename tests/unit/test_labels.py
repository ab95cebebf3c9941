"""The speakers' names that are left out of what a text means."""

import re
from collections.abc import Iterator, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.changes.images import without_labels

NAMES = frozenset({"Ana", "Ana Maria", "José", "Dr. No", "a", "a b"})
TEXTS = st.lists(st.sampled_from([*NAMES, *":\n\t. ,x", ": ", " ", "Ana: ", "a b: "]), max_size=30).map("".join)


class Counted(Set[str]):
    """Names that count how often one is looked up."""

    def __init__(self, names: Set[str]) -> None:
        self._names = names
        self.looks = 0

    def __contains__(self, name: object) -> bool:
        self.looks += 1
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Ana: I moved. José: Where to?", "I moved. Where to?"),
        ("Ana Maria: hello", "hello"),
        ("said Ana: hello", "said hello"),
        ("Joana: hello", "Joana: hello"),
        ("Ana:hello", "Ana:hello"),
        ("Eve: Ana:\n\n José: no", "Eve: no"),
        ("Dr. No: yes", "yes"),
        ("", ""),
    ],
)
def test_a_name_before_a_colon_is_left_out(text: str, plain: str) -> None:
    assert without_labels(text, NAMES) == plain


@given(TEXTS)
def test_labels_are_those_that_an_expression_of_all_names_finds(text: str) -> None:
    names = "|".join(sorted(map(re.escape, NAMES)))
    assert without_labels(text, NAMES) == re.sub(rf"(?:^|(?<=\s))(?:{names}):\s+", "", text)


def test_each_colon_costs_one_look_for_each_length_of_a_name() -> None:
    names = Counted({f"speaker {i:03}" for i in range(401)} | {"Ana"})
    text = "speaker 999: " * 2000 + "speaker 000 " * 2000
    assert without_labels(text, names) == text
    assert names.looks <= 2 * 2000


def test_many_lengths_of_names_take_no_more_looks_than_the_text_is_long() -> None:
    names = Counted({"a " * words + "b" for words in range(120)})
    text = "a: " * 10_000
    assert without_labels(text, names) == text
    assert names.looks <= len(text)
