"""From a stream into an index: what comes again, what is put aside, and what order does not matter."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from spaces import in_time
from steeltrap.adapters.dynamodb.stream.feeding import feed
from steeltrap.errors import Internal, SteeltrapError, Throttled, Unavailable
from steeltrap.ports import Deadline, Document, Index, Parked, Tombstone


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


BUSY = Throttled("Too much to do.")
NEVER = Internal("It does not fit.", reason="mapper_parsing_exception")


def _gone(id: str, version: int = 1, user: str = "ana") -> Tombstone:
    return Tombstone(user=user, id=id, index_version=version)


def _feed(index: Refusing, *documents: Tombstone, parked: Any = None) -> list[str]:
    changes = [(f"s{at}", document) for at, document in enumerate(documents)]
    keep = [].append if parked is None else parked
    return feed(cast(Index, index), changes, park=keep, deadline=in_time(1))


def test_what_was_taken_does_not_come_again() -> None:
    index = Refusing()
    assert _feed(index, _gone("a"), _gone("b")) == []
    assert index.taken == [("a", 1), ("b", 1)]


def test_what_may_pass_later_comes_again_in_order() -> None:
    parked: list[Parked] = []
    again = _feed(Refusing(a=BUSY, c=BUSY), _gone("c"), _gone("b"), _gone("a"), parked=parked.append)
    assert again == ["s0", "s2"]
    assert parked == []


def test_what_never_will_pass_is_put_aside_without_its_text() -> None:
    parked: list[Parked] = []
    assert _feed(Refusing(b=NEVER), _gone("a"), _gone("b", 7), parked=parked.append) == []
    assert parked == [Parked(user="ana", id="b", index_version=7, error="mapper_parsing_exception")]


def test_a_refusal_that_can_not_be_put_aside_comes_again() -> None:
    def fails(_: Parked) -> None:
        raise Unavailable("The queue does not answer.")

    assert _feed(Refusing(b=NEVER), _gone("a"), _gone("b"), parked=fails) == ["s1"]


def test_an_index_that_is_down_leaves_everything_to_come_again() -> None:
    index = Refusing()
    index.down = Unavailable("The index is down.")
    assert _feed(index, _gone("a"), _gone("b")) == ["s0", "s1"]


def test_a_request_that_is_refused_whole_for_good_is_put_aside() -> None:
    index = Refusing()
    index.down = NEVER
    parked: list[Parked] = []
    assert _feed(index, _gone("a"), _gone("b"), parked=parked.append) == []
    assert [each.id for each in parked] == ["a", "b"]


@pytest.mark.parametrize("versions", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
def test_of_one_memory_only_the_newest_is_written(versions: tuple[int, ...]) -> None:
    index = Refusing()
    assert _feed(index, *(_gone("a", version) for version in versions), _gone("a", 1, user="bob")) == []
    assert sorted(index.taken) == [("a", 1), ("a", 3)]


def test_nothing_to_do_is_nothing_done() -> None:
    assert _feed(Refusing()) == []
