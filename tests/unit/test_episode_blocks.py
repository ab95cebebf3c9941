"""One memory as Markdown, whole, and the hours around which a day is told."""

from datetime import UTC, timedelta
from typing import Any

import pytest

from clock import NOON
from steeltrap.engine.conversations import Retrieved
from steeltrap.errors import InvalidInput
from steeltrap.model import Hit, Memory, Message
from steeltrap.text.dates import age
from steeltrap.toolsets.episode_markdown import details, render


@pytest.mark.parametrize(
    ("back", "phrase"),
    [
        (timedelta(hours=5, minutes=59, seconds=59), "5 hours ago"),
        (timedelta(hours=6), "yesterday"),
        (timedelta(hours=6, seconds=5), "yesterday"),
        (timedelta(hours=1, minutes=59), "1 hour ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
    ],
)
def test_six_hours_over_midnight_are_yesterday(back: timedelta, phrase: str) -> None:
    night = NOON.replace(hour=1, minute=30)
    assert age(night - back, night, UTC) == phrase


def _retrieved(score: float, surprise: float | None, **fields: Any) -> Retrieved:
    memory = Memory(id="a", created_at=NOON - timedelta(days=2), updated_at=NOON, surprise=surprise, **fields)
    return Retrieved(hit=Hit(memory=memory, score=score), relevance=score, retrievability=1.0)


SAID = (Message(role="user", content="I moved. "), Message(role="assistant", content="Where to?"))


def test_memories_are_drawn_as_blocks() -> None:
    items = [
        _retrieved(0.876, 0.7, content="User: I moved. ", messages=SAID),
        _retrieved(0.5, None, content="a\nnote", messages=SAID),
    ]
    assert render(items, details(None, None, 5), NOON) == (
        "## Memory 1 [rank: 1, score: 0.88, key moment]\n"
        "**When:** 2 days ago\n"
        "**Summary:** User: I moved.\n"
        "\n"
        "**Details:**\n"
        '- user: "I moved. "\n'
        '- assistant: "Where to?"\n'
        "\n"
        "## Memory 2 [rank: 2, score: 0.50]\n"
        "**When:** 2 days ago\n"
        "**Summary:** a note"
    )


def test_two_ways_to_ask_are_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidInput) as refused:
        details("low", 0, 5)
    assert refused.value.message == "Give `detail` or `detail_limit`, not both."


@pytest.mark.parametrize(
    ("fields", "when"),
    [
        ({}, "2 days ago"),
        ({"occurred_at": NOON - timedelta(days=5)}, "5 days ago"),
        ({"occurred_at": NOON - timedelta(days=5), "occurred_until": NOON - timedelta(days=4)}, "4 days ago"),
        ({"occurred_until": NOON - timedelta(days=4)}, "4 days ago"),
    ],
)
def test_when_is_when_it_ended_or_happened_or_was_saved(fields: dict[str, Any], when: str) -> None:
    text = render([_retrieved(0.5, None, content="x", **fields)], details(None, None, 5), NOON)
    assert f"**When:** {when}\n" in text
