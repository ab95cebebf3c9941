"""Days are the user's: in every zone the day that is asked for is the day that is shown, and a day without a time is
the same everywhere."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steeltrap.model import Candidate, Candidates, Memory, When, from_micros, to_micros
from steeltrap.ranking.on_days import on_days
from steeltrap.record import decode, encode, parse
from steeltrap.text import date_questions
from steeltrap.text.date_questions import find_dates
from steeltrap.text.dates import age, around, day_in, day_text, ends_before, minute_text, read, zone_of
from steeltrap.text.words import Trait

WEDNESDAY = date(2026, 5, 13)
ZONES = sorted(available_timezones())
NEW_YORK = ZoneInfo("America/New_York")

_hours = st.integers(min_value=-100 * 365 * 24, max_value=80 * 365 * 24)
"""Hours since 1970, from 1870 to 2050."""


def _at(at: When) -> Candidate:
    traits = 0 if isinstance(at, datetime) else int(Trait.DAY)
    return Candidate("a", 0.5, None, 0, occurred=to_micros(at), traits=traits)


def _is_on(at: When, day: date, zone: Any, today: date = WEDNESDAY) -> bool:
    found = on_days(f"what happened on {day.isoformat()}?", Candidates.of([_at(at)]), today, zone)
    return found is not None and bool(found.exact[0])


@pytest.mark.parametrize(
    ("end", "begin", "expected"),
    [
        (date(2026, 5, 12), date(2026, 5, 13), True),
        (date(2026, 5, 13), date(2026, 5, 13), False),
        (datetime(2026, 5, 13, 9, tzinfo=UTC), datetime(2026, 5, 13, 9, 0, 1, tzinfo=UTC), True),
        (datetime(2026, 5, 13, 9, tzinfo=UTC), datetime(2026, 5, 13, 9, tzinfo=UTC), False),
        (date(2026, 5, 13), datetime(2026, 5, 14, 12, tzinfo=UTC), True),
        (date(2026, 5, 13), datetime(2026, 5, 14, 11, 59, tzinfo=UTC), False),  # still the 13th on Baker Island
        (datetime(2026, 5, 12, 9, 59, tzinfo=UTC), date(2026, 5, 13), True),
        (datetime(2026, 5, 12, 10, tzinfo=UTC), date(2026, 5, 13), False),  # the 13th already on Kiritimati
        (date.max, datetime.max.replace(tzinfo=UTC), False),
        (datetime.min.replace(tzinfo=UTC), date.min, False),
    ],
)
def test_an_end_is_before_a_beginning_where_it_is_so_everywhere(end: When, begin: When, expected: bool) -> None:
    assert ends_before(end, begin) == expected


@given(st.sampled_from(ZONES), _hours, st.integers(min_value=0, max_value=3599))
@example("America/St_Johns", 357_964, 300)  # from 0:01 back to 23:01 of the day before
@example("America/Sao_Paulo", 428_331, 0)  # from midnight on to 1:00
@example("Pacific/Apia", 368_122, 0)  # a day is left out
@example("Pacific/Kiritimati", 400_000, 0)
@example("Asia/Kathmandu", 400_000, 900)
@example("Pacific/Kwajalein", -2_200, 0)  # a day comes twice
def test_in_every_zone_at_every_hour_the_day_that_is_asked_for_is_the_day_that_is_shown(
    name: str, hour: int, second: int
) -> None:
    zone, at = ZoneInfo(name), datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hour, seconds=second)
    shown = date.fromisoformat(day_text(at, zone))
    assert _is_on(at, shown, zone)
    assert not _is_on(at, shown - timedelta(days=1), zone)
    assert not _is_on(at, shown + timedelta(days=1), zone)
    [(start, end)] = around([(shown, shown)], zone)
    assert start <= to_micros(at) < end


@pytest.mark.parametrize("name", ZONES)
def test_around_every_change_of_the_clocks_the_day_that_is_asked_for_is_the_day_that_is_shown(name: str) -> None:
    zone = ZoneInfo(name)
    days = [datetime(2005, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(0, 8000, 3)]
    changes = [pair for pair in pairwise(days) if offset(pair[0], zone) != offset(pair[1], zone)]
    for pair in changes[-4:]:
        moment = change_between(*pair, zone)
        change = moment, offset(pair[0], zone), offset(pair[1], zone)
        if change in AROUND:  # most zones change with others
            continue
        AROUND.add(change)
        for hour in range(-37, 37, 2):
            at = moment + timedelta(hours=hour, minutes=59)
            assert _is_on(at, day_in(at, zone), zone), at


AROUND: set[tuple[datetime, timedelta | None, timedelta | None]] = set()
"""Changes of the clocks that were looked at: a time, and the offsets before and after it."""


def offset(at: datetime, zone: ZoneInfo) -> timedelta | None:
    return at.astimezone(zone).utcoffset()


def change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The minute of the change of the clocks between two times."""
    first = offset(before, zone)
    while after - before > timedelta(minutes=1):
        middle = before + (after - before) / 2
        before, after = (middle, after) if offset(middle, zone) == first else (before, middle)
    return after.replace(second=0, microsecond=0)


