"""A memory as JSON: lossless there and back, and records from outside read or refused with a sentence."""

import contextlib
import json
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap import record
from steeltrap.errors import InvalidInput
from steeltrap.model import Importance, Link, Memory, Message
from steeltrap.model.frozen import frozen

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
TIME = st.datetimes(timezones=st.just(UTC))
UNIT = st.floats(0, 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
MEMORIES = st.builds(
    Memory,
    id=st.uuids().map(str),
    content=TEXT,
    created_at=TIME,
    updated_at=TIME,
    version=st.integers(1, 1000),
    messages=st.lists(
        st.builds(Message, role=TEXT, content=TEXT, time=st.none() | TIME, speaker=st.none() | TEXT.filter(bool)),
        max_size=3,
    ).map(tuple),
    content_type=st.sampled_from(["text", "image", "code", "json", "yaml"]),
    tier=st.sampled_from(["short_term", "long_term", "working"]),
    category=st.none() | TEXT,
    context=st.none() | TEXT,
    confidence=UNIT,
    tags=st.lists(TEXT, max_size=3).map(tuple),
    metadata=st.dictionaries(TEXT, JSON, max_size=3),
    scope=TEXT,
    source=st.sampled_from(["user_memory", "conversation"]),
    agent_id=st.none() | TEXT,
    agent_label=st.none() | TEXT,
    updated_by=st.none() | TEXT,
    imported_by=st.none() | TEXT,
    imported_at=st.none() | TIME,
    conversation_id=st.none() | TEXT,
    occurred_at=st.none() | TIME,
    occurred_until=st.none() | TIME,
    expires_at=st.none() | TIME,
    deleted_at=st.none() | TIME,
    surprise=st.none() | UNIT,
    importance=st.none() | st.builds(Importance, score=UNIT, reason=TEXT, set_at=TIME),
    pinned=st.booleans(),
    links=st.lists(st.builds(Link, target_id=TEXT, strength=UNIT, manual=st.booleans()), max_size=3).map(tuple),
    restored_version=st.none() | st.integers(1, 1000),
)


@given(MEMORIES)
def test_a_memory_comes_back_from_its_record(memory: Memory) -> None:
    written = json.loads(json.dumps(record.encode(memory), allow_nan=False))
    assert record.decode(written) == memory
    assert record.parse(written) == memory


def test_a_record_of_a_plain_memory_is_short() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert set(record.encode(Memory(id="a", content="x", created_at=noon, updated_at=noon))) == {
        "id",
        "content",
        "created_at",
        "updated_at",
    }


def test_a_time_without_a_zone_is_utc_and_one_with_is_kept_as_utc() -> None:
    times = {"created_at": "2026-01-01T12:00:00", "updated_at": "2026-01-01T14:00:00+02:00"}
    parsed = record.parse({"id": "a", "content": "x", **times})
    assert parsed.created_at == parsed.updated_at == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert parsed.updated_at.tzinfo == UTC


def test_times_inside_a_record_are_in_utc_too() -> None:
    parsed = record.parse(
        {
            **_GOOD,
            "created_at": "2026-01-01",
            "messages": [{"role": "u", "content": "c", "time": "2026-01-01T10:00:00"}],
            "importance": {"score": 1, "reason": "r", "set_at": "2026-01-01T10:00:00+02:00"},
        }
    )
    assert parsed.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert parsed.messages[0].time == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert parsed.importance is not None
    assert parsed.importance.set_at == datetime(2026, 1, 1, 8, tzinfo=UTC)


_GOOD = {"id": "a", "content": "x", "created_at": "2026-01-01T12:00:00Z", "updated_at": "2026-01-01T12:00:00Z"}


@pytest.mark.parametrize(
    ("bad", "names"),
    [
        ([], "JSON object"),
        ("text", "JSON object"),
        ({}, "id"),
        ({**_GOOD, "colour": "red"}, "colour"),
        ({**_GOOD, "content": 5}, "content"),
        ({**_GOOD, "tier": "eternal"}, "tier"),
        ({**_GOOD, "created_at": "yesterday"}, "created_at"),
        ({**_GOOD, "version": "many"}, "version"),
        ({**_GOOD, "links": [{"target_id": "b"}]}, "strength"),
        ({**_GOOD, "messages": [{"role": "user"}]}, "content"),
        ({**_GOOD, "tags": "ui"}, "tags"),
        ({**_GOOD, "metadata": [1]}, "metadata"),
        ({**_GOOD, "version": "5"}, "version"),
        ({**_GOOD, "version": True}, "version"),
        ({**_GOOD, "pinned": 1}, "pinned"),
        ({**_GOOD, "created_at": "2026"}, "created_at"),
        ({**_GOOD, "created_at": 5}, "created_at"),
        ({**_GOOD, "created_at": "0001-01-01T00:00:00+05:00"}, "created_at"),
        ({**_GOOD, "confidence": "nan"}, "confidence"),
        ({**_GOOD, "surprise": float("inf")}, "surprise"),
        ({**_GOOD, "importance": {"score": "nan", "reason": "r", "set_at": "2026-01-01"}}, "importance.score"),
        ({**_GOOD, "importance": {"score": 1, "reason": "r", "set_at": "2026-01-01", "by": 1}}, "importance.by"),
        ({**_GOOD, "importance": {"score": 1, "reason": "r", "set_at": "soon"}}, "importance.set_at"),
        ({**_GOOD, "messages": [{"role": "u", "content": "c", "bogus": 1}]}, "messages.0.bogus"),
        ({**_GOOD, "messages": [{"role": "u", "content": "c", "time": "5"}]}, "messages.0.time"),
        ({**_GOOD, "links": [{"target_id": "b", "strength": float("nan")}]}, "links.0.strength"),
        ({**_GOOD, "links": [{"target_id": "b", "strength": 1, "note": ""}]}, "links.0.note"),
        ({**_GOOD, "content": "half \ud83d"}, "`content` has half of a surrogate"),
        ({**_GOOD, "version": 10**5000}, "version"),
        ({**_GOOD, "metadata": {"a": {1, 2}}}, "metadata"),
    ],
)
def test_a_bad_record_is_refused_by_naming_the_field(bad: Any, names: str) -> None:
    with pytest.raises(InvalidInput, match=names) as refused:
        record.parse(bad)
    assert refused.value.message.endswith(".")
    assert "\n" not in refused.value.message


@given(st.dictionaries(st.sampled_from([*_GOOD, "links", "messages", "importance", "tags", "version"]), JSON))
def test_any_object_is_read_or_refused(raw: dict[str, Any]) -> None:
    with contextlib.suppress(InvalidInput):
        record.parse({**_GOOD, **raw})


def test_nouns_are_equal_by_what_they_hold_and_show_nothing_hidden():
    @frozen
    class Place:
        name: str
        key: str = field(default="", repr=False)
        seen: int = field(default=0, compare=False)

    class Else(Place):
        pass

    here, again = Place(name="a", key="k", seen=1), Place(name="a", key="k", seen=2)
    assert here == again
    assert {here: 1}[again] == 1
    assert here != Place(name="a", key="other")
    assert here != Else(name="a", key="k")
    assert here != "a"
    assert repr(here).endswith("Place(name='a', seen=1)")
    with pytest.raises(TypeError):
        hash(Place(name=[]))  # type: ignore[arg-type]
