"""One pattern for one kind of secret, and when a match of it is none."""

from collections import Counter
from collections.abc import Iterator, Sequence
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
    """What makes a match harmless: a pattern found in the secret, the match or its line, or a word in the secret.

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
        before, behind = data[max(0, start - _LINE) : start], data[end : end + _LINE]
        return before.rpartition(b"\n")[2] + data[start:end] + behind.partition(b"\n")[0]


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
