"""A date without a time, where a filter or another argument takes a time, is that day in the caller's zone."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clock import SettableClock
from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.mcp import TIMEZONE
from steeltrap.text.dates import day_in, first_day, start_of
from surfaces.callers import door_on
from surfaces.mcp_client import ask
from surfaces.serving import served

ME = Caller(UserRef("ana"), "default")
NOW = datetime(2026, 5, 20, 15, tzinfo=UTC)
LOS_ANGELES, TOKYO, KIRITIMATI = "America/Los_Angeles", "Asia/Tokyo", "Pacific/Kiritimati"
DAYS = [
    (LOS_ANGELES, "2026-05-12"),
    (TOKYO, "2026-05-12"),
    (KIRITIMATI, "2026-05-12"),
    ("UTC", "2026-05-12"),
    (LOS_ANGELES, "2026-03-08"),  # a day of 23 hours
    (LOS_ANGELES, "2025-11-02"),  # of 25
    ("America/Havana", "2026-03-08"),  # a day that begins at 01:00
    ("America/Havana", "2025-11-02"),  # whose midnight comes twice
    ("Pacific/Apia", "2011-12-29"),  # a day behind which one is left out
    ("Pacific/Apia", "2011-12-31"),
    ("Pacific/Kiritimati", "1995-01-01"),
    ("Pacific/Kwajalein", "1969-09-30"),  # one of 47 hours
]
LEAST = timedelta(microseconds=1)


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(datetime(2025, 10, 1, tzinfo=UTC))


@pytest.fixture
def door(tmp_path: Path, clock: SettableClock) -> Any:
    opened = door_on(tmp_path / "data", clock)
    yield opened
    opened.store.close()


def _asked(door: Door, tool: str, arguments: dict[str, Any], zone: str) -> Any:
    result = door.invoke(tool, arguments, ME, timezone=zone)
    assert result.error is None, result.error
    return result.body


def _around(day: date, zone: str) -> dict[str, datetime]:
    """The last moment before a day, its first, its last, and the first after it, by asking the clock of each hour."""
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=30)
    minutes = [at + timedelta(minutes=minute) for minute in range(85 * 60)]
    own = [each for each in minutes if each.astimezone(ZoneInfo(zone)).date() == day]
    end = own[-1] + timedelta(minutes=1)
    return {"before": own[0] - LEAST, "first": own[0], "last": end - LEAST, "after": end}


@pytest.mark.parametrize(("zone", "day"), DAYS)
def test_events_between_two_dates_are_those_of_the_callers_days(door: Door, zone: str, day: str) -> None:
    today = date.fromisoformat(day)
    next_day = str(today + timedelta(days=1))
    happened = {name: at.isoformat() for name, at in _around(today, zone).items()}
    happened |= {"the day before": str(today - timedelta(days=1)), "the day": day, "the next day": next_day}
    for name, at in happened.items():
        _asked(door, "core.save", {"content": f"swam: {name}", "occurred_at": at}, zone)
    bounds = {"occurred_after": day, "occurred_before": next_day}
    wanted = {"swam: first", "swam: last", "swam: the day"}
    listed = _asked(door, "core.list", bounds, zone)
    assert {each["content"] for each in listed["memories"]} == wanted
    assert listed["total"] == 3
    found = _asked(door, "core.search", {"query": "swam", **bounds}, zone)
    assert {each["content"] for each in found["results"]} == wanted
    shown = {each["content"]: each["occurred_at"] for each in listed["memories"]}
    assert shown["swam: the day"] == day


@pytest.mark.parametrize(("zone", "day"), DAYS)
def test_memories_saved_between_two_dates_are_those_of_the_callers_days(
    door: Door, clock: SettableClock, zone: str, day: str
) -> None:
    for name, at in _around(date.fromisoformat(day), zone).items():
        clock.jump(microseconds=(at - clock.now()) // LEAST)
        _asked(door, "core.save", {"content": f"swam: {name}"}, zone)
    clock.jump(microseconds=(NOW - clock.now()) // LEAST)
    bounds = {"created_after": day, "created_before": str(date.fromisoformat(day) + timedelta(days=1))}
    for tool in ("core.list", "records.memory_list"):
        listed = _asked(door, tool, bounds, zone)["memories"]
        assert {each["content"] for each in listed} == {"swam: first", "swam: last"}, tool
    known = _asked(door, "core.search", {"query": "swam", "as_of": day}, zone)["results"]
    assert {each["content"] for each in known} == {"swam: before", "swam: first"}
    deleted = _asked(door, "core.delete", {"older_than": day}, zone)["deleted"]
    assert len(deleted) == 1
    assert _asked(door, "records.memory_delete", {"older_than": bounds["created_before"]}, zone)["deleted_count"] == 2


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Pacific/Apia", "2011-12-30"), ("Pacific/Kwajalein", "1993-08-21"), ("Pacific/Kiritimati", "1994-12-31")],
)
def test_on_a_day_that_a_zone_leaves_out_is_only_what_happened_on_that_date_elsewhere(
    door: Door, clock: SettableClock, zone: str, day: str
) -> None:
    left_out = date.fromisoformat(day)
    before, after = str(left_out - timedelta(days=1)), str(left_out + timedelta(days=1))
    skipped = start_of(left_out, ZoneInfo(zone))
    moments = {"last": skipped - LEAST, "first": skipped}
    for name, at in {"before": before, "on it": day, "after": after, **moments}.items():
        _asked(door, "core.save", {"content": f"swam: {name}", "occurred_at": str(at)}, zone)
    for name, shown in (("last", before), ("first", after)):
        assert day_in(moments[name], ZoneInfo(zone)) == date.fromisoformat(shown)
    for since, until, wanted in (
        (before, day, {"before", "last"}),
        (day, after, {"on it"}),
        (after, str(left_out + timedelta(days=2)), {"after", "first"}),
    ):
        for names in (("occurred_after", "occurred_before"), ("happened_after", "happened_before")):
            order = {"order": "happened"} if "happened_after" in names else {}
            listed = _asked(door, "core.list", {**dict(zip(names, (since, until), strict=True)), **order}, zone)
            assert {each["content"] for each in listed["memories"]} == {f"swam: {name}" for name in wanted}
    clock.jump(microseconds=(skipped + timedelta(hours=12) - clock.now()) // LEAST)
    for question, best in ((f"What did I do on {day}?", "on it"), ("What did I do today?", None)):
        hits = _asked(door, "core.search", {"query": question}, zone)["results"]
        assert hits[0]["content"] in ({f"swam: {best}"} if best else {"swam: after", "swam: first"})
        assert "swam" in _asked(door, "agent.recall", {"query": question}, zone)


def test_a_day_without_a_time_begins_at_the_callers_midnight_for_bounds_with_a_time(door: Door) -> None:
    _asked(door, "core.save", {"content": "swam", "occurred_at": "2026-05-12"}, TOKYO)
    for zone, midnight in ((TOKYO, "2026-05-12T00:00:00+09:00"), (LOS_ANGELES, "2026-05-12T00:00:00-07:00")):
        assert _asked(door, "core.list", {"occurred_after": midnight}, zone)["total"] == 1
        assert _asked(door, "core.list", {"occurred_before": midnight}, zone)["total"] == 0
        later = (datetime.fromisoformat(midnight) + LEAST).isoformat()
        assert _asked(door, "core.list", {"occurred_after": later}, zone)["total"] == 0
        assert _asked(door, "core.list", {"occurred_before": later}, zone)["total"] == 1


def test_a_day_of_the_week_and_a_conversations_date_are_days_without_a_time(door: Door) -> None:
    saved = _asked(door, "core.save", {"content": "swam", "occurred_at": "2026-W20-2"}, LOS_ANGELES)
    assert _asked(door, "core.get", {"id": saved["id"]}, LOS_ANGELES)["occurred_at"] == "2026-05-12"
    message = {"role": "user", "content": "I swam.", "timestamp": "2026-05-12"}
    _asked(door, "episodic.add_message", {"conversation_id": "c", "message": message}, LOS_ANGELES)
    turns = {"query": "swam", "include_conversation": True}
    results = _asked(door, "core.search", turns, LOS_ANGELES)["results"]
    assert [hit["occurred_at"] for hit in results if hit["content"] != "swam"] == ["2026-05-12"]


def test_dates_that_no_zone_has_are_refused(door: Door) -> None:
    for wrong in ("2026-02-30", "0001-01-01"):
        result = door.invoke("core.list", {"created_after": wrong}, ME, timezone=TOKYO)
        assert result.error is not None
        assert result.error.code == "invalid_input"


def test_what_was_known_before_anything_was_is_told_in_the_callers_zone(door: Door) -> None:
    _asked(door, "core.save", {"content": "swam"}, LOS_ANGELES)
    found = _asked(door, "core.search", {"query": "swam", "as_of": "2025-05-12"}, LOS_ANGELES)
    assert "Nothing was stored yet at 2025-05-12 00:00;" in found["outcome"]["message"]


def _save_in_may(door: Door) -> None:
    for name, at in (("the 11th", "2026-05-12T06:59:59Z"), ("the 12th", "2026-05-12T07:00:00Z")):
        _asked(door, "core.save", {"content": name, "occurred_at": at}, "UTC")


def test_over_http_a_date_is_of_the_zone_in_the_header(door: Door) -> None:
    _save_in_may(door)
    with (
        served(create_app(door, LocalUser("ana", "default"))) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        for zone, found in ((LOS_ANGELES, ["the 12th"]), ("UTC", ["the 12th", "the 11th"])):
            reply = client.post(
                "/v1/core/list", json={"occurred_after": "2026-05-12"}, headers={"X-Steeltrap-Timezone": zone}
            )
            assert sorted(each["content"] for each in reply.json()["memories"]) == sorted(found)


def test_over_mcp_a_date_is_of_the_zone_in_meta(door: Door) -> None:
    _save_in_may(door)
    for zone, found in ((LOS_ANGELES, 1), ("UTC", 2)):

        async def listed(client: Any, zone: str = zone) -> Any:
            return await client.call_tool("list", {"occurred_after": "2026-05-12"}, meta={TIMEZONE: zone})

        assert json.loads(ask(door, "core", listed).content[0].text)["total"] == found


@given(
    st.sampled_from([LOS_ANGELES, TOKYO, KIRITIMATI, "America/Havana", "Asia/Beirut", "Australia/Lord_Howe"]),
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
)
def test_the_first_day_from_a_moment_on_is_the_first_that_begins_then_or_later(zone: str, at: datetime) -> None:
    known = ZoneInfo(zone)
    day = first_day(at, known)
    assert start_of(day, known) >= at > start_of(day - timedelta(days=1), known)
    assert first_day(start_of(day, known), known) == day_in(start_of(day, known), known)
