"""From a stream into an index: what comes again, what becomes a dead letter, and that order does not matter."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from spaces import in_time
from steeltrap.errors import Internal, SteeltrapError, Throttled, Unavailable
from steeltrap.ports import DeadLetter, Deadline, Document, Index, Tombstone
from steeltrap.stores.dynamodb.stream import write_changes


class Refusing:
    """Takes everything but the ids that it was told to refuse."""

    def __init__(self, **refused: SteeltrapError) -> None:
        self.refused = refused
        self.down: SteeltrapError | None = None
        self.taken: list[tuple[str, int]] = []

    def write(self, documents: Sequence[Document | Tombstone], deadline: Deadline) -> dict[int, SteeltrapError]:
        if self.down is not None:
            raise self.down
        self.taken += [(each.id, each.index_version) for each in documents if each.id not in self.refused]
        return {at: self.refused[each.id] for at, each in enumerate(documents) if each.id in self.refused}


BUSY = Throttled("The index is overloaded.")
NEVER = Internal("It does not fit.", reason="mapper_parsing_exception")


def _gone(id: str, version: int = 1, user: str = "ana") -> Tombstone:
    return Tombstone(user=user, id=id, index_version=version)


def _write(index: Refusing, *documents: Tombstone, letters: Any = None) -> list[str]:
    changes = [(f"s{at}", document) for at, document in enumerate(documents)]
    keep = [].append if letters is None else letters
    return write_changes(cast(Index, index), changes, send_dead_letter=keep, deadline=in_time(1))


def test_what_was_taken_does_not_come_again() -> None:
    index = Refusing()
    assert _write(index, _gone("a"), _gone("b")) == []
    assert index.taken == [("a", 1), ("b", 1)]


def test_what_may_pass_later_comes_again_in_order() -> None:
    letters: list[DeadLetter] = []
    again = _write(Refusing(a=BUSY, c=BUSY), _gone("c"), _gone("b"), _gone("a"), letters=letters.append)
    assert again == ["s0", "s2"]
    assert letters == []


def test_a_permanent_rejection_becomes_a_dead_letter_without_its_text() -> None:
    letters: list[DeadLetter] = []
    assert _write(Refusing(b=NEVER), _gone("a"), _gone("b", 7), letters=letters.append) == []
    assert letters == [DeadLetter(user="ana", id="b", index_version=7, error="mapper_parsing_exception")]


def test_a_dead_letter_that_can_not_be_sent_leaves_its_change_to_be_retried() -> None:
    def fails(_: DeadLetter) -> None:
        raise Unavailable("The queue does not answer.")

    assert _write(Refusing(b=NEVER), _gone("a"), _gone("b"), letters=fails) == ["s1"]


def test_an_index_that_is_down_leaves_everything_to_come_again() -> None:
    index = Refusing()
    index.down = Unavailable("The index is down.")
    assert _write(index, _gone("a"), _gone("b")) == ["s0", "s1"]


def test_a_batch_that_is_permanently_rejected_becomes_dead_letters() -> None:
    index = Refusing()
    index.down = NEVER
    letters: list[DeadLetter] = []
    assert _write(index, _gone("a"), _gone("b"), letters=letters.append) == []
    assert [each.id for each in letters] == ["a", "b"]


@pytest.mark.parametrize("versions", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_of_one_memory_only_the_newest_is_written(versions: tuple[int, ...]) -> None:
    index = Refusing()
    assert _write(index, *(_gone("a", version) for version in versions), _gone("a", 1, user="bob")) == []
    assert sorted(index.taken) == [("a", 1), ("a", 3)]


def test_nothing_to_do_is_nothing_done() -> None:
    assert _write(Refusing()) == []
