"""Replacing: which patterns a text needs, and the text with a placeholder that names its kind for each secret."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import re2

from . import patterns
from .own import NAMED, OWN, PLACEHOLDERS
from .patterns import Allow, Rule, Span

FILE: Final = Path(__file__).parent / "gitleaks.json"
GENERIC: Final = "generic-api-key"
_LAST: Final = (GENERIC, "named-secret", "environment-secret")
"""The kinds that say least, in their order: another rule's name for the same secret is kept."""
_WORD: Final = r"(?:[A-Z]?[a-z]{2,}|[A-Z]{2,})\d{0,5}"
_IDENTIFIER: Final = Allow(
    regexes=(
        r"(?i)^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40}|[0-9a-f]{64}|sha\d{1,3}[-:=].*)$",
        rf"^[._]*{_WORD}(?:[._]*{_WORD})*[._]*$",
    ),
    unless=r"(?i)secret|passw|credential|(?:api|private|signing|encryption|master|service|access)[_ .-]?key"
    r"|(?:access|auth|bearer|refresh|api)[_ .-]?token",
)
"""A UUID, a hash or a name made of words, which is a secret only where it is called one: cache keys, commits and what
code names are not."""


class Catalogue:
    """The rules, the specific ones first, and one automaton for all of their keywords."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._by_keyword: list[list[Rule | str]] = []
        options = re2.Options()
        options.case_sensitive = False
        options.never_capture = True
        self._keywords = re2.Set.SearchSet(options)
        keywords: dict[str, list[Rule | str]] = {patterns.KEYWORD: [patterns.PRIVATE_KEY]}
        for rule in rules:
            for keyword in rule.keywords:
                keywords.setdefault(keyword, []).append(rule)
        for keyword, targets in keywords.items():
            self._add(re2.escape(keyword), targets)
        self._add(patterns.CARD_CANDIDATE, [patterns.CARD])
        self._add(patterns.IBAN_CANDIDATE, [patterns.IBAN])
        self._keywords.Compile()

    def _add(self, pattern: str, targets: list[Rule | str]) -> None:
        self._keywords.Add(pattern)
        self._by_keyword.append(targets)

    def needed(self, data: bytes) -> tuple[list[Rule], set[str]]:
        """The rules that may match, in their order, and the kinds beside them, such as `card-number`."""
        hits = self._keywords.Match(data) or ()
        targets = list(chain.from_iterable(self._by_keyword[hit] for hit in hits))
        kinds = {target for target in targets if isinstance(target, str)}
        ids = {target.id for target in targets if isinstance(target, Rule)}
        return [rule for rule in self.rules if rule.id in ids], kinds


@cache
def catalogue() -> Catalogue:
    """gitleaks' rules and our own. Patterns are compiled at their first use."""
    definitions = json.loads(FILE.read_text())
    everywhere = Allow(**definitions["allow"])
    rules = [_rule(raw, everywhere) for raw in definitions["rules"]]
    return Catalogue(sorted([*rules, *OWN], key=lambda rule: _LAST.index(rule.id) if rule.id in _LAST else -1))


def _rule(raw: dict[str, Any], everywhere: Allow) -> Rule:
    allow = (everywhere, *(Allow(**each) for each in raw.pop("allow", [])))
    if raw["id"] == GENERIC:
        allow += (_IDENTIFIER, PLACEHOLDERS)
    return Rule(**raw, allow=allow)


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
    spans = list(patterns.find_private_keys(data)) if patterns.PRIVATE_KEY in kinds else []
    spans += _matches(data, rules)
    if patterns.CARD in kinds:
        spans += patterns.find_cards(data)
    if patterns.IBAN in kinds:
        spans += patterns.find_ibans(data)
    spans = _merged(_beside_placeholders(data, spans))
    return _merged([*spans, *_beside_placeholders(data, _across_line_breaks(data, spans))])


def _beside_placeholders(data: bytes, spans: Sequence[Span]) -> list[Span]:
    """The spans that overlap no placeholder."""
    if not spans:
        return []
    placeholders = [match.span() for match in _PLACEHOLDERS.finditer(data)]
    ends = [end for _, end in placeholders]
    nearest = (bisect_right(ends, span.start) for span in spans)
    return [
        span
        for span, at in zip(spans, nearest, strict=True)
        if at == len(placeholders) or placeholders[at][0] >= span.end
    ]


def _matches(data: bytes, rules: Iterable[Rule]) -> Iterator[Span]:
    for rule in rules:
        yield from rule.find(data)


def _across_line_breaks(data: bytes, spans: list[Span]) -> list[Span]:
    text = patterns.joined(data)
    if text is None:
        return []
    # What follows a name ends with its line.
    rules = [rule for rule in catalogue().needed(text.data)[0] if rule.id != GENERIC and rule.id not in NAMED]
    return list(patterns.across_line_breaks(text, _matches(text.data, rules), spans))


def _merged(spans: Sequence[Span]) -> list[Span]:
    """One span for those that overlap, of the kind of the most specific: the first that was found."""
    merged: list[tuple[int, Span]] = []
    for place, span in sorted(enumerate(spans), key=lambda each: (each[1].start, -each[1].end)):
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
