"""Abbreviations: a question has the short form and the memory the long one, or the reverse. Pure.

"NYE dinner price" and "New Year's Eve: set menu, 95 dollars" share no word, and vectors of words know few short forms.
But the letters of one are the initials of the other. Three rules keep chance out, since in a long text any two letters
follow each other somewhere. A short form of the query counts only if no memory has it as a word. A long form of the
query counts only if it is written as one, "write-ahead log" or "New Year's Eve". Two initials make nothing relevant
that isn't, unless they are those of a name, "TypeScript".
"""

from collections.abc import Mapping
from typing import Final

from ..model.frozen import frozen
from ..text.patterns import lazy_pattern
from ..text.words import STOP_WORDS, tokens

MOST_LETTERS: Final = 5
_LONGEST_QUERY: Final = 400
_LONGEST_TEXT: Final = 1_000
"""Characters of the longest memory that is read: in a long one initials meet by chance."""
_MOST_SHORT: Final = 20
"""Short forms of one text that are compared: a list of tickers or airports has hundreds."""
_SHORT: Final = lazy_pattern(rf"\b(?!(?:(?<=[0-9]\s)|(?<=[0-9]\s\s))[AP]M\b)[A-Z]{{2,{MOST_LETTERS}}}\b")
"""The half of the day after an hour, as in "8:00 PM", is none, whatever space is between them."""
_WORD: Final = lazy_pattern(r"[^\W\d_]+(?:['\u2019]s\b)?")
_HUMP: Final = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
"""Between the words of a name such as TypeScript."""
_LOOKS_SHORT: Final = lazy_pattern(r"[A-Z]{2}")
_HYPHENED: Final = lazy_pattern(r"[^\W\d_]-[^\W\d_]")
_TITLED: Final = lazy_pattern(r"(?<![\w'\u2019])(?:[A-Z][\w'\u2019]+ ){2}[A-Z]")


@frozen
class Abbreviations:
    """The short forms of a query that no memory has as a word, and the query itself where it may have a long form."""

    short: tuple[str, ...]
    long: str

    def spelled_by(self, text: str) -> str:
        """The long form that a text has of a short one here, or the one here of which the text has the short form; ""
        without any."""
        if len(text) > _LONGEST_TEXT:
            return ""
        spelled = (long_form(short, text) for short in self.short)
        if long := next(filter(None, spelled), ""):
            return long
        if not self.long or text.isupper():
            return ""
        shorts = [short for short in _shorts(text) if len(short) > 2][:_MOST_SHORT]
        longs = (long_form(short, self.long) for short in shorts)
        return next(filter(_looks_long, longs), "")


def abbreviations(query: str, frequencies: Mapping[str, int]) -> Abbreviations | None:
    """The abbreviations of a query; None where it has none. `frequencies` says how many memories have each token."""
    short: tuple[str, ...] = ()
    if len(query) > _LONGEST_QUERY or (query.isupper() and len(_WORD.findall(query)) > 1):
        return None
    if _LOOKS_SHORT.search(query):
        short = tuple(word for word in _shorts(query) if not any(map(frequencies.get, tokens(word))))
    long = query if _looks_long(query) else ""
    return Abbreviations(short=short, long=long) if short or long else None


def _looks_long(text: str) -> bool:
    """Whether a text has a long form as one is written, "write-ahead log" or "New Year's Eve"."""
    return ("-" in text and _HYPHENED.search(text) is not None) or _TITLED.search(text) is not None


def _shorts(text: str) -> list[str]:
    """The words of a text that look like short forms."""
    return [word for word in dict.fromkeys(_SHORT.findall(text)) if word.lower() not in STOP_WORDS]


def is_telling(long: str) -> bool:
    """Whether so many words, or words written so, hardly have the initials of a short form by chance."""
    words = _WORD.findall(long)
    return len(words) > 2 or "-" in long or all(word[0].isupper() for word in words)


def long_form(short: str, text: str) -> str:
    """The words of a text whose initials are the letters of a short form; "" without any.

    One stop word in between may count for nothing, as in "hardware-in-the-loop" for HIL. Neither the first nor the last
    word is a stop word.
    """
    spread = _HUMP.sub(" ", text)
    words = list(_WORD.finditer(spread))
    initials = [word[0][0].upper() for word in words]
    stops = [word[0].lower() in STOP_WORDS for word in words]
    for first, initial in enumerate(initials):
        if initial == short[0] and not stops[first]:
            last = _last(short, initials, stops, first)
            if last is not None:
                return spread[words[first].start() : words[last].end()]
    return ""


def _last(short: str, initials: list[str], stops: list[bool], first: int) -> int | None:
    """The place of the last word of a long form that begins at a place."""
    at, skipped = first, 0
    for letter in short[1:]:
        at += 1
        if at < len(initials) and initials[at] != letter and stops[at] and not skipped and len(short) > 2:
            at, skipped = at + 1, 1
        if at >= len(initials) or initials[at] != letter:
            return None
    return None if stops[at] else at