@given(st.sampled_from(ZONES), st.dates(min_value=date(1, 1, 3), max_value=date(9999, 12, 28)))
@example("Pacific/Kiritimati", date(2024, 2, 29))
@example("Etc/GMT+12", date(1960, 2, 29))
def test_a_day_without_a_time_is_the_same_day_in_every_zone(name: str, day: date) -> None:
    zone = ZoneInfo(name)
    assert day_text(day, zone) == minute_text(day, zone) == day.isoformat()
    if day.year >= 1000:
        assert _is_on(day, day, zone)
        assert not _is_on(day, day + timedelta(days=1), zone)


def test_midnight_in_utc_is_a_time() -> None:
    midnight = datetime(2026, 5, 12, tzinfo=UTC)
    assert day_text(midnight, ZoneInfo("America/Los_Angeles")) == "2026-05-11"
    assert minute_text(midnight, ZoneInfo("Asia/Tokyo")) == "2026-05-12 09:00"
    assert _is_on(midnight, date(2026, 5, 11), NEW_YORK)
    assert not _is_on(midnight, date(2026, 5, 12), NEW_YORK)


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../etc/passwd", "Europe/", "a" * 500, "\0", "Europe/Lisbon\n"])
def test_what_names_no_zone_is_none(zone: str) -> None:
    assert zone_of(zone) is None


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (date(2026, 5, 14), ""),
        (date(2026, 5, 13), "today"),
        (date(2026, 5, 12), "yesterday"),
        (date(2026, 5, 10), "3 days ago"),
        (datetime(2026, 5, 13, 16, tzinfo=UTC), ""),
        (datetime(2026, 5, 13, 3, 30, tzinfo=UTC), "yesterday"),  # 23:30 in New York
        (datetime(2026, 5, 13, 4, 30, tzinfo=UTC), "10 hours ago"),
    ],
)
def test_how_long_ago_it_was_is_told_in_the_readers_days(at: When, said: str) -> None:
    assert age(at, datetime(2026, 5, 13, 15, tzinfo=UTC), NEW_YORK) == said


# What is stored


def memory(**more: Any) -> Memory:
    at = datetime(2026, 5, 13, tzinfo=UTC)
    return Memory(id="6f0a1f1e-3a61-4d0e-9a5f-5c5a4d1f7b10", content="x", created_at=at, updated_at=at, **more)


