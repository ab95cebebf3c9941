"""Splitting text into sentences and choosing those that say most. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Sequence, Set
from math import fsum, log
from typing import Final

from .analysis import tokens

_STOPS: Final = "。｡！？‼⁇⁈⁉"
_CLOSED: Final = _STOPS + "．」』）"
_BOUNDARY: Final = re.compile(
    r"(?P<line>\n+)"
    r"|(?P<quotation>「[^「」\n]{0,200}」|『[^『』\n]{0,200}』|（[^（）\n]{0,200}）)"
    rf"|(?P<stop>[{_STOPS}!?.．]+)[\"'’”»)\]」』）]*"
)
# What goes on behind a quotation: 「はい。」と言った。
_PARTICLE: Final = re.compile(r"[とっなのはがをにも、。]")
_ABBREVIATION: Final = re.compile(
    r"(?:^|\W)(?:[A-HJ-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|Sr|Sra|Srta|Dra|Ud|Uds|p|ej|núm|pág|EE|UU)\.$"
)
_WIDE: Final = re.compile(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, trimmed; nothing but white space is lost.

    A Japanese full stop ends one without a space behind it. A quotation of up to 200 characters is not
    split, and stays in the sentence that goes on behind it; neither do "Sr. García" or "J. Smith" end one.
    """
    parts: list[str] = []
    start = 0
    for found in _BOUNDARY.finditer(text):
        if _ends(text[start : found.end()], found, text[found.end() : found.end() + 1]):
            parts.append(text[start : found.end()])
            start = found.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def extract(text: str, budget: int) -> str:
    """The sentences that say most, in their order, within `budget` characters; spaces join all but Japanese ones.

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
    return "".join(parts[i] if parts[i][-1] in _CLOSED else parts[i] + " " for i in sorted(chosen)).rstrip()


def said_once(texts: Sequence[str]) -> list[str]:
    """The texts, each without the sentences that an earlier one has; those without any sentence left are dropped.

    Case, spaces and the marks at the end make no difference. What one text says twice it goes on saying twice.
    """
    said: set[str] = set()
    kept = []
    for text in texts:
        parts = sentences(text)
        rest = _without(text, parts, said)
        said.update(filter(None, map(_wording, parts)))
        if rest.strip():
            kept.append(rest)
    return kept


def _without(text: str, parts: Sequence[str], said: Set[str]) -> str:
    """A text without those of its sentences that were said, the rest of it letter by letter."""
    if said.isdisjoint(map(_wording, parts)):
        return text
    rest = ""
    at = 0
    for part in parts:
        end = text.index(part, at) + len(part)
        if _wording(part) not in said:
            rest += text[at:end]
        at = end
    return rest.strip()


def _wording(sentence: str) -> str:
    """What makes two sentences the same; "" for one without letters and digits, which is the same as none."""
    folded = " ".join(sentence.casefold().split())
    bare = folded.rstrip(f"{_CLOSED}.!?\"'")
    return bare if any(map(str.isalnum, bare)) else ""


def cut(text: str, budget: int) -> str:
    """The beginning of a text within `budget` characters, at a word where there is one."""
    if len(text) <= budget:
        return text
    head = text[:budget]
    at = head.rfind(" ")
    return head[:at] if at > budget // 2 else head


def _ends(part: str, found: re.Match[str], follows: str) -> bool:
    """Whether the sentence in `part` ends at a boundary that was found, before the character that follows."""
    if found["line"]:
        return True
    if found["quotation"]:
        return part[-1] != "）" and part[-2] in _STOPS and not _PARTICLE.match(follows)
    stop = found["stop"][-1]
    if stop in _STOPS or not follows or follows.isspace():
        return not _ABBREVIATION.search(part[-10:])
    if stop in "!?．":
        return follows in "¿¡" or (_WIDE.match(follows) is not None and not follows.isnumeric())
    return follows in "¿¡"


def _worth(parts: list[str]) -> Callable[[int], float]:
    analysed = [set(tokens(part)) for part in parts]
    mentions = Counter(token for of_part in analysed for token in of_part)

    def worth(i: int) -> float:
        if not analysed[i]:
            return 0.0
        mean = fsum(log(1 + mentions[token]) for token in analysed[i]) / len(analysed[i])
        figures = 0.1 if any(char.isdigit() for char in parts[i]) else 0.0
        return mean + figures + (0.2 if i == 0 else 0.0)

    return worth
