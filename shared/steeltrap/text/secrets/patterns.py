"""Patterns: one for each kind of secret, when a match is none, and the kinds that have check digits or many lines.

Tokens that are broken over lines, escaped, or put together from strings are found in the text without what is between
their pieces.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import log2
from typing import Any, Final, Literal, NamedTuple

import re2

_QUOTES: Final = b"\"'`"
_LINE: Final = 500
"""How far a line is looked at on each side of a match: some texts are one line."""


class Span(NamedTuple):
    """A secret of a kind in UTF-8 bytes, from `start` to before `end`."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Allow:
    """The conditions under which a match is harmless: a pattern found in the secret, the match or its line, or a word
    in the secret.

    A pattern's say ends where the match has what `unless` looks for.
    """

    regexes: Sequence[str] = ()
    stopwords: Sequence[str] = ()
    target: Literal["secret", "match", "line"] = "secret"
    unless: str = ""

    @cached_property
    def _patterns(self) -> Any:
        """One automaton that only says whether: finding where would take ten times as long."""
        patterns = re2.Set.SearchSet(_options())
        for regex in self.regexes:
            patterns.Add(regex.encode())
        patterns.Compile()
        return patterns

    @cached_property
    def _words(self) -> dict[int, set[str]]:
        """The words by their length: looking up each piece of a secret is quicker than looking for each word in it."""
        words: dict[int, set[str]] = {}
        for word in self.stopwords:
            words.setdefault(len(word), set()).add(word)
        return words

    def admits(self, data: bytes, match: tuple[int, int], secret: bytes) -> bool:
        text = secret.decode().lower()
        if any(text[at : at + length] in words for length, words in self._words.items() for at in range(len(text))):
            return True
        if not self.regexes or not self._patterns.Match(self._target(data, match, secret)):
            return False
        return not self.unless or compiled(self.unless).search(data, *match) is None

    def _target(self, data: bytes, match: tuple[int, int], secret: bytes) -> bytes:
        start, end = match
        if self.target == "secret":
            return secret
        if self.target == "match":
            return data[start:end].strip(b"\n")
        before, after = data[max(0, start - _LINE) : start], data[end : end + _LINE]
        return before.rpartition(b"\n")[2] + data[start:end] + after.partition(b"\n")[0]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A pattern, the words of which a text must have one, and what is required of the secret in a match.

    The secret is the pattern's `group`; without one, its first group that matched, else the whole match.
    """

    id: str
    regex: str
    keywords: Sequence[str]
    group: int = 0
    entropy: float = 0.0
    allow: Sequence[Allow] = field(default_factory=tuple)
    ends_before: bytes = b""
    """Characters that end a sentence, and not a secret."""

    def find(self, data: bytes) -> Iterator[Span]:
        for match in compiled(self.regex).finditer(data):
            start, end = self._secret(match)
            if end - start > 2 and data[start] == data[end - 1] and data[start] in _QUOTES:
                start, end = start + 1, end - 1
            end = start + len(data[start:end].rstrip(self.ends_before)) if self.ends_before else end
            secret = data[start:end]
            if not secret or (self.entropy and entropy(secret) <= self.entropy):
                continue
            if not any(allow.admits(data, match.span(), secret) for allow in self.allow):
                yield Span(start, end, self.id)

    def _secret(self, match: Any) -> tuple[int, int]:
        groups = [self.group] if self.group else range(1, compiled(self.regex).groups + 1)
        spans = [match.span(group) for group in groups]
        start, end = next((span for span in spans if span[0] < span[1]), match.span())
        return start, end


def entropy(secret: bytes) -> float:
    """Shannon's entropy in bits per character."""
    size = len(secret)
    return -sum(count / size * log2(count / size) for count in Counter(secret).values())


@cache
def compiled(regex: str) -> Any:
    """A pattern for bytes of UTF-8, compiled at its first use.

    RE2 never backtracks: the time that a text takes grows with its length alone.
    """
    return re2.compile(regex.encode(), options=_options())


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


