"""The days that a question names: "on 8 May 2023", "yesterday", "letzte Woche", "hace tres días", "昨日". Pure.

A question is read word by word, by the tables of `date_words.py`. Neighbouring words are compared with a few short
forms, so the time that it takes grows with the question's length and no faster. Weeks begin on Monday. A weekday is the
last one that is past, or also the next one where the question asks for plans, a day or month without a year may be of
any year, and "2 weeks ago" takes in three days on either side.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from ..model import Days
from ..model.frozen import frozen
from . import date_words
from .date_words import (
    EitherMention,
    Mention,
    Part,
    ago,
    end_of_month,
    few_ago,
    month_on,
    of_unit,
    recent,
    signs,
    span_of,
    weekday_of,
)
from .patterns import lazy_pattern
from .words import fold_case, normalised

MOST: Final = 8
"""Dates of one question that are looked for, the first of them."""
_LONGEST_GAP: Final = 24
_WORD: Final = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")
_GERMAN: Final = frozenset("ist ich wir was wer wo wie wann das der die es gibt und habe war nicht mein meine".split())


@frozen
class QuestionDates:
    """The days that a question is about, first to last, the pieces of it that name them, and the question without its
    relative pieces: "yesterday" only says when it was, while a date that is written out may be what it was about."""

    spans: tuple[Days, ...]
    parts: tuple[Part, ...]
    rest: str

    def days(self, most: int) -> list[date]:
        """Each of the days where they are no more than `most`, else none."""
        spans = list(dict.fromkeys(self.spans))
        if sum((last - first).days + 1 for first, last in spans) > most:
            return []
        return [first + timedelta(days=day) for first, last in spans for day in range((last - first).days + 1)]


def may_name_days(question: str) -> bool:
    """Whether it is worth reading a question: most have no word of the tables."""
    return not question.isascii() or _may_name(_WORD.findall(question.lower()))


def find_dates(question: str, today: date, years: range) -> QuestionDates | None:
    """The days that a question names, None if it names none. What has no year may be of any of `years`."""
    text = question if question.isascii() else normalised("NFKC", question)
    if not may_name_days(text):
        return None
    words = _words(text)
    mentions = [] if text.isascii() else list(islice(signs(text, today), MOST))
    if _may_name([word.text for word in words]):
        phrases = _Reading(text, words, today).dates()
        mentions += [phrase for phrase in phrases if not any(phrase.overlaps(other) for other in mentions)]
    mentions = _joined(text, sorted(mentions, key=lambda each: each.start)[:MOST], today)
    if mentions and _asks_for_plans(text):
        mentions = [_last_or_next(text, mention, today) for mention in mentions]
    parts = [part for mention in mentions for part in mention.parts(text, years)]
    if not parts:
        return None
    spans = [span for mention in mentions for span in mention.spans(years)]
    rest, end = [], 0
    for mention in mentions:
        if mention.span is None:
            continue
        rest.append(text[end : mention.start])
        end = mention.end
    return QuestionDates(spans=tuple(spans), parts=tuple(parts), rest=" ".join(" ".join([*rest, text[end:]]).split()))


class _Word(NamedTuple):
    text: str
    start: int
    end: int


def _words(text: str) -> list[_Word]:
    folded: dict[str, str] = {}
    words = []
    for match in _WORD.finditer(text):
        word = match[0]
        if word not in folded:
            folded[word] = "'" if word == "\u2019" else fold_case(word)
        words.append(_Word(folded[word], match.start(), match.end()))
    return words


_TRIGGERS: Final = frozenset(
    {
        *date_words.MONTHS,
        *date_words.WEEKDAYS,
        *date_words.FEIRAS,
        *date_words.UNITS,
        *(phrase[0] for phrase in date_words.DAYS),
        *date_words.DAY_ALONE,
        "fin",
        "fim",
        "fine",
    }
    - {"the", "le", "el", "il", "am"}
)


def _may_name(words: Sequence[str]) -> bool:
    return not _TRIGGERS.isdisjoint(words) or any(map(str.isdigit, words))


class _Reading:
    """One question, in words."""

    def __init__(self, text: str, words: list[_Word], today: date) -> None:
        self.text = text
        self.words = words
        self.today = today
        self.reads_hier_as_french = _GERMAN.isdisjoint(word.text for word in words)

    def dates(self) -> list[Mention]:
        mentions: list[Mention] = []
        at = 0
        forms: Sequence[Callable[[int], tuple[int, Mention | None] | None]] = (
            self._numeric,
            self._day_phrase,
            self._ago_before,
            self._modified,
            self._number_first,
            self._unit_first,
            self._weekday,
            self._day_and_month,
            self._month,
            self._year,
            self._day_alone,
        )
        while at < len(self.words) and len(mentions) < MOST:
            for form in forms:
                try:
                    match = form(at)
                except (OverflowError, ValueError):  # a day before the year 1 or after the year 9999
                    match = None
                if match is not None:
                    at, date_ = match
                    mentions += [] if date_ is None else [date_]
                    break
            else:
                at += 1
        return mentions

    def _at(self, at: int) -> str:
        return self.words[at].text if 0 <= at < len(self.words) else ""

    def _says(self, at: int, phrase: Sequence[str]) -> bool:
        return all(self._at(at + i) == word for i, word in enumerate(phrase))

    def _spot(self, at: int, end: int, **values: Any) -> tuple[int, Mention]:
        """A date of the words from one place to another, and the place after it."""
        return end, Mention(start=self.words[at].start, end=self.words[end - 1].end, **values)

    def _number(self, at: int) -> tuple[int, int] | None:
        """A number and the place after it; 0 stands for a few."""
        word = self._at(at)
        if word.isdigit():
            return (int(word), at + 1) if len(word) <= 4 and word.isdecimal() else None
        skip = at + 1 if word in ("a", "ein", "een") else at
        if self._at(skip) in date_words.FEW:
            end = skip + 1
            return 0, end + (self._at(end) == "de")
        if self._at(skip) == "couple":
            return 2, skip + 1 + (self._at(skip + 1) == "of")
        return (date_words.NUMBERS[word], at + 1) if word in date_words.NUMBERS else None

    def _unit(self, at: int) -> tuple[date_words.Unit, int] | None:
        for phrase in date_words.WEEKENDS:
            if self._says(at, phrase):
                return "weekend", at + len(phrase)
        unit = date_words.UNITS.get(self._at(at))
        return None if unit is None else (unit, at + 1)

    def _weekday_at(self, at: int) -> tuple[int, int] | None:
        word = self._at(at)
        if word in date_words.WEEKDAYS:
            end = at + 1
        elif word in date_words.FEIRAS and (self._says(at + 1, ("-", "feira")) or self._at(at + 1) == "feira"):
            end = at + (3 if self._at(at + 1) == "-" else 2)
        elif word in date_words.FEIRAS and self._at(at - 1) in ("na", "nesta"):
            end = at + 1
        else:
            return None
        return date_words.WEEKDAYS.get(word) or date_words.FEIRAS[word], end

    def _numeric(self, at: int) -> tuple[int, Mention | None] | None:
        """2026-05-12, 12.05.2026, 5/12/26: of the last kind both readings."""
        five = self.words[at : at + 5]
        if len(five) < 5 or not five[0].text.isdecimal() or five[1].text not in "-/.\u2010\u2011":
            return None
        if five[1].text != five[3].text or any(a.end != b.start for a, b in pairwise(five)):
            return None
        if not (five[2].text.isdecimal() and five[4].text.isdecimal()):
            return None
        texts = [five[i].text for i in (0, 2, 4)]
        if len(texts[1]) > 2 or [len(texts[0]) > 2, len(texts[2]) > 2].count(True) > 1 or max(map(len, texts)) > 4:
            return None
        if max(map(len, texts)) != 4 and (five[1].text == "." or list(map(len, texts)) != [2, 2, 2]):
            return None  # a version, a ratio, a score
        numbers = [int(text) for text in texts]
        if len(texts[0]) == 4:
            year, orders = numbers[0], [(numbers[1], numbers[2])]
        else:
            year = numbers[2] + (2000 if len(texts[2]) <= 2 else 0)
            orders = [(numbers[1], numbers[0])] + ([] if five[1].text == "." else [(numbers[0], numbers[1])])
        spans = list(dict.fromkeys(span for month, day in orders if month and (span := span_of(year, month, day))))
        if not spans:
            return at + 5, None
        # Of two readings the one that is past and nearer is meant more often, but nobody can tell.
        pieces = ((five[0].start, five[4].end, "day"),)
        first = self._spot(at, at + 5, year=year, month=spans[0][0].month, day=spans[0][0].day, pieces=pieces)
        if len(spans) == 1:
            return first
        return at + 5, EitherMention(
            start=five[0].start, end=five[4].end, year=year, pieces=pieces, readings=tuple(spans)
        )

    def _day_phrase(self, at: int) -> tuple[int, Mention | None] | None:
        for phrase in _NO_DAYS.get(self._at(at), ()):
            if self._says(at, phrase):
                return at + len(phrase), None
        for phrase in _DAYS.get(self._at(at), ()):
            if self._says(at, phrase) and (phrase != ("hier",) or self.reads_hier_as_french):
                day = self.today + timedelta(days=date_words.DAYS[phrase])
                return self._spot(at, at + len(phrase), span=(day, day))
        return None

    def _counted(self, at: int) -> tuple[int, date_words.Unit, int] | None:
        """A number and a unit, such as "three days", and the place after them."""
        if (number := self._number(at)) is None or (unit := self._unit(number[1])) is None:
            return None
        return number[0], *unit

    def _ago_before(self, at: int) -> tuple[int, Mention | None] | None:
        for phrase in date_words.AGO_BEFORE:
            if self._says(at, phrase) and (match := self._counted(at + len(phrase))) is not None:
                number, unit, end = match
                return self._spot(at, end, span=self._back(number, unit), unit=unit)
        return None

    def _back(self, number: int, unit: date_words.Unit) -> Days:
        return ago(self.today, number, unit) if number else few_ago(self.today, unit)

    def _modified(self, at: int) -> tuple[int, Mention | None] | None:
        """ "last week", "this Monday", "next May", "the last three days"."""
        word = self._at(at)
        step = (
            -1 if word in date_words.LAST else 0 if word in date_words.THIS else 1 if word in date_words.NEXT else None
        )
        if step is None:
            return None
        return self._stepped(at, at + 1, step)

    def _stepped(self, start: int, at: int, step: int) -> tuple[int, Mention | None] | None:
        if (unit := self._unit(at)) is not None:
            # "The last day of the trip" is no day before today.
            return None if unit[0] == "day" else self._spot(start, unit[1], **self._unit_values(unit[0], step))
        if step < 0 and (match := self._counted(at)) is not None:
            number, of, end = match
            return self._spot(start, end, span=recent(self.today, number or 6, of), unit=of)
        if (weekday := self._weekday_at(at)) is not None:
            return self._spot(start, weekday[1], span=weekday_of(self.today, weekday[0], step), weekday=weekday[0])
        if self._at(at) in date_words.MONTHS:
            return self._spot(start, at + 1, span=self._month_at(date_words.MONTHS[self._at(at)], step), unit="month")
        return None

    def _unit_values(self, unit: date_words.Unit, step: int) -> dict[str, Any]:
        return {"span": of_unit(self.today, unit, step), "unit": unit}

    def _month_at(self, month: int, step: int) -> Days:
        year = self.today.year
        if step < 0 and month >= self.today.month:
            year -= 1
        if step > 0 and month <= self.today.month:
            year += 1
        first = date(year, month, 1)
        return first, end_of_month(first)

    def _number_first(self, at: int) -> tuple[int, Mention | None] | None:
        """ "three days ago", "les trois derniers jours"."""
        if (match := self._counted(at)) is not None:
            number, unit, end = match
            if self._at(end) in date_words.AGO_AFTER:
                return self._spot(at, end + 1, span=self._back(number, unit), unit=unit)
            if self._at(end) in date_words.LAST and self._at(end) not in ("last", "past"):
                return self._spot(at, end + 1, span=recent(self.today, number or 6, unit), unit=unit)
            return end, None
        number_ = self._number(at)
        if number_ is not None and self._at(number_[1]) in date_words.LAST and (unit_ := self._unit(number_[1] + 1)):
            return self._spot(at, unit_[1], span=recent(self.today, number_[0] or 6, unit_[0]), unit=unit_[0])
        return None

    def _unit_first(self, at: int) -> tuple[int, Mention | None] | None:
        """ "la semana pasada", "le mois dernier", "la semana que viene"."""
        unit = self._unit(at)
        if unit is None or unit[0] == "day":
            return None
        if (step := self._step_after(unit[1])) is None:
            weekend = of_unit(self.today, "weekend", 0 if self.today.weekday() > 4 else -1)
            return self._spot(at, unit[1], span=weekend, unit="weekend") if unit[0] == "weekend" else None
        return self._spot(at, step[1], **self._unit_values(unit[0], step[0]))

    def _step_after(self, at: int) -> tuple[int, int] | None:
        word = self._at(at)
        if (unit := self._unit(at + 1)) is not None and unit[0] != "day":
            return None  # "Mai letzten Jahres"
        if word in date_words.LAST and word not in ("last", "past", "previous"):
            return -1, at + 1
        if word in date_words.NEXT and word not in ("next", "coming"):
            return 1, at + 1
        if word == "que" and self._at(at + 1) in ("viene", "vem"):
            return 1, at + 2
        return None

    def _weekday(self, at: int) -> tuple[int, Mention | None] | None:
        if (match := self._weekday_at(at)) is None:
            return None
        weekday, end = match
        step, end = self._step_after(end) or (-1, end)
        return self._spot(at, end, span=weekday_of(self.today, weekday, step), weekday=weekday, step=step)

    def _day_and_month(self, at: int) -> tuple[int, Mention | None] | None:
        """ "8 May 2023", "the 8th of May", "8. Mai", "1er mai", "el 8 de mayo de 2023", "from 3 to 8 May"."""
        word = self._at(at)
        if not (word.isdecimal() and len(word) <= 2):
            return None
        end = self._after_ordinal(at + 1)
        first, to_day = at, 0
        if (later := self._later_day(end)) is not None:
            to_day, end = later
        while self._at(end) in date_words.OF or self._at(end) == "'":
            end += 1
        month = date_words.MONTHS.get(self._at(end), 0)
        if not month or not int(word):
            return None
        pieces = [(self.words[first].start, self.words[end - 1].end, "day"), self._piece(end, "month")]
        return self._with_year(at, end + 1, pieces, month=month, day=int(word), to_day=to_day)

    def _later_day(self, at: int) -> tuple[int, int] | None:
        """The number of the last day where the first stands before it, as in "3 to 7 May"."""
        after = at + 1 + (self._at(at + 1) in date_words.FILLERS)
        if self._at(at) not in date_words.TO and self._at(at) not in date_words.AND:
            return None
        word = self._at(after)
        if not (word.isdecimal() and len(word) <= 2):
            return None
        return int(word), self._after_ordinal(after + 1)

    def _after_ordinal(self, at: int) -> int:
        return at + 1 if self._at(at) in date_words.ORDINALS and self.words[at - 1].end == self.words[at].start else at

    def _piece(self, at: int, kind: str) -> tuple[int, int, str]:
        return self.words[at].start, self.words[at].end, kind

    def _with_year(self, at: int, end: int, pieces: list[tuple[int, int, str]], **values: int) -> tuple[int, Mention]:
        year = end
        while year < end + 2 and (self._at(year) in date_words.OF or self._at(year) in (",", ".", "'")):
            year += 1
        word = self._at(year)
        if word.isdecimal() and len(word) == 4 and int(word):
            pieces, end = [*pieces, self._piece(year, "year")], year + 1
            values["year"] = int(word)
        return self._spot(at, end, pieces=tuple(pieces), unit="month", **values)

    def _month(self, at: int) -> tuple[int, Mention | None] | None:
        """ "May 2023", "May 8th, 2023", "in May", "May 3 to 7"."""
        month = date_words.MONTHS.get(self._at(at))
        if month is None:
            return None
        pieces, end, day, to_day = [self._piece(at, "month")], at + 1, 0, 0
        number = end + (self._at(end) == ".")
        if self._at(number).isdecimal() and len(self._at(number)) <= 2 and self._counted(number) is None:
            day, end = int(self._at(number)), self._after_ordinal(number + 1)
            if (later := self._later_day(end)) is not None and self._at(later[1]) not in date_words.MONTHS:
                to_day, end = later
            pieces.append((self.words[number].start, self.words[end - 1].end, "day"))
        match = self._with_year(at, end, pieces, month=month, day=day, to_day=to_day)
        is_plain = not day and len(match[1].pieces) == 1
        if is_plain and (step := self._step_after(end)) is not None:
            return self._spot(at, step[1], span=self._month_at(month, step[0]), unit="month")
        is_said = (
            self._at(at - 1) in date_words.BEFORE_A_MONTH
            or self._at(end) in date_words.LAST | date_words.THIS | date_words.NEXT
        )
        if is_plain and self._at(at) in date_words.OTHER_WORDS and not is_said:
            return None
        return match

    def _year(self, at: int) -> tuple[int, Mention | None] | None:
        word = self._at(at)
        if not (word.isdecimal() and len(word) == 4 and 1900 <= int(word) < 2100):
            return None
        return self._spot(at, at + 1, year=int(word), pieces=(self._piece(at, "year"),), unit="year")

    def _day_alone(self, at: int) -> tuple[int, Mention | None] | None:
        """ "on the 12th", "am 12.": the last one that isn't to come."""
        if self._at(at) not in date_words.DAY_ALONE or not self._at(at + 1).isdecimal() or len(self._at(at + 1)) > 2:
            return None
        ordinal = self._at(at + 2)
        is_dated = ordinal in ("st", "nd", "rd", "th", ".") if self._at(at) in ("the", "am") else ordinal == ""
        if not is_dated or (self._at(at) == "the" and self._at(at - 1) != "on"):
            return None
        if any(self._at(at + more) in date_words.MONTHS for more in (2, 3, 4)):
            return None  # with its month it is read later
        day = int(self._at(at + 1))
        for step in (0, -1, -2):
            month = month_on(self.today, step)
            span = span_of(month.year, month.month, day)
            if day and span is not None and span[0] <= self.today:
                return self._spot(at, min(at + 3, len(self.words)), span=span)
        return None


