"""All rules, and which of them a text needs: those of whose keywords it has one."""

import json
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import re2

from . import cards, ibans, pem
from .own import OWN, PLACEHOLDERS
from .rule import Allow, Rule

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
        keywords: dict[str, list[Rule | str]] = {pem.KEYWORD: [pem.KIND]}
        for rule in rules:
            for keyword in rule.keywords:
                keywords.setdefault(keyword, []).append(rule)
        for keyword, named in keywords.items():
            self._add(re2.escape(keyword), named)
        self._add(cards.CANDIDATE, [cards.KIND])
        self._add(ibans.CANDIDATE, [ibans.KIND])
        self._keywords.Compile()

    def _add(self, pattern: str, named: list[Rule | str]) -> None:
        self._keywords.Add(pattern)
        self._by_keyword.append(named)

    def needed(self, data: bytes) -> tuple[list[Rule], set[str]]:
        """The rules that may match, in their order, and the kinds beside them, such as `card-number`."""
        hits = self._keywords.Match(data) or ()
        found = list(chain.from_iterable(self._by_keyword[hit] for hit in hits))
        kinds = {each for each in found if isinstance(each, str)}
        ids = {each.id for each in found if isinstance(each, Rule)}
        return [rule for rule in self.rules if rule.id in ids], kinds


@cache
def catalogue() -> Catalogue:
    """gitleaks' rules and our own. Patterns are compiled at their first use."""
    given = json.loads(FILE.read_text())
    everywhere = Allow(**given["allow"])
    rules = [_rule(raw, everywhere) for raw in given["rules"]]
    return Catalogue(sorted([*rules, *OWN], key=lambda rule: _LAST.index(rule.id) if rule.id in _LAST else -1))


def _rule(raw: dict[str, Any], everywhere: Allow) -> Rule:
    allow = (everywhere, *(Allow(**each) for each in raw.pop("allow", [])))
    if raw["id"] == GENERIC:
        allow += (_IDENTIFIER, PLACEHOLDERS)
    return Rule(**raw, allow=allow)