CARD: Final = "card-number"
# A digit of the number, with at most one separator before it.
_SEPARATOR: Final = r"(?:[ -]|\x{a0}|\x{202f}|\r?\n)"
CARD_CANDIDATE: Final = rf"\d(?:{_SEPARATOR}?\d){{13}}"

_GROUPED: Final = rf"\d{{4}}{_SEPARATOR}(?:\d{{4}}{_SEPARATOR}\d{{4}}{_SEPARATOR}\d{{4}}|\d{{6}}{_SEPARATOR}\d{{4,5}})"
_BARE: Final = r"\d{14,19}"
# What may not stand right before or after: the number would be a part of something longer.
_BEFORE: Final = re.compile(rb"[\w+*^#/&?%@.-]")
_AFTER: Final = re.compile(rb"[\w/+*^=%@#]|[.:-]\w")
_IBAN: Final = re.compile(rb"\b[A-Z]{2}\d{2}[ -]?(?:[A-Z0-9]{4}[ -])*$")
# A long number that a text calls one of these is no card's. One in groups of four is, whatever it is called.
_OTHER: Final = re.compile(
    rb"(?i)\b(?:orders?|invoices?|tracking|parcels?|shipments?|tickets?|case|ref|reference|receipt|imei|imsi|iccid|sim"
    rb"|serial|sku|ean|upc|gtin|isbn|phone|tel|mobile|fax|time|timestamp|ts|epoch|ids?|uid|pid|build|version|revision"
    rb"|offset|bytes|size|hash|checksum|seed|port|account|transaction|txn|nonce|block|height|customer|user|message"
    rb"|chat|channel|tweet|post|status|number of|rechnung|bestellung|sendung)\b[^\n]{0,16}$"
)
_CARD: Final = re.compile(
    rb"(?i)\b(?:cards?|credit|debit|visa|master ?card|amex|american express|discover|diners|pan|cvv|cvc|kreditkarte)\b"
)
_NEAR: Final = 48


def find_cards(data: bytes) -> Iterator[Span]:
    """Numbers of 14 to 19 digits, in one piece or in the groups that are printed on a card."""
    at = 0
    while (match := compiled(_GROUPED).search(data, at)) is not None:
        start, end = match.span()
        if (
            _is_card(match.group())
            and _is_whole(data, start, end)
            and not _IBAN.search(data[max(0, start - _NEAR) : start])
        ):
            yield Span(start, end, CARD)
            at = end
        else:
            at = start + 4  # the groups after the first may be a card's
    for match in compiled(_BARE).finditer(data):
        start, end = match.span()
        if _is_card(match.group()) and _is_whole(data, start, end) and not _is_called_otherwise(data, start):
            yield Span(start, end, CARD)


def _is_whole(data: bytes, start: int, end: int) -> bool:
    return not _BEFORE.match(data[max(0, start - 1) : start]) and not _AFTER.match(data, end)


def _is_called_otherwise(data: bytes, start: int) -> bool:
    near = data[max(0, start - _NEAR) : start]
    other = _OTHER.search(near)
    return other is not None and _CARD.search(near, other.start()) is None


def _is_card(candidate: bytes) -> bool:
    digits = re.sub(rb"\D", b"", candidate)
    return _has_issuer(digits.decode()) and _passes_luhn(digits) and len(set(digits)) > 1


def _has_issuer(digits: str) -> bool:
    """Whether an issuer's numbers begin so and are so long."""
    two, three, four, length = int(digits[:2]), int(digits[:3]), int(digits[:4]), len(digits)
    if digits[0] == "4" or 51 <= two <= 55 or 2221 <= four <= 2720:  # Visa, Mastercard
        return length == 16
    if two in (34, 37):  # American Express
        return length == 15
    if two == 65 or four == 6011 or 644 <= three <= 649 or 3528 <= four <= 3589:  # Discover, JCB
        return length == 16
    if two in (36, 38) or 300 <= three <= 305:  # Diners Club
        return length == 14
    return two == 62 and 16 <= length <= 19  # UnionPay