def test_a_day_is_stored_and_read_as_a_day_and_a_time_as_a_time() -> None:
    for at in (date(2026, 5, 12), datetime(2026, 5, 12, tzinfo=UTC), datetime(2026, 5, 12, 7, 1, 2, 3, tzinfo=UTC)):
        record = encode(memory(occurred_at=at, occurred_until=at))
        assert decode(record).occurred_at == at == parse(record).occurred_until
        assert type(decode(record).occurred_at) is type(at) is type(parse(record).occurred_at)
    assert record["occurred_at"] == "2026-05-12T07:01:02.000003Z"
    assert read("2026-05-12") == date(2026, 5, 12)


def test_a_date_that_was_stored_as_midnight_before_days_were_stays_a_day() -> None:
    old = encode(memory()) | {"occurred_at": "2026-05-12T00:00:00+00:00"}
    assert decode(old).occurred_at == parse(old).occurred_at == date(2026, 5, 12)
    assert parse(old | {"occurred_at": "2026-05-12T00:00:00Z"}).occurred_at == datetime(2026, 5, 12, tzinfo=UTC)


# What a question names


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        # Dates
        ("on 8 May 2025", "2025-05-08", "2025-05-08"),
        ("on May 8th, 2025", "2025-05-08", "2025-05-08"),
        ("the 8th of May 2025", "2025-05-08", "2025-05-08"),
        ("el 8 de mayo de 2025", "2025-05-08", "2025-05-08"),
        ("am 8. Mai 2025", "2025-05-08", "2025-05-08"),
        ("le 1er mai 2025", "2025-05-01", "2025-05-01"),
        ("il 12 maggio 2025", "2025-05-12", "2025-05-12"),
        ("8 de maio de 2025", "2025-05-08", "2025-05-08"),
        ("8 mei 2025", "2025-05-08", "2025-05-08"),
        ("2025年5月8日に", "2025-05-08", "2025-05-08"),
        ("２０２５年５月８日", "2025-05-08", "2025-05-08"),
        ("2025년 5월 8일", "2025-05-08", "2025-05-08"),
        ("on 2024-02-29", "2024-02-29", "2024-02-29"),
        ("12.05.2025", "2025-05-12", "2025-05-12"),
        ("25/12/2025", "2025-12-25", "2025-12-25"),
        ("in December 2025", "2025-12-01", "2025-12-31"),
        ("in 2024", "2024-01-01", "2024-12-31"),
        ("on the 12th", "2026-05-12", "2026-05-12"),
        ("am 20.", "2026-04-20", "2026-04-20"),
        # Days
        ("what did I do yesterday?", "2026-05-12", "2026-05-12"),
        ("the day before yesterday", "2026-05-11", "2026-05-11"),
        ("this morning", "2026-05-13", "2026-05-13"),
        ("tomorrow", "2026-05-14", "2026-05-14"),
        ("Was habe ich gestern gemacht?", "2026-05-12", "2026-05-12"),
        ("vorgestern", "2026-05-11", "2026-05-11"),
        ("heute Morgen", "2026-05-13", "2026-05-13"),
        ("übermorgen", "2026-05-15", "2026-05-15"),
        ("¿Qué hice ayer?", "2026-05-12", "2026-05-12"),
        ("anteayer", "2026-05-11", "2026-05-11"),
        ("esta mañana", "2026-05-13", "2026-05-13"),
        ("Qu'est-ce que j'ai fait hier ?", "2026-05-12", "2026-05-12"),
        ("avant-hier", "2026-05-11", "2026-05-11"),
        ("aujourd’hui", "2026-05-13", "2026-05-13"),
        ("o que fiz ontem?", "2026-05-12", "2026-05-12"),
        ("cosa ho fatto ieri?", "2026-05-12", "2026-05-12"),
        ("l'altro ieri", "2026-05-11", "2026-05-11"),
        ("wat deed ik gisteren?", "2026-05-12", "2026-05-12"),
        ("昨日は何をした？", "2026-05-12", "2026-05-12"),
        ("一昨日", "2026-05-11", "2026-05-11"),
        ("昨天我做了什么", "2026-05-12", "2026-05-12"),
        ("어제 뭐 했어?", "2026-05-12", "2026-05-12"),
        # Weeks, months, years
        ("last week", "2026-05-04", "2026-05-10"),
        ("this week", "2026-05-11", "2026-05-17"),
        ("letzte Woche", "2026-05-04", "2026-05-10"),
        ("in der vergangenen Woche", "2026-05-04", "2026-05-10"),
        ("la semana pasada", "2026-05-04", "2026-05-10"),
        ("la semaine dernière", "2026-05-04", "2026-05-10"),
        ("na semana passada", "2026-05-04", "2026-05-10"),
        ("la settimana scorsa", "2026-05-04", "2026-05-10"),
        ("vorige week", "2026-05-04", "2026-05-10"),
        ("先週", "2026-05-04", "2026-05-10"),
        ("上个星期", "2026-05-04", "2026-05-10"),
        ("지난주에", "2026-05-04", "2026-05-10"),
        ("last weekend", "2026-05-09", "2026-05-10"),
        ("am Wochenende", "2026-05-09", "2026-05-10"),
        ("el fin de semana pasado", "2026-05-09", "2026-05-10"),
        ("last month", "2026-04-01", "2026-04-30"),
        ("letzten Monat", "2026-04-01", "2026-04-30"),
        ("el mes pasado", "2026-04-01", "2026-04-30"),
        ("先月", "2026-04-01", "2026-04-30"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("l'année dernière", "2025-01-01", "2025-12-31"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("last May", "2025-05-01", "2025-05-31"),
        ("May last year", "2025-05-01", "2025-05-31"),
        ("im Mai letzten Jahres", "2025-05-01", "2025-05-31"),
        ("去年の5月", "2025-05-01", "2025-05-31"),
        # Weekdays
        ("on Monday", "2026-05-11", "2026-05-11"),
        ("on Wednesday", "2026-05-06", "2026-05-06"),
        ("last Friday", "2026-05-08", "2026-05-08"),
        ("next Monday", "2026-05-18", "2026-05-18"),
        ("am Montag", "2026-05-11", "2026-05-11"),
        ("el lunes pasado", "2026-05-11", "2026-05-11"),
        ("lundi dernier", "2026-05-11", "2026-05-11"),
        ("na segunda-feira", "2026-05-11", "2026-05-11"),
        ("lunedì scorso", "2026-05-11", "2026-05-11"),
        ("月曜日に", "2026-05-11", "2026-05-11"),
        ("周一", "2026-05-11", "2026-05-11"),
        ("월요일에", "2026-05-11", "2026-05-11"),
        ("on Monday of last week", "2026-05-04", "2026-05-04"),
        ("先週の月曜日", "2026-05-04", "2026-05-04"),
        ("上周一", "2026-05-04", "2026-05-04"),
        # So long ago
        ("three days ago", "2026-05-10", "2026-05-10"),
        ("3 days ago", "2026-05-10", "2026-05-10"),
        ("vor drei Tagen", "2026-05-10", "2026-05-10"),
        ("hace tres días", "2026-05-10", "2026-05-10"),
        ("il y a trois jours", "2026-05-10", "2026-05-10"),
        ("há três dias", "2026-05-10", "2026-05-10"),
        ("tre giorni fa", "2026-05-10", "2026-05-10"),
        ("3 dagen geleden", "2026-05-10", "2026-05-10"),
        ("3日前", "2026-05-10", "2026-05-10"),
        ("三天前", "2026-05-10", "2026-05-10"),
        ("사흘 전", "2026-05-10", "2026-05-10"),
        ("two weeks ago", "2026-04-26", "2026-05-02"),
        ("vor zwei Monaten", "2026-03-01", "2026-03-31"),
        ("a year ago", "2025-01-01", "2025-12-31"),
        ("in the last three days", "2026-05-10", "2026-05-13"),
        ("les trois derniers jours", "2026-05-10", "2026-05-13"),
        ("a few days ago", "2026-05-07", "2026-05-11"),
        # Spans
        ("from 3 to 7 May 2026", "2026-05-03", "2026-05-07"),
        ("vom 3. bis 7. Mai 2026", "2026-05-03", "2026-05-07"),
        ("entre el 3 y el 7 de mayo de 2026", "2026-05-03", "2026-05-07"),
        ("May 3-7, 2026", "2026-05-03", "2026-05-07"),
        ("from May to July 2025", "2025-05-01", "2025-07-31"),
        ("between Monday and Wednesday", "2026-05-11", "2026-05-13"),
        ("since Monday", "2026-05-11", "2026-05-13"),
        ("seit März", "2026-03-01", "2026-05-13"),
    ],
)
def test_days_are_read_as_people_say_them(question: str, first: str, last: str) -> None:
    found = find_dates(question, WEDNESDAY, range(2026, 2027))
    assert found is not None
    assert [(a.isoformat(), b.isoformat()) for a, b in found.spans] == [(first, last)]


