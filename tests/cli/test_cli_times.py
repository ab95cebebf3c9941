"""Times are the reader's own, with their zone and how long ago they were."""

import json
import time
from datetime import UTC, date, datetime, timedelta

import pytest

from steeltrap.text.dates import start_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def at(monkeypatch):
    """Set the clock."""

    def at(now):
        monkeypatch.setattr("steeltrap.runtime.local.SystemClock.now", lambda self: now)

    monkeypatch.setenv("STEELTRAP_TIMEZONE", "UTC")
    at(NOON)
    return at


def saved(run, content):
    return json.loads(run("remember", content, "--json").stdout)["id"]


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("Asia/Tokyo", "2026-03-01 21:00 JST"),
        ("Europe/Lisbon", "2026-03-01 12:00 WET"),
        ("UTC", "2026-03-01 12:00 UTC"),
    ],
)
def test_times_are_in_the_zone_of_the_settings(run, at, monkeypatch, zone, shown):
    id = saved(run, "Ana likes tea")
    monkeypatch.setenv("STEELTRAP_TIMEZONE", zone)
    for command in (("recall", "tea"), ("list",), ("get", id), ("history", id)):
        assert f"{shown}, just now" in run(*command).stdout


def test_a_command_may_name_the_zone_of_its_times(run, at, tmp_path):
    id = saved(run, "Ana likes tea")
    for command in (("recall", "tea"), ("list",), ("get", id), ("history", id)):
        assert "2026-03-01 21:00 JST, just now" in run(*command, "--timezone", "Asia/Tokyo").stdout
    run("delete", id)
    assert "deleted 2026-03-01 21:00 JST" in run("trash", "--timezone", "Asia/Tokyo").stdout
    notes = tmp_path / "notes.csv"
    notes.write_text("content,occurred_at\nAna ran,2026-02-28 22:00\n")
    run("import", str(notes), "--timezone", "America/New_York")
    assert "2026-03-01 03:00 UTC" in run("list").stdout
    assert "2026-03-01 21:00 JST" in run("imports", "--timezone", "Asia/Tokyo").stdout


def test_days_of_a_question_are_those_of_the_zone_that_the_command_names(run, at, ask):
    ask("core.save", content="Ana ran along the river", occurred_at="2026-02-27T23:30:00Z")
    ask("core.save", content="Ana ran in the woods", occurred_at="2026-02-28T23:30:00Z")
    question = "Where did Ana run on 28 February 2026?"
    for zone, on_that_day in (("UTC", "woods"), ("Asia/Tokyo", "river")):
        searched = run("call", "core.search", json.dumps({"query": question}), "--timezone", zone)
        assert on_that_day in json.loads(searched.stdout)["results"][0]["content"]
        recalled = run("recall", question, "--limit", "1", "--timezone", zone)
        assert on_that_day in recalled.stdout


@pytest.mark.parametrize("command", [("list",), ("call", "core.stats"), ("keys", "list")])
def test_a_zone_that_there_is_not_is_refused_by_the_option_that_named_it(run, data, command):
    refused = run(*command, "--timezone", "Mars/Olympus")
    assert refused.exit_code == 2
    assert refused.stderr == (
        "--timezone: no time zone is called 'Mars/Olympus'; give an IANA name such as Europe/Lisbon.\n"
    )
    assert not data.exists()


def test_times_are_in_the_machines_zone_if_no_setting_names_one(run, at, monkeypatch):
    monkeypatch.delenv("STEELTRAP_TIMEZONE")
    monkeypatch.setenv("TZ", "EST5EDT")
    time.tzset()
    try:
        saved(run, "Ana likes tea")
        assert "2026-03-01 07:00 EST, just now" in run("recall", "tea").stdout
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_a_time_that_the_machines_clocks_skip_is_after_those_before_it(run, ask, monkeypatch):
    monkeypatch.delenv("STEELTRAP_TIMEZONE", raising=False)
    monkeypatch.setenv("TZ", "EST5EDT,M3.2.0/0,M11.1.0")  # on 8 March 2026, 0:00 is 1:00
    time.tzset()
    try:
        id = json.loads(run("remember", "Ana likes tea", "--happened", "2026-03-08 00:30", "--json").stdout)["id"]
        assert ask("core.get", id=id)["occurred_at"] == "2026-03-08T05:30:00Z"
        assert start_of(date(2026, 3, 8), None) == datetime(2026, 3, 8, 5, tzinfo=UTC)
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_recall_says_how_old_a_fact_is(run, at):
    saved(run, "Ana likes tea")
    at(NOON + timedelta(days=100))
    assert "2026-03-01 12:00 UTC, 3 months ago" in run("recall", "tea").stdout


