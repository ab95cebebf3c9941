"""Reviews: from when on one counts, and that its time and what it does to a memory are kept."""

from datetime import timedelta

import pytest
from fsrs import Card

from clock import NOON
from recollect.engine.retrievability import retrievability, reviewed
from recollect.model import Memory, Usage

MEMORY = Memory(id="a", content="x", created_at=NOON, updated_at=NOON)


def test_a_review_counts_from_a_day_after_the_last_one_on() -> None:
    day = NOON + timedelta(days=1)
    assert reviewed(MEMORY, Usage(), day - timedelta(microseconds=1)) is None
    assert reviewed(MEMORY, Usage(), day) is not None


def test_a_review_is_of_its_own_time() -> None:
    at = NOON + timedelta(days=3)
    card = reviewed(MEMORY, Usage(), at)
    assert card is not None
    assert Card.from_json(card).last_review == at
    # FSRS-6 with its default parameters, a good review three days after a first good one.
    assert Card.from_json(card).stability == pytest.approx(13.8269, abs=1e-3)
    assert retrievability(MEMORY, Usage(card=card), at) == 1
    assert retrievability(MEMORY, Usage(card=card), at + timedelta(days=30)) == pytest.approx(0.8388, abs=1e-3)
