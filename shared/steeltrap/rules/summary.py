"""What a conversation said, in a few of its own sentences. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import fsum, log
from typing import Final, NamedTuple

from ..model import Message
from .analysis import STOP_WORDS, tokens
from .sentences import cut, sentences

SUMMARY_CHARACTERS: Final = 400
_SHORT: Final = 4
_LONGER: Final = 2
_QUESTION: Final = 0.5
_ASSISTANT: Final = 0.7
_FIGURES: Final = 1.2


class _Sentence(NamedTuple):
    """A sentence, who says it, and its telling words."""

    text: str
    who: str
    role: str
    tokens: frozenset[str]


def summary(messages: Sequence[Message], budget: int = SUMMARY_CHARACTERS) -> str:
    """All that was said where it fits, else the sentences that together say most, in their order.

    Each run of them stands behind its speaker's name, or the role. Sentences are taken one by one, by the
    weight of the words that none before them had for the room they need; a word weighs log(1 + the
    sentences that mention it), repeats once, stop words nothing. Questions count half, an assistant's
    words 0.7, dates and figures a fifth more. At most `budget` characters.
    """
    parts = _sentences(messages)
    if len(whole := _joined(parts, range(len(parts)))) <= budget:
        return whole
    chosen: list[int] = []
    for i in _by_worth(parts, chosen):
        if len(_joined(parts, [*chosen, i])) <= budget:
            chosen.append(i)
    return _joined(parts, chosen) if chosen else cut(_joined(parts, [0]), budget)


def gist(text: str, messages: Sequence[Message]) -> str:
    """The one or two sentences that say most of a conversation, never all of it; a summary that somebody wrote stays.

    A conversation of fewer than four sentences has one, and one of a single sentence has that. Each is behind its
    speaker's name, and ends with a full stop if another follows.
    """
    if not text or not messages or text != summary(messages):
        return text
    parts = [part._replace(text=_whole(part.text)) for part in _sentences(messages)]
    most = _LONGER if len({part.text for part in parts}) >= _SHORT else 1
    chosen: list[int] = []
    for i in _by_worth(parts, chosen):
        if len(_joined(parts, [*chosen, i])) <= SUMMARY_CHARACTERS or not chosen:
            chosen.append(i)
        if len(chosen) == most:
            break
    return cut(_joined(parts, chosen or [0]), SUMMARY_CHARACTERS)


def _whole(sentence: str) -> str:
    if sentence[-1].isalnum():
        return sentence + ("。" if "\u3040" <= sentence[-1] <= "\u9fff" else ".")
    return sentence


def _sentences(messages: Sequence[Message]) -> list[_Sentence]:
    return [
        _Sentence(text, who(message), message.role, frozenset(tokens(text)) - STOP_WORDS)
        for message in messages
        for text in sentences(message.content)
    ]


def who(message: Message) -> str:
    """The name that a summary puts before what someone says: the speaker's, else the role."""
    return " ".join((message.speaker or message.role.capitalize()).split())


def _by_worth(parts: Sequence[_Sentence], chosen: Sequence[int]) -> Iterator[int]:
    """The sentences that add something to those chosen so far, the most telling first."""
    distinct = {part.text: part for part in parts}.values()
    mentions = Counter(token for part in distinct for token in part.tokens)
    heap = [(-_worth(part, mentions, part.tokens), i) for i, part in enumerate(parts)]
    heapify(heap)
    # What a sentence adds only shrinks, so that only the one on top must be looked at again.
    while heap:
        before, i = heappop(heap)
        new = parts[i].tokens.difference(*(parts[j].tokens for j in chosen))
        worth = _worth(parts[i], mentions, new)
        if worth < -before:
            if worth > 0:
                heappush(heap, (-worth, i))
        elif worth > 0:
            yield i


def _worth(part: _Sentence, mentions: Counter[str], new: frozenset[str]) -> float:
    worth: float = fsum(log(1 + mentions[token]) for token in new) / len(part.text) ** 0.5
    if part.text.endswith(("?", "？")):
        worth *= _QUESTION
    if part.role == "assistant":
        worth *= _ASSISTANT
    if any(char.isdigit() for char in part.text):
        worth *= _FIGURES
    return worth


def _joined(parts: Sequence[_Sentence], chosen: Sequence[int]) -> str:
    words: list[str] = []
    speaker = None
    for i in sorted(chosen):
        if parts[i].who != speaker:
            speaker = parts[i].who
            words.append(f"{speaker}:")
        words.append(parts[i].text)
    return " ".join(words)