def _passes_luhn(digits: bytes) -> bool:
    values = [digit - 48 for digit in reversed(digits)]
    doubled = [value * 2 - 9 * (value > 4) for value in values[1::2]]
    return (sum(values[::2]) + sum(doubled)) % 10 == 0


IBAN: Final = "iban"
IBAN_CANDIDATE: Final = r"[A-Z]{2}\d{2}[ -]?[A-Z0-9]{4}[ -]?[A-Z0-9]{4}[ -]?[A-Z0-9]{3}"
_WRITTEN: Final = r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?"
_LENGTHS: Final = {
    each[:2]: int(each[2:])
    for each in """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
    EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26
    IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28
    NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25
    SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
    """.split()
}
"""Letters and digits of a number of each country, by the registry of SWIFT."""


def find_ibans(data: bytes) -> Iterator[Span]:
    """Numbers in one piece or in the groups of four in which they are printed."""
    for match in compiled(_WRITTEN).finditer(data):
        start = match.start()
        length = _LENGTHS.get(data[start : start + 2].decode(), 0)
        places = [at for at in range(start, match.end()) if data[at] not in b" -"][:length]
        if not length or len(places) < length:
            continue
        end = places[-1] + 1
        if not data[end : end + 1].isalnum() and _is_valid(bytes(data[at] for at in places).decode()):
            yield Span(start, end, IBAN)


def _is_valid(number: str) -> bool:
    return int("".join(str(int(letter, 36)) for letter in number[4:] + number[:4])) % 97 == 1


PRIVATE_KEY: Final = "private-key"
KEYWORD: Final = "private key"

_NAME: Final = r"[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----"
# Between two lines of a key: white space, in a JSON text its escapes, and what quotes or joins lines.
_GAP: Final = r"""(?:\s|\\+[nrt]|[>|#*"'`,;+.\\])"""
_KEY_LINE: Final = r"[A-Za-z0-9+/=]{16,}"
_HEADER: Final = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID):[^\n\\]{0,200}"
_MARKS: Final = rf"-----(BEGIN|END){_NAME}"
_CUT_AFTER: Final = rf"(?:{_GAP}{{0,20}}(?:{_HEADER}|{_KEY_LINE}))*(?:{_GAP}{{0,20}}[A-Za-z0-9+/]{{1,64}}={{1,2}})?"
_CUT_BEFORE: Final = rf"(?:{_KEY_LINE}{_GAP}{{1,20}})*(?:[A-Za-z0-9+/=]{{1,64}}{_GAP}{{0,20}})?-----END{_NAME}"
_MOST: Final = 32 * 1024


def find_private_keys(data: bytes) -> Iterator[Span]:
    """From BEGIN to its END where a key is between them; else what looks like the part of a key beside the mark."""
    marks = [(match.group(1) == b"BEGIN", match.start(), match.end()) for match in compiled(_MARKS).finditer(data)]
    first_mark: tuple[int, int] | None = None
    for is_begin, start, end in marks:
        if is_begin:
            if first_mark is not None:
                yield from _cut_after(data, *first_mark, until=start)
            first_mark = start, end
        elif first_mark is not None and start - first_mark[1] <= _MOST:
            if compiled(_KEY_LINE).search(data, first_mark[1], start):
                yield Span(first_mark[0], end, PRIVATE_KEY)
            first_mark = None
        else:
            yield from _cut_before(data, start, end)
    if first_mark is not None:
        yield from _cut_after(data, *first_mark, until=len(data))


def _cut_after(data: bytes, start: int, end: int, until: int) -> Iterator[Span]:
    match = compiled(_CUT_AFTER).match(data, end, until)
    if match is not None and compiled(_KEY_LINE).search(data, end, match.end()):
        yield Span(start, match.end(), PRIVATE_KEY)


def _cut_before(data: bytes, start: int, end: int) -> Iterator[Span]:
    first = max(0, start - _MOST)
    match = compiled(_CUT_BEFORE).search(data, first, end)
    if match is not None and compiled(_KEY_LINE).search(data, match.start(), start):
        yield Span(match.start(), end, PRIVATE_KEY)