@pytest.mark.parametrize(
    "question",
    [
        "",
        "may I march?",
        "31 February 2024",
        "2024-13-01",
        "0 May 0000",
        "the 8th",
        "Was gibt es hier?",
        "Guten Morgen",
        "the last day of the trip",
        "version 1.2.3",
        "99999999999999 days ago",
        "9999 years ago",
        "先生に何を言った",
        "何時",
        "what does the user eat?",
    ],
)
def test_what_is_no_day_names_none(question: str) -> None:
    assert find_dates(question, WEDNESDAY, range(2026, 2027)) is None


def test_a_month_without_a_year_is_of_any_year() -> None:
    found = find_dates("in february", WEDNESDAY, range(2024, 2026))
    assert found is not None
    assert [(a.isoformat(), b.isoformat()) for a, b in found.spans] == [
        ("2024-02-01", "2024-02-29"),
        ("2025-02-01", "2025-02-28"),
    ]


def test_a_date_that_can_be_read_in_two_ways_is_looked_for_in_both() -> None:
    found = find_dates("5/12/2025", WEDNESDAY, range(2026, 2027))
    assert found is not None
    assert sorted(day.isoformat() for day, _ in found.spans) == ["2025-05-12", "2025-12-05"]


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What do I have on Monday?", ["2026-05-11", "2026-05-18"]),
        ("what's on Wednesday", ["2026-05-06", "2026-05-20"]),
        ("What is planned on the 20th?", ["2026-04-20", "2026-05-20"]),
        ("Am I free on the 31st?", ["2026-03-31", "2026-05-31"]),
        ("Was steht am Montag an?", ["2026-05-11", "2026-05-18"]),
        ("Was habe ich am Montag vor?", ["2026-05-11", "2026-05-18"]),
        ("Was ist am 20.?", ["2026-04-20", "2026-05-20"]),
        ("¿Qué tengo el lunes?", ["2026-05-11", "2026-05-18"]),
        ("月曜日の予定は？", ["2026-05-11", "2026-05-18"]),
        ("What did I do on Monday?", ["2026-05-11"]),
        ("What was planned on Monday?", ["2026-05-11"]),
        ("What do we have from last Monday?", ["2026-05-11"]),
        ("What do I have on Monday of last week?", ["2026-05-04"]),
        ("What do I have this Monday?", ["2026-05-11"]),
        ("Was habe ich am Montag gemacht?", ["2026-05-11"]),
        ("Was ist am Montag passiert?", ["2026-05-11"]),
        ("¿Qué hice el lunes?", ["2026-05-11"]),
        ("上周一的予定", ["2026-05-04"]),
    ],
)
def test_a_weekday_or_a_number_of_which_plans_are_asked_for_is_the_last_or_the_next(
    question: str, days: list[str]
) -> None:
    found = find_dates(question, WEDNESDAY, range(2026, 2027))
    assert found is not None
    assert [(first.isoformat(), last.isoformat()) for first, last in found.spans] == [(day, day) for day in days]


