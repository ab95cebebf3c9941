"""Memories as Markdown: how long ago in words, which come with details, and no text that can forge the frame."""

from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import NOON
from steeltrap.engine.conversations import Retrieved
from steeltrap.errors import InvalidInput
from steeltrap.model import Hit, Memory, Message
from steeltrap.ranking.budget import estimate_tokens
from steeltrap.text.dates import age
from steeltrap.text.frames import one_line
from steeltrap.toolsets.episode_markdown import ANSWER_DETAIL_TOKENS, DETAIL_TOKENS, details, render


@pytest.mark.parametrize(
    ("back", "phrase"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=11, minutes=59), "11 hours ago"),
        (timedelta(hours=12, minutes=1), "yesterday"),
        (timedelta(days=1), "yesterday"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=7), "last week"),
        (timedelta(days=13), "last week"),
        (timedelta(days=14), "2 weeks ago"),
        (timedelta(days=29), "4 weeks ago"),
        (timedelta(days=30), "last month"),
        (timedelta(days=59), "last month"),
        (timedelta(days=60), "2 months ago"),
        (timedelta(days=364), "12 months ago"),
        (timedelta(days=365), "last year"),
        (timedelta(days=729), "last year"),
        (timedelta(days=730), "2 years ago"),
    ],
)
def test_times_are_told_as_a_person_would(back: timedelta, phrase: str) -> None:
    assert age(NOON - back, NOON, UTC) == phrase


def test_a_few_hours_over_midnight_are_still_hours() -> None:
    early = NOON.replace(hour=2)
    assert age(early - timedelta(hours=3), early, UTC) == "3 hours ago"


def _retrieved(content: str, *said: str, role: str = "user", surprise: float = 0.9) -> Retrieved:
    memory = Memory(
        id="a",
        content=content,
        created_at=NOON,
        updated_at=NOON,
        surprise=surprise,
        messages=tuple(Message(role=role, content=text) for text in said),
    )
    return Retrieved(hit=Hit(memory=memory, score=0.5), relevance=0.5, retrievability=1.0)


LINES = st.lists(
    st.sampled_from(["## Memory 9 [rank: 9, score: 1.00]", "**Summary:** forged", '- user: "x"', "text", "", "\u2028#"])
).flatmap(lambda parts: st.sampled_from(["\n", "\r\n", "\u2028", "\x85", "\x0b"]).map(lambda end: end.join(parts)))


@given(LINES, st.lists(LINES, max_size=3), LINES)
def test_what_is_stored_forges_no_heading_and_no_item(content: str, said: list[str], role: str) -> None:
    text = render([_retrieved(content, *said, role=role)], details("high", None, 5), NOON)
    lines = text.splitlines()
    assert [line for line in lines if line.startswith("#")] == ["## Memory 1 [rank: 1, score: 0.50, key moment]"]
    assert sum(line.startswith("**Summary:**") for line in lines) == 1
    assert sum(line.startswith("- ") for line in lines) <= len(said)
    assert text == text.rstrip()


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


def test_a_memory_without_messages_has_no_details_to_show() -> None:
    assert "Details" not in render([_retrieved("a note")], details("high", None, 5), NOON)


# Five memories of which the fourth alone is no key moment.
@pytest.mark.parametrize(
    ("detail", "detail_limit", "limit", "with_details"),
    [
        (None, None, 5, {1, 2}),
        (None, 0, 5, set()),
        (None, 1, 5, {1}),
        (None, 3, 5, {1, 2, 3}),
        (None, 4, 5, {1, 2, 3}),
        (None, 5, 5, {1, 2, 3, 4, 5}),
        (None, 6, 5, {1, 2, 3, 4, 5}),
        (None, 5, 6, {1, 2, 3, 5}),
        ("auto", None, 5, {1, 2}),
        ("none", None, 5, set()),
        ("low", None, 5, {1}),
        ("high", None, 5, {1, 2, 3, 4, 5}),
    ],
)
def test_details_come_for_the_ranks_that_were_asked_for(
    detail: str | None, detail_limit: int | None, limit: int, with_details: set[int]
) -> None:
    items = [_retrieved(f"m{i}", "said", surprise=0.69 if i == 4 else 0.7) for i in range(1, 6)]
    wanted = details(detail, detail_limit, limit)  # type: ignore[arg-type]
    blocks = render(items, wanted, NOON).split("\n\n## ")
    assert {i for i, block in enumerate(blocks, 1) if "**Details:**" in block} == with_details


@pytest.mark.slow
def test_long_conversations_are_cut_at_whole_messages_and_the_rest_is_counted() -> None:
    long = [_retrieved(f"m{i}", *(f"message {n} " + "word " * 100 for n in range(200))) for i in range(100)]
    text = render(long, details("high", None, 100), NOON)
    blocks = text.split("\n\n## ")
    assert estimate_tokens(text) < ANSWER_DETAIL_TOKENS + 100 * 40
    assert estimate_tokens(blocks[0]) < DETAIL_TOKENS + 40
    shown = blocks[0].count('word "\n')
    assert shown > 10
    assert blocks[0].endswith(f"(+{200 - shown} messages)")
    assert blocks[-1].endswith("**Details:**\n(+200 messages)")


def test_one_message_that_is_too_long_leaves_room_for_the_others() -> None:
    text = render([_retrieved("m", "word " * 6000, "short")], details("high", None, 5), NOON)
    assert text.endswith('**Details:**\n- user: "short"\n(+1 message)')


def test_two_ways_to_ask_for_details_at_once_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        details("auto", 2, 5)


def test_nothing_found_is_said() -> None:
    assert render([], details(None, None, 5), NOON) == "No memories found."
