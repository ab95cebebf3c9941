"""The days that a question names, among the memories that a search compares. Pure.

A word of a date counts for what happened then, as if the memory said it: "8 May 2023", "yesterday" and "gestern" alike.
It is not in the index, because on which day something happened depends on who asks.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Final

import numpy as np

from ..model import MICROS_PER_DAY, NO_TIME, Candidates, Days, from_micros
from ..text.date_questions import find_dates
from ..text.date_words import Part
from ..text.dates import bounds, day_at, floating_bounds
from ..text.words import Trait, tokens
from . import weights
from .scored import Column, has_trait

NEAR: Final = 14
"""So many days before and after the named ones are near them."""
SHORT: Final = 7
"""A time of so many days, of which all that happened may be meant, as of "last month"."""
_LONGEST_NEAR: Final = 200
"""The longest time whose neighbours count; beside a year, nothing is near enough to tell."""
_MOST_YEARS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDays:
    """The candidates, with what words of dates add to their BM25 scores, and which of them happened on the named days,
    which within 14 days of them, and which have another word of the question. The named time is short where
    it is a week at most, or is told from today."""

    candidates: Candidates
    exact: Column
    near: Column
    says_more: Column
    is_short: bool = False

    def lift(self) -> Column:
        """By how much each is meant: 1 near the named days, and 3 on them where they are few."""
        return self.near + (2.0 * self.exact if self.is_short else 0.0)


def on_days(question: str, candidates: Candidates, today: date, zone: tzinfo | None) -> OnDays | None:
    """Which candidates the days of a question are about, None where it names none that any could be of.

    What has no time of its own is of the day on which it was saved.
    """
    if not len(candidates):
        return None
    candidates = _without_days(candidates)
    when = _Times.of(candidates, zone)
    dates = find_dates(question, today, when.years())
    if dates is None:
        none = np.zeros(len(candidates), np.bool_)
        return OnDays(candidates=candidates, exact=none, near=none, says_more=none)
    weighed, says_more = _weighed(candidates, dates.parts, when)
    return OnDays(
        candidates=weighed,
        exact=when.on(dates.spans),
        near=when.near(span for span in dates.spans if not _is_year(span)),
        says_more=says_more,
        is_short=bool(dates.days(SHORT)) or all(part.relative for part in dates.parts),
    )


def _is_year(span: Days) -> bool:
    return (span[1] - span[0]).days > _LONGEST_NEAR


@dataclass(frozen=True, slots=True)
class _Times:
    """When each candidate happened, in microseconds, and whether that is a day without a time."""

    at: Column
    is_day: Column
    zone: tzinfo | None

    @classmethod
    def of(cls, candidates: Candidates, zone: tzinfo | None) -> "_Times":
        has_time = candidates.occurred != NO_TIME
        at = np.where(has_time, candidates.occurred, candidates.created)
        return cls(at, has_trait(candidates, Trait.DAY) & has_time, zone)

    def years(self) -> range:
        first, last = from_micros(int(self.at.min())).year - 1, from_micros(int(self.at.max())).year + 1
        return range(max(1, first, last - _MOST_YEARS), min(last, 9999) + 1)

    def on(self, spans: Iterable[Days]) -> Column:
        """Which happened on a day of the spans, exactly."""
        matches = np.zeros(len(self.at), np.bool_)
        for span in dict.fromkeys(spans):
            start, end, changes = bounds(span, self.zone)
            is_on = (self.at >= start) & (self.at < end)
            for change, after in changes:
                for place in np.flatnonzero((self.at >= change) & (self.at < after)).tolist():
                    is_on[place] = span[0] <= day_at(int(self.at[place]), self.zone) <= span[1]
            first, last = floating_bounds(span)
            matches |= np.where(self.is_day, (self.at >= first) & (self.at < last), is_on)
        return matches

    def near(self, spans: Iterable[Days]) -> Column:
        """Which happened within 14 days of one."""
        matches = np.zeros(len(self.at), np.bool_)
        margin = NEAR * MICROS_PER_DAY
        for span in dict.fromkeys(spans):
            start, end, _ = bounds(span, self.zone)
            matches |= (self.at >= start - margin) & (self.at < end + margin)
        return matches


def _without_days(candidates: Candidates) -> Candidates:
    """The candidates without what the index knows of days, which only brought them here: it takes in neighbours, since
    it doesn't know the zone."""
    days = [place for place, token in enumerate(candidates.frequencies) if _DAY.fullmatch(token)]
    if candidates.bm25 is None or not days:
        return candidates
    day_scores = sum((_own(candidates, place) for place in days), np.zeros(len(candidates)))
    others = [place for place in range(len(candidates.frequencies)) if place not in days]
    tokens_ = list(candidates.frequencies.items())
    return replace(
        candidates,
        bm25=_rounded(candidates.bm25 - day_scores),
        frequencies=dict(tokens_[place] for place in others),
        terms=[candidates.terms[place] for place in others] if candidates.terms else (),
    )


def _weighed(candidates: Candidates, parts: Sequence[Part], when: _Times) -> tuple[Candidates, Column]:
    """The candidates with their BM25 scores as if each said the words of its day, and which have other words."""
    if candidates.bm25 is None or not candidates.frequencies:
        return candidates, np.zeros(len(candidates), np.bool_)
    places = {token: place for place, token in enumerate(candidates.frequencies)}
    frequencies = dict(candidates.frequencies)
    of_days: dict[int, Column] = {}
    for part in parts:
        is_on = when.on(part.spans)
        for token in dict.fromkeys(tokens(part.text)):
            if token not in places:
                continue
            own = of_days.get(places[token])
            own = _own(candidates, places[token]) if own is None else own
            # Another "yesterday" is another day, but a date that is written out is what it says.
            day_scores = np.where(is_on, own, 0.0) if part.relative and is_on.any() else own
            having = day_scores > 0
            before = frequencies[token]
            lost_count = int(np.count_nonzero((own > 0) & ~having))
            count = before - lost_count + int(np.count_nonzero(is_on & ~having))
            frequencies[token] = min(max(count, 0), candidates.documents)
            idf = weights.idf(frequencies[token], candidates.documents)
            scale = idf / weights.idf(before, candidates.documents) if before else 1.0
            of_days[places[token]] = np.maximum(day_scores * scale, np.where(is_on, idf, 0.0))
    gain = sum((new - _own(candidates, place) for place, new in of_days.items()), np.zeros(len(candidates)))
    terms = list(candidates.terms) or [_NONE] * len(places)
    for place, new in of_days.items():
        terms[place] = (slots := new.nonzero()[0], new[slots])
    score = _rounded(candidates.bm25 + gain)
    others = score - sum(of_days.values(), np.zeros(len(candidates)))
    return replace(candidates, bm25=score, frequencies=frequencies, terms=terms), others > _ROUNDING


_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_NONE: Final = (np.zeros(0, np.intp), np.zeros(0))
_ROUNDING: Final = 1e-6


def _rounded(scores: Column) -> Column:
    """Scores, 0 where a difference left next to nothing."""
    return np.where(scores < _ROUNDING, 0.0, scores)


def _own(candidates: Candidates, token: int) -> Column:
    """The score that a token adds to each candidate that says it."""
    own = np.zeros(len(candidates))
    if candidates.terms:
        at, scores = candidates.terms[token]
        own[at] = scores
    return own
