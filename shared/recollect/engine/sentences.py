"""Splitting text into sentences and choosing those that say most. Pure."""

import re
from collections import Counter
from collections.abc import Callable
from math import log
from typing import Final

from .analysis import tokens

_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[\u3002\uff01\uff1f])[\u300d\u300f\uff09]*\s*|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, trimmed; Japanese full stops end one too."""
    return [part.strip() for part in _END.split(text) if part and part.strip()]


def extract(text: str, budget: int) -> str:
    """The sentences that say most, in their order, joined by spaces, within `budget` characters.

    A sentence's worth is the mean weight of its distinct tokens, a token's weight being its share of
    sentences that mention it (log-damped); the opening sentence and dates and figures count a little
    more, repeats count once. A text within the budget is returned as it is; when not even one
    sentence fits, the best one is cut at a word.
    """
    if len(text) <= budget:
        return text
    parts = list(dict.fromkeys(sentences(text)))
    ranked = sorted(range(len(parts)), key=_worth(parts), reverse=True)
    chosen: list[int] = []
    room = budget
    for i in ranked:
        cost = len(parts[i]) + (1 if chosen else 0)
        if cost <= room:
            chosen.append(i)
            room -= cost
    if not chosen:
        return cut(parts[ranked[0]] if parts else text, budget)
    return " ".join(parts[i] for i in sorted(chosen))


def cut(text: str, budget: int) -> str:
    """The beginning of a text within `budget` characters, at a word where there is one."""
    if len(text) <= budget:
        return text
    head = text[:budget]
    at = head.rfind(" ")
    return head[:at] if at > budget // 2 else head


def _worth(parts: list[str]) -> Callable[[int], float]:
    analysed = [set(tokens(part)) for part in parts]
    mentions = Counter(token for of_part in analysed for token in of_part)

    def worth(i: int) -> float:
        if not analysed[i]:
            return 0.0
        mean = sum(log(1 + mentions[token]) for token in analysed[i]) / len(analysed[i])
        figures = 0.1 if any(char.isdigit() for char in parts[i]) else 0.0
        return mean + figures + (0.2 if i == 0 else 0.0)

    return worth
