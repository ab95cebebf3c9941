"""Which of the ranked memories are worth returning. Pure.

A score tells how well a memory fits, on the same scale for every query and every embedder: 1 for all that the query
says, 0 for unrelated text. So one floor tells questions about nothing that is known, and a share of the best score
cuts what only resembles it. docs/ranking.md has how the constants were chosen.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

from .analysis import STOP_WORDS, tokens

Precision = Literal["all", "relevant", "best"]

FLOOR: Final = 0.1
"""Below it in both legs together, the best memory is as far from the query as any text."""
UNKNOWN_NAME: Final = 0.15
"""The floor of a query that names somebody or something no memory mentions."""
NEAR_THE_BEST: Final = 0.9
"""Of the best score, what a memory has to reach to be returned beside it."""

_TOKEN: Final = re.compile(r"[^\W\d_][\w'\u2019-]*|[.?!:]")
_GERMAN: Final = frozenset(
    """auf bei das dem den der des ein eine für hat ich im ist kann mein mit nicht sind und unser von wann warum
    welche welcher welches wer wie wir wird wo zum zur""".split()
)
"""Words that are German only. In German every noun has a capital, so a capital tells no name."""


def floor(query: str, frequencies: Mapping[str, int]) -> float:
    """The score that the best memory needs for anything to be relevant. `frequencies` says how many memories have each
    token of the query."""
    return UNKNOWN_NAME if any(not _is_known(name, frequencies) for name in names(query)) else FLOOR


def names(query: str) -> list[str]:
    """The words of a query that are names by their capital, as in "where does Ana live?".

    A capital that begins a sentence tells nothing, nor one of an abbreviation, nor any in German.
    """
    found = _TOKEN.findall(query)
    if any(word.lower() in _GERMAN for word in found):
        return []
    return [
        word
        for before, word in zip([".", *found], found, strict=False)
        if before not in ".?!:" and word[0].isupper() and not word.isupper() and word.lower() not in STOP_WORDS
    ]


def _is_known(name: str, frequencies: Mapping[str, int]) -> bool:
    of_name = [token for token in tokens(name) if token in frequencies]
    return not of_name or any(frequencies[token] for token in of_name)
