"""The text without its secrets: each becomes a placeholder that names its kind, everything else stays as it is."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from . import cards, ibans, pem, wrapped
from .catalogue import GENERIC, catalogue
from .own import NAMED
from .rule import Rule, Span

PLACEHOLDER: Final = "[redacted: {}]"
_PLACEHOLDERS: Final = re.compile(rb"\[redacted: [a-z0-9-]{1,60}\]")
_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kind of each. The secrets are kept only to tell them apart, as hashes."""

    text: str
    secrets: tuple[tuple[str, int], ...] = field(default=(), repr=False)


def redacted(text: str, name: str = "") -> Redacted:
    """The text with a placeholder such as `[redacted: aws-access-token]` for each secret.

    `name` is what the text is called where it stands, such as the key of a JSON object: patterns that look for
    `api_key = ...` see it. Redacting the answer again changes nothing. A text that isn't Unicode stays as it is.
    """
    try:
        before, data = (f'{name} = "'.encode(), text.encode()) if name else (b"", text.encode())
    except UnicodeEncodeError:
        return Redacted(text)
    after = b'"' if name else b""
    secrets: list[tuple[str, int]] = []
    for _ in range(_ROUNDS):  # without a secret, what was beside it may be seen as another
        whole = before + data + after
        spans = list(_within(_find(whole), len(before), len(whole) - len(after)))
        if not spans:
            break
        secrets += [(span.kind, hash(whole[span.start : span.end])) for span in spans]
        data = _replaced(whole, spans)[len(before) :].removesuffix(after)
    return Redacted(data.decode(), tuple(secrets)) if secrets else Redacted(text)


def _find(data: bytes) -> list[Span]:
    """The secrets in order, none of which overlaps another or a placeholder."""
    rules, kinds = catalogue().needed(data)
    found = list(pem.find(data)) if pem.KIND in kinds else []
    found += _matches(data, rules)
    if cards.KIND in kinds:
        found += cards.find(data)
    if ibans.KIND in kinds:
        found += ibans.find(data)
    found = _merged(_beside_placeholders(data, found))
    return _merged([*found, *_beside_placeholders(data, _torn(data, found))])


def _beside_placeholders(data: bytes, found: Sequence[Span]) -> list[Span]:
    """What overlaps no placeholder."""
    if not found:
        return []
    known = [match.span() for match in _PLACEHOLDERS.finditer(data)]
    ends = [end for _, end in known]
    nearest = (bisect_right(ends, span.start) for span in found)
    return [span for span, at in zip(found, nearest, strict=True) if at == len(known) or known[at][0] >= span.end]


def _matches(data: bytes, rules: Iterable[Rule]) -> Iterator[Span]:
    for rule in rules:
        yield from rule.find(data)


def _torn(data: bytes, found: list[Span]) -> list[Span]:
    text = wrapped.joined(data)
    if text is None:
        return []
    # What follows a name ends with its line.
    rules = [rule for rule in catalogue().needed(text.data)[0] if rule.id != GENERIC and rule.id not in NAMED]
    return list(wrapped.torn(text, _matches(text.data, rules), found))


def _merged(found: Sequence[Span]) -> list[Span]:
    """One span for those that overlap, of the kind of the most specific: the first that was found."""
    merged: list[tuple[int, Span]] = []
    for place, span in sorted(enumerate(found), key=lambda each: (each[1].start, -each[1].end)):
        if merged and span.start < merged[-1][1].end:
            rank, last = merged[-1]
            kind = span.kind if place < rank else last.kind
            merged[-1] = min(place, rank), Span(last.start, max(last.end, span.end), kind)
        else:
            merged.append((place, span))
    return [span for _, span in merged]


def _within(spans: Iterable[Span], start: int, end: int) -> Iterator[Span]:
    for span in spans:
        low, high = max(span.start, start), min(span.end, end)
        if low < high:
            yield Span(low, high, span.kind)


def _replaced(data: bytes, spans: Iterable[Span]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for span in spans:
        parts += [data[at : span.start], PLACEHOLDER.format(span.kind).encode()]
        at = span.end
    return b"".join([*parts, data[at:]])