def test_yesterday_is_the_readers_yesterday(run, at, monkeypatch):
    at(NOON - timedelta(hours=2))
    saved(run, "Ana likes tea")
    at(NOON + timedelta(hours=6))
    assert ", 8 hours ago" in run("recall", "tea").stdout
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "Asia/Tokyo")
    assert ", yesterday" in run("recall", "tea").stdout


def test_recall_says_when_an_old_fact_was_changed_or_superseded(run, at, ask):
    old, changed = saved(run, "Ana lives in Lisbon"), saved(run, "Ana likes tea")
    assert "updated" not in run("list").stdout
    at(NOON + timedelta(days=400))
    ask("core.update", id=changed, content="Ana likes green tea")
    new = json.loads(run("revise", old, "Ana lives in Porto", "--json").stdout)["id"]
    at(NOON + timedelta(days=403))
    assert "2026-03-01 12:00 UTC, last year  updated 3 days ago\n" in run("recall", "green tea").stdout
    shown = run("recall", "Ana lives in Lisbon", "--superseded").stdout
    assert f"2026-03-01 12:00 UTC, last year  superseded by {new} 3 days ago\n" in shown


def test_what_is_yet_to_come_has_no_age(run, at, ask):
    ask("core.save", content="The dentist appointment", occurred_at="2026-04-01T09:00:00Z")
    assert run("recall", "dentist appointment").stdout.endswith("  2026-04-01 09:00 UTC\n")


@pytest.mark.parametrize(
    ("when", "zone"), [("0001-01-01T01:00:00Z", "America/Lima"), ("9999-12-31T23:00:00Z", "Asia/Tokyo")]
)
def test_the_ends_of_the_calendar_are_shown_in_every_zone(run, at, ask, monkeypatch, when, zone):
    ask("core.save", content="long ago, or far ahead", occurred_at=when)
    monkeypatch.setenv("STEELTRAP_TIMEZONE", zone)
    assert "UTC" in run("list").stdout


def test_what_happened_is_told_in_local_times_and_those_with_a_zone(run, at, ask, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "Asia/Tokyo")
    for when, stored in (
        ("2026-02-01 20:30", "2026-02-01T11:30:00Z"),
        ("2026-02-02T11:30Z", "2026-02-02T11:30:00Z"),
        ("2026-02-03", "2026-02-03"),
    ):
        id = json.loads(run("remember", "Ana likes tea", "--happened", when, "--json").stdout)["id"]
        assert ask("core.get", id=id)["occurred_at"] == stored
        assert run("edit", id, "--happened", "2026-02-01T09:00").exit_code == 0
        assert ask("core.get", id=id)["occurred_at"] == "2026-02-01T00:00:00Z"


def test_as_of_takes_local_times_and_those_with_a_zone(run, at, monkeypatch):
    saved(run, "Ana likes tea")
    at(NOON + timedelta(days=1))
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "Asia/Tokyo")
    found = {
        when: "Ana likes tea" in run("recall", "tea", "--as-of", when).stdout
        for when in ("2026-03-01 20:59", "2026-03-01 21:01", "2026-03-01T11:59Z", "2026-03-01T12:01Z")
    }
    assert list(found.values()) == [False, True, False, True]
    assert run("recall", "tea", "--as-of", "20260301").exit_code == 2
    assert run("recall", "tea", "--as-of", "last week").exit_code == 2


def test_an_empty_list_tells_of_superseded_memories_whose_successor_has_expired(run, at, ask):
    old = saved(run, "Ana likes tea")
    ask("core.save", content="Ana likes coffee", supersedes=[old], ttl_seconds=60)
    at(NOON + timedelta(minutes=2))
    sentence = "Only 1 superseded memory is stored (`steeltrap list --superseded`)"
    for command in (("list",), ("recall", "tea")):
        assert f"{sentence}." in run(*command).stderr.replace("\n", " ")
    assert "Ana likes tea" in run("list", "--superseded").stdout
    run("delete", saved(run, "Ana likes milk"))
    assert f"{sentence}; 1 deleted memory can be restored" in run("list").stderr.replace("\n", " ")
