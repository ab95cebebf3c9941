"""A date as it stands in a question, and the days of the calendar that it means. Pure."""

from dataclasses import dataclass, replace
from datetime import date, timedelta

from ..model import Days
from ..model.frozen import frozen
from .day_words import Unit


@frozen
class Part:
    """A piece of the question, and the days that it names. A `relative` one, such as "yesterday", means other days
    where a memory says it."""

    text: str
    spans: tuple[Days, ...]
    relative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A date as it stands in a question: a span, a weekday, or a day or month that may lack its year."""

    start: int
    end: int
    span: Days | None = None
    unit: Unit = "day"
    weekday: int = 0
    step: int = -1
    """Of a weekday: the last one (-1), this week's (0) or the next (1)."""
    year: int = 0
    month: int = 0
    day: int = 0
    to_day: int = 0
    until: "Mention | None" = None
    pieces: tuple[tuple[int, int, str], ...] = ()
    """Where the day's number, the month and the year stand."""

    def overlaps(self, other: "Mention") -> bool:
        return self.start < other.end and other.start < self.end

    def spans(self, years: range) -> list[Days]:
        if self.until is not None:
            return self._to(self.until, years)
        if self.span is not None:
            return [self.span]
        each = (span_of(year, self.month, self.day, self.to_day) for year in ([self.year] if self.year else years))
        return [span for span in each if span is not None]

    def _to(self, until: "Mention", years: range) -> list[Days]:
        begin = replace(self, until=None, year=self.year or until.year)
        ends = until.spans(years)
        if self.weekday:
            return [(last - timedelta(days=(last.isoweekday() - self.weekday) % 7), last) for _, last in ends]
        firsts = [max((s for s in begin.spans(years) if s[0] <= end[1]), default=None) for end in ends]
        return [(first[0], end[1]) for first, end in zip(firsts, ends, strict=True) if first is not None]

    def parts(self, text: str, years: range) -> list[Part]:
        spans = tuple(self.spans(years))
        if not spans:
            return []
        if not self.pieces or self.until is not None:
            return [Part(text=text[self.start : self.end], spans=spans, relative=self.span is not None)]
        any_year = [self.year] if self.year and self.year not in years else list(years)
        of_month = tuple(span for year in any_year if self.month and (span := span_of(year, self.month)))
        of_year = tuple(span for span in [span_of(self.year)] if span is not None) if self.year else ()
        named = {"day": spans, "month": of_month, "year": of_year}
        return [Part(text=text[at:end], spans=named[kind], relative=False) for at, end, kind in self.pieces]


@dataclass(frozen=True, slots=True, kw_only=True)
class EitherMention(Mention):
    """A date that can be read in two ways, such as 5/12/2026."""

    readings: tuple[Days, ...] = ()

    def spans(self, years: range) -> list[Days]:
        return list(self.readings)


def span_of(year: int, month: int = 0, day: int = 0, to_day: int = 0) -> Days | None:
    """The days of a year, a month, or a day, None for one that no calendar has."""
    try:
        if not month:
            return date(year, 1, 1), date(year, 12, 31)
        first = date(year, month, day or 1)
        if to_day:
            return (first, date(year, month, to_day)) if to_day >= day else None
        return (first, first) if day else (first, end_of_month(first))
    except (ValueError, OverflowError):
        return None


def end_of_month(day: date) -> date:
    after = day.replace(day=28) + timedelta(days=4)
    return after - timedelta(days=after.day)


def month_on(today: date, steps: int) -> date:
    """The first day of the month so many months on."""
    months = today.year * 12 + today.month - 1 + steps
    return date(months // 12, months % 12 + 1, 1)


def of_unit(today: date, unit: Unit, step: int) -> Days:
    """The week, weekend, month or year that many steps on."""
    monday = today - timedelta(days=today.weekday())
    match unit:
        case "day":
            return (today + timedelta(days=step),) * 2
        case "week":
            return monday + timedelta(weeks=step), monday + timedelta(weeks=step, days=6)
        case "weekend":
            saturday = monday + timedelta(weeks=step, days=5)
            return saturday, saturday + timedelta(days=1)
        case "month":
            first = month_on(today, step)
            return first, end_of_month(first)
    return date(today.year + step, 1, 1), date(today.year + step, 12, 31)


def ago(today: date, number: int, unit: Unit) -> Days:
    if unit == "week":
        day = today - timedelta(weeks=number)
        return day - timedelta(days=3), day + timedelta(days=3)
    return of_unit(today, unit, -number)


def few_ago(today: date, unit: Unit) -> Days:
    return ago(today, 6, unit)[0], ago(today, 2, unit)[1]


def recent(today: date, number: int, unit: Unit) -> Days:
    match unit:
        case "day":
            return today - timedelta(days=number), today
        case "week" | "weekend":
            return today - timedelta(weeks=number), today
        case "month":
            first = month_on(today, -number)
            return first.replace(day=min(today.day, end_of_month(first).day)), today
    return date(today.year - number, today.month, min(today.day, 28)), today


def weekday_of(today: date, weekday: int, step: int) -> Days:
    monday = today - timedelta(days=today.weekday())
    day = monday + timedelta(days=weekday - 1)
    if step < 0 and day >= today:
        day -= timedelta(weeks=1)
    if step > 0 and day <= today:
        day += timedelta(weeks=1)
    return day, day