def _by_first(phrases: Sequence[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    """Phrases by their first word, the longest first."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        groups.setdefault(phrase[0], []).append(phrase)
    return groups


_DAYS: Final = _by_first(tuple(date_words.DAYS))
_NO_DAYS: Final = _by_first(date_words.NO_DAYS)


def _joined(text: str, dates: list[Mention], today: date) -> list[Mention]:
    """Dates that belong together as one: "Monday of last week", "May last year", "from Monday to Friday"."""
    mentions: list[Mention] = []
    for each in dates:
        if mentions and (merged := _merged(text, mentions[-1], each, today)) is not None:
            mentions[-1] = merged
        else:
            mentions.append(each)
    return [_since(text, mention, today) for mention in mentions]


def _merged(text: str, a: Mention, b: Mention, today: date) -> Mention | None:
    gap = text[a.end : b.start]
    if len(gap) > _LONGEST_GAP:
        return None
    words = [word.text for word in _words(gap)]
    if _is_to(words, text[max(0, a.start - 2 * _LONGEST_GAP) : a.start]):
        if b.weekday == today.isoweekday():
            b = replace(b, span=(today, today))  # asked on a Wednesday, "from Monday to Wednesday" is this week
        return replace(a, end=b.end, until=b)
    if len(words) > 4 or not all(word in date_words.FILLERS or word in _CJK_OF for word in words):
        return None
    whole: dict[str, Any] = {"start": a.start, "end": b.end}
    for day, other in ((a, b), (b, a)):
        if day.weekday and other.unit == "week" and other.span is not None and not other.weekday:
            on = other.span[0] + timedelta(days=day.weekday - 1)
            return replace(day, span=(on, on), weekday=0, **whole)
        if day.weekday and other.month and other.span is None:
            return replace(other, **whole)  # "Monday, 4 May"
        if day.month and not day.year and other.unit == "year" and (other.span or other.year):
            year = other.span[0].year if other.span else other.year
            return replace(day, year=year, **whole)
    return None


_CJK_OF: Final = frozenset({"の", "的", "의", "에", "年"})
_CJK_TO: Final = frozenset({"から", "到", "至", "부터", "에서", "~", "\u301c", "\uff5e"})


def _is_to(words: Sequence[str], before: str) -> bool:
    """Whether the words between two dates make a span of them."""
    telling = [word for word in words if word not in date_words.FILLERS or word in date_words.TO]
    if len(telling) != 1:
        return False
    if telling[0] in date_words.TO or telling[0] in _CJK_TO:
        return True
    opening = [word.text for word in _words(before)][-2:]
    return telling[0] in date_words.AND and not date_words.BETWEEN.isdisjoint(opening)


def _since(text: str, each: Mention, today: date) -> Mention:
    """The date, or all the days from it until today."""
    before = [word.text for word in _words(text[max(0, each.start - _LONGEST_GAP) : each.start])][-2:]
    is_since = bool(before) and (
        before[-1] in date_words.SINCE
        or (len(before) == 2 and before[0] in date_words.SINCE and before[1] in date_words.FILLERS)
    )
    is_since = is_since or text[each.end : each.end + 2].startswith(("以来", "以來", "이후", "부터"))
    if not is_since or each.until is not None:
        return each
    starts = [span for span in each.spans(range(today.year - 1, today.year + 1)) if span[0] <= today]
    return replace(each, span=(starts[-1][0], today), pieces=()) if starts else each


_PLANS: Final = (
    (
        lazy_pattern(
            r"(?i)\b(?:will|shall|going to|upcoming|planned|scheduled|do (?:i|we) have|have (?:i|we) got|am i|are we)\b"
            r"|\b(?:what|anything|something)(?:['\u2019]s| is)? (?:on|happening)\b"
            r"|\b(?:tengo|tenemos|tendré|habrá|hay|voy|vamos|toca|previsto)\b|予定"
        ),
        lazy_pattern(r"(?i)\b(?:did|was|were|had|happened|pasó|hice|hicimos|hizo)\b"),
    ),
    (
        lazy_pattern(r"(?i)\b(?:steht|stehen|werde|werden|wird|geplant|was ist|termine?)\b|\bvor\W*$"),
        lazy_pattern(r"(?i)\b(?:war|waren|wurde|wurden|hatte|hatten|passiert)\b"),
    ),
)
"""Words that ask for plans, and words of the past that tell otherwise; German apart, whose "was" is "what"."""
_LAST_CJK: Final = ("지난", "저번", "上")


def _asks_for_plans(text: str) -> bool:
    """Whether a question asks for what is to come, in English, German, Spanish or Japanese."""
    return any(plans.search(text) and not past.search(text) for plans, past in _PLANS)


def _last_or_next(text: str, each: Mention, today: date) -> Mention:
    """A weekday or a day's number that says nothing of which one it is, as the last one or the next; else the date as
    it is: "What do I have on Thursday?"."""
    piece = text[each.start : each.end]
    words = [word.text for word in _words(piece)]
    if each.span is None or each.until is not None or not (date_words.LAST | date_words.THIS).isdisjoint(words):
        return each
    try:
        following = None if piece.startswith(_LAST_CJK) else _next(each, words, today)
    except (OverflowError, ValueError):  # a day after the year 9999
        following = None
    if following is None:
        return each
    return EitherMention(start=each.start, end=each.end, span=each.span, readings=(each.span, following))


def _next(each: Mention, words: Sequence[str], today: date) -> Days | None:
    """The next such day after today; None for what is no weekday and no day's number, or says which one it is."""
    if each.weekday:
        is_last = each.span == weekday_of(today, each.weekday, -1)
        return weekday_of(today, each.weekday, 1) if is_last else None
    if words[0] not in date_words.DAY_ALONE or not words[1:2] or not words[1].isdecimal():
        return None
    months = (month_on(today, step) for step in range(3))
    spans = (span_of(month.year, month.month, int(words[1])) for month in months)
    return next((span for span in spans if span is not None and span[0] > today), None)