# A line break with what may stand around it: a backslash, a string's end and the next one's start, the mark of a quote.
_BREAK: Final = r"""([ \t]{0,8}(?:\\|["'][ \t]{0,8}\+?)?[ \t]{0,8}\r?\n[ \t>|#*]{0,40}["']?)"""
_ANY: Final = r"[\w+/=.~-]"
# Between two words of which one has a digit: prose has few of these.
_TORN: Final = rf"(?:\d{_ANY}*{_BREAK}{_ANY}{{4}}|{_ANY}{{4}}{_BREAK}{_ANY}*\d)"
# Markdown's backslash before an underscore or hyphen, two strings that are added, and letters without a width.
_ADDED: Final = r"""(["'][ \t]{0,3}[+.]?[ \t]{0,3}["'])\w"""
_THIN: Final = r"([\x{200b}-\x{200d}\x{2060}\x{feff}\x{ad}]+)\w"
_SPLIT: Final = rf"{_ANY}(?:(\\+)[_-]|{_ADDED}|{_THIN})"
_ALL: Final = f"{_TORN}|{_SPLIT}"
_DIGIT: Final = re.compile(rb"\d")


@dataclass(frozen=True, slots=True)
class Joined:
    """A text without the line breaks inside what may be tokens; `starts` are the pieces' offsets in it, `origins` in
    the text."""

    data: bytes
    starts: Sequence[int]
    origins: Sequence[int]

    def origin(self, offset: int) -> int:
        piece = bisect_right(self.starts, offset) - 1
        return self.origins[piece] + offset - self.starts[piece]

    def breaks_in(self, start: int, end: int) -> list[int]:
        return list(self.starts[bisect_right(self.starts, start) : bisect_left(self.starts, end)])


def joined(data: bytes) -> Joined | None:
    """The text in which split words, and words with digits that a line break tears apart, are whole; None where there
    are none."""
    pieces: list[bytes] = []
    starts: list[int] = []
    origins: list[int] = []
    at = size = 0
    while (match := compiled(_ALL).search(data, at)) is not None:
        start, end = next(span for span in map(match.span, range(1, 6)) if span[0] >= 0)
        pieces.append(data[at:start])
        starts.append(size)
        origins.append(at)
        size += start - at
        at = end
    if not pieces:
        return None
    return Joined(b"".join([*pieces, data[at:]]), [*starts, size], [*origins, at])


def across_line_breaks(text: Joined, spans: Iterable[Span], whole: Sequence[Span]) -> Iterator[Span]:
    """The places in the text of what was found in the joined text: what only the join could show.

    `whole` is what was found in the text as it is. Such a secret goes on after the line break only where what
    follows looks random; what begins with another secret is that one.
    """
    starts = {span.start for span in whole}
    for start, end, kind in spans:
        breaks = text.breaks_in(start, end)
        if not breaks:
            continue
        first, last = text.origin(start), text.origin(end - 1) + 1
        if any(text.origin(at) in starts for at in breaks):
            continue
        if (last_end := _end_of_last(whole, first, last)) is not None:
            tail = b"".join(text.data[at:end] for at in breaks[:1] if text.origin(at) >= last_end)
            if not _is_random(tail):
                continue
        elif len(_DIGIT.findall(text.data[start:end])) < 2:
            continue
        yield Span(first, last, kind)


def _end_of_last(spans: Sequence[Span], start: int, end: int) -> int | None:
    """Where the last of the spans that overlap a place ends; None where none does. The spans are in order."""
    last = bisect_left(spans, end, key=lambda span: span.start) - 1
    return spans[last].end if last >= 0 and spans[last].end > start else None


def _is_random(tail: bytes) -> bool:
    return len(tail) >= 8 and entropy(tail) > 3 and bool(_DIGIT.search(tail)) and bool(re.search(rb"[A-Za-z]", tail))