def test_plans_at_the_end_of_all_days_are_read() -> None:
    for question in ("What do I have on Monday?", "What is on the 31st?"):
        found = find_dates(question, date.max, range(9999, 10000))
        assert found is not None
        assert len(found.spans) == 1


def test_the_words_of_a_relative_day_are_not_what_is_asked_about() -> None:
    found = find_dates("Who did I run with on 12 May 2026, in the park?", WEDNESDAY, range(2026, 2027))
    assert found is not None
    assert [part.text for part in found.parts] == ["12", "May", "2026"]
    found = find_dates("Who did I run with last week, in the park?", WEDNESDAY, range(2026, 2027))
    assert found is not None
    assert found.rest == "Who did I run with , in the park?"


@given(st.text(max_size=200), st.dates(), st.integers(min_value=1, max_value=9998))
@example("yesterday 昨日 9999年12月31日", date.min, 1)
@example("last year, next year, in 3 years", date.max, 9998)
def test_any_text_on_any_day_is_read(text: str, today: date, year: int) -> None:
    found = find_dates(text, today, range(year, year + 2))
    assert found is None or all(first <= last for first, last in found.spans)


@pytest.mark.parametrize(
    "piece", ["1 ", "may ", "il y a ", "the ", "last ", "of ", "1-", "fin de ", "上", "1月", "a ein "]
)
def test_a_question_of_many_words_is_read_in_linear_time(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    at = date_questions._Reading._at

    def counted(self: Any, place: int) -> str:
        nonlocal steps
        steps += 1
        return at(self, place)

    monkeypatch.setattr(date_questions._Reading, "_at", counted)
    counts = []
    for size in (400, 800):
        steps = 0
        find_dates(piece * size + "monday", WEDNESDAY, range(2026, 2027))
        counts.append(steps)
    assert counts[1] <= 2 * counts[0] + 200


# Among candidates


def test_a_relative_word_in_a_memory_means_another_day() -> None:
    rows = [
        Candidate("then", 0.5, 0.0, 0, occurred=to_micros(date(2026, 5, 12)), traits=int(Trait.DAY)),
        Candidate("says so", 0.5, 2.0, 0, occurred=to_micros(date(2026, 4, 1)), traits=int(Trait.DAY), terms={0: 2.0}),
    ]
    found = on_days("yesterday", Candidates.of(rows, documents=9, frequencies={"yesterday": 1}), WEDNESDAY, UTC)
    assert found is not None
    assert found.candidates.bm25 is not None
    assert found.candidates.bm25[0] > 0 == found.candidates.bm25[1]
    assert found.exact.tolist() == [True, False]


def test_a_date_that_a_memory_writes_out_counts_beside_what_happened_then() -> None:
    rows = [
        Candidate("then", 0.5, 0.0, 0, occurred=to_micros(datetime(2026, 5, 13, 1, tzinfo=UTC))),
        Candidate("says so", 0.5, 2.0, 0, occurred=to_micros(date(2026, 1, 1)), traits=int(Trait.DAY), terms={0: 2.0}),
    ]
    candidates = Candidates.of(rows, documents=9, frequencies={"12": 1, "may": 0})
    found = on_days("12 May 2026", candidates, WEDNESDAY, NEW_YORK)
    assert found is not None
    assert found.candidates.bm25 is not None
    assert found.candidates.frequencies == {"12": 2, "may": 1}
    assert (found.candidates.bm25 > 0).all()


def test_what_has_no_time_of_its_own_is_of_the_day_on_which_it_was_saved() -> None:
    row = Candidate("a", 0.5, None, to_micros(datetime(2026, 5, 13, 1, tzinfo=UTC)))
    found = on_days("yesterday", Candidates.of([row]), WEDNESDAY, NEW_YORK)
    assert found is not None
    assert found.exact.all()
    assert from_micros(row.created).date() == WEDNESDAY
