"""Sentences: splitting a text, cutting it into spans and pieces, and choosing the sentences that say most. Pure.

A conversation is as telling as what the user says about themselves in it: statements count, questions and the
assistant's words don't. In a small space everything is new, the weather too, so newness alone says little.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache
from heapq import heapify, heappop, heappush
from math import exp, fsum, log
from typing import Final, NamedTuple

from ..model import Message
from .patterns import lazy_pattern
from .words import STOP_WORDS, tokens

_STOPS: Final = "。｡！？‼⁇⁈⁉"
_CLOSED: Final = _STOPS + "．」』）"
_BOUNDARY: Final = lazy_pattern(
    r"(?P<line>\n+)"
    r"|(?P<quotation>「[^「」\n]{0,200}」|『[^『』\n]{0,200}』|（[^（）\n]{0,200}）)"
    rf"|(?P<stop>[{_STOPS}!?.．]+)[\"'’”»)\]」』）]*"
)
# What goes on after a quotation: 「はい。」と言った。
_PARTICLE: Final = lazy_pattern(r"[とっなのはがをにも、。]")
_ABBREVIATION: Final = lazy_pattern(
    r"(?:^|\W)(?:[A-HJ-Z]|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|Sr|Sra|Srta|Dra|Ud|Uds|p|ej|núm|pág|EE|UU)\.$"
)
_WIDE: Final = lazy_pattern(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")


def sentences(text: str) -> list[str]:
    """The sentences of a text in order, trimmed; nothing but white space is lost.

    A Japanese full stop ends a sentence without a space after it. A quotation of up to 200 characters is not split, and
    stays in the sentence that continues after it. "Sr. García" and "J. Smith" end no sentence.
    """
    parts: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if _ends(text[start : match.end()], match, text[match.end() : match.end() + 1]):
            parts.append(text[start : match.end()])
            start = match.end()
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
    ranked = sorted(range(len(parts)), key=_value_of(parts), reverse=True)
    picks: list[int] = []
    room = budget
    for i in ranked:
        cost = len(parts[i]) + (1 if picks else 0)
        if cost <= room:
            picks.append(i)
            room -= cost
    if not picks:
        return cut(parts[ranked[0]] if parts else text, budget)
    return "".join(parts[i] if parts[i][-1] in _CLOSED else parts[i] + " " for i in sorted(picks)).rstrip()


def unique_sentences(texts: Sequence[str]) -> list[str]:
    """The texts, each without the sentences that an earlier one has; those without any sentence left are dropped.

    Case, spaces and the marks at the end make no difference. What one text says twice it goes on saying twice.
    """
    wordings: set[str] = set()
    remainders = []
    for text in texts:
        parts = sentences(text)
        rest = _without(text, parts, wordings)
        wordings.update(filter(None, map(_wording, parts)))
        if rest.strip():
            remainders.append(rest)
    return remainders


def _without(text: str, parts: Sequence[str], wordings: Set[str]) -> str:
    """A text without those of its sentences that were said, the rest of it letter by letter."""
    if wordings.isdisjoint(map(_wording, parts)):
        return text
    rest = ""
    at = 0
    for part in parts:
        end = text.index(part, at) + len(part)
        if _wording(part) not in wordings:
            rest += text[at:end]
        at = end
    return rest.strip()


def _wording(sentence: str) -> str:
    """The form in which two sentences are the same; "" without letters and digits, which is the same as none."""
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


def _ends(part: str, match: re.Match[str], follows: str) -> bool:
    """Whether the sentence in `part` ends at a boundary that was found, before the character that follows."""
    if match["line"]:
        return True
    if match["quotation"]:
        return part[-1] != "）" and part[-2] in _STOPS and not _PARTICLE.match(follows)
    stop = match["stop"][-1]
    if stop in _STOPS or not follows or follows.isspace():
        return not _ABBREVIATION.search(part[-10:])
    if stop in "!?．":
        return follows in "¿¡" or (_WIDE.match(follows) is not None and not follows.isnumeric())
    return follows in "¿¡"


def _value_of(parts: list[str]) -> Callable[[int], float]:
    analysed = [set(tokens(part)) for part in parts]
    mentions = Counter(token for of_part in analysed for token in of_part)

    def value(i: int) -> float:
        if not analysed[i]:
            return 0.0
        mean = fsum(log(1 + mentions[token]) for token in analysed[i]) / len(analysed[i])
        figures = 0.1 if any(char.isdigit() for char in parts[i]) else 0.0
        return mean + figures + (0.2 if i == 0 else 0.0)

    return value


SUMMARY_CHARACTERS: Final = 400
_SHORT: Final = 4
_LONGER: Final = 2
_QUESTION: Final = 0.5
_ASSISTANT: Final = 0.7
_FIGURES: Final = 1.2


class _Sentence(NamedTuple):
    """A sentence, who says it, and its telling words."""

    text: str
    speaker: str
    role: str
    tokens: frozenset[str]


def summary(messages: Sequence[Message], budget: int = SUMMARY_CHARACTERS) -> str:
    """Everything that was said if it fits, else the sentences that together say most, in their order.

    Each run of them stands after its speaker's name, or the role. Sentences are chosen one by one, by the weight of
    their new words over the square root of their length. A word weighs log(1 + the number of sentences that mention
    it) and counts once; stop words weigh nothing. Questions count half, an assistant's words 0.7, dates and figures a
    fifth more. At most `budget` characters.
    """
    parts = _sentences(messages)
    if len(whole := _joined(parts, range(len(parts)))) <= budget:
        return whole
    picks: list[int] = []
    for i in _by_worth(parts, picks):
        if len(_joined(parts, [*picks, i])) <= budget:
            picks.append(i)
    return _joined(parts, picks) if picks else cut(_joined(parts, [0]), budget)


def gist(text: str, messages: Sequence[Message]) -> str:
    """The one or two sentences that say most of a conversation, never all of it; a summary that somebody wrote stays.

    A conversation of fewer than four sentences has one, and one of a single sentence has that. Each is after its
    speaker's name, and ends with a full stop if another follows.
    """
    if not text or not messages or text != summary(messages):
        return text
    parts = [part._replace(text=_whole(part.text)) for part in _sentences(messages)]
    limit = _LONGER if len({part.text for part in parts}) >= _SHORT else 1
    picks: list[int] = []
    for i in _by_worth(parts, picks):
        if len(_joined(parts, [*picks, i])) <= SUMMARY_CHARACTERS or not picks:
            picks.append(i)
        if len(picks) == limit:
            break
    return cut(_joined(parts, picks or [0]), SUMMARY_CHARACTERS)


def _whole(sentence: str) -> str:
    if sentence[-1].isalnum():
        return sentence + ("。" if "\u3040" <= sentence[-1] <= "\u9fff" else ".")
    return sentence


def _sentences(messages: Sequence[Message]) -> list[_Sentence]:
    return [
        _Sentence(text, speaker_label(message), message.role, frozenset(tokens(text)) - STOP_WORDS)
        for message in messages
        for text in sentences(message.content)
    ]


def speaker_label(message: Message) -> str:
    """The name that a summary puts before what someone says: the speaker's, else the role."""
    return " ".join((message.speaker or message.role.capitalize()).split())


def _by_worth(parts: Sequence[_Sentence], picks: Sequence[int]) -> Iterator[int]:
    """The sentences that add something to those chosen so far, the most telling first."""
    distinct = {part.text: part for part in parts}.values()
    mentions = Counter(token for part in distinct for token in part.tokens)
    heap = [(-_gain(part, mentions, part.tokens), i) for i, part in enumerate(parts)]
    heapify(heap)
    # What a sentence adds only shrinks, so that only the one on top must be looked at again.
    while heap:
        before, i = heappop(heap)
        new = parts[i].tokens.difference(*(parts[j].tokens for j in picks))
        gain = _gain(parts[i], mentions, new)
        if gain < -before:
            if gain > 0:
                heappush(heap, (-gain, i))
        elif gain > 0:
            yield i


def _gain(part: _Sentence, mentions: Counter[str], new: frozenset[str]) -> float:
    gain: float = fsum(log(1 + mentions[token]) for token in new) / len(part.text) ** 0.5
    if part.text.endswith(("?", "？")):
        gain *= _QUESTION
    if part.role == "assistant":
        gain *= _ASSISTANT
    if any(char.isdigit() for char in part.text):
        gain *= _FIGURES
    return gain


def _joined(parts: Sequence[_Sentence], picks: Sequence[int]) -> str:
    words: list[str] = []
    speaker = None
    for i in sorted(picks):
        if parts[i].speaker != speaker:
            speaker = parts[i].speaker
            words.append(f"{speaker}:")
        words.append(parts[i].text)
    return " ".join(words)


WORDS: Final = 12
"""So many distinct words of statements halve what is missing to 1."""
MOST_WORDS: Final = 18
"""More words than these say no more: a long chat is not a key moment because it is long."""
STAKES: Final = 3
"""So many words that say what is at stake halve it too."""
_CJK: Final = 0.25
"""A character or pair of Chinese or Japanese, in words: each character is in up to three tokens."""

_OTHERS: Final = frozenset({"assistant", "system", "tool"})

_STRONG: Final = """
changed switched switching moved moving quit fired hired promoted deadline screwed afraid scared worried
died lost broke married wedding pregnant born baby divorce divorced diagnosed cancer hospital accident
surgery urgent emergency allergic secret cambie mudado mudamos deje despidieron contrataron miedo
preocupado preocupada murio perdi casamos casado boda embarazada nacio divorcio cancer hospital
accidente cirugia urgente alergico alergica secreto plazo gewechselt umgezogen gekundigt entlassen
befordert frist angst gestorben verloren geheiratet hochzeit schwanger geboren scheidung krebs
krankenhaus unfall operation dringend allergisch geheimnis demenage quitte licencie embauche promu delai
peur inquiet mort perdu marie mariage enceinte divorce hopital accident operation urgent allergique
secret mudei demitido contratado medo preocupado morreu perdi casei casamento gravida nasceu divorcio
acidente cirurgia alergico trasferito licenziato assunto paura preoccupato morto perso sposato
matrimonio incinta nato divorzio ospedale incidente allergico segreto
"""
_WEAK: Final = """
new need needs never must hate love decided realized fail failed started nuevo nueva necesito nunca debo
odio amo decidi fracase empece neu neue neuer neues brauche nie muss hasse liebe entschieden gescheitert
angefangen nouveau nouvelle besoin jamais dois deteste adore decide echoue commence novo nova preciso
nunca devo odeio amo decidi falhei comecei nuovo nuova bisogno mai devo odio amo deciso fallito
"""
_PHRASES: Final = tuple(
    """
    転職 退職 就職 昇進 引っ越 結婚 離婚 妊娠 出産 亡くな 死 手術 入院 病気 事故 締め切り 締切 怖い 心配
    不安 アレルギー 失敗 必要 新しい 辞职 辞職 入职 换工作 升职 搬家 结婚 離婚 离婚 怀孕 出生 去世 住院 生病
    截止 害怕 担心 过敏 失败 必须 이직 퇴사 승진 이사 결혼 이혼 임신 사망 수술 입원 사고 마감 무서 걱정
    알레르기 переехал уволили уволился повысили женился вышла беременна умер операция больница авария срочно
    боюсь аллергия
    """.split()
)


def telling(messages: Sequence[Message]) -> float:
    """0 to 1: 1 - 2^-(words / 12 + stakes / 3), of what is said in statements by anyone but the assistant.

    `words` are the distinct ones, at most 18. `stakes` are those of them that tell of a change, a need or a fear;
    common ones count half.
    """
    statements = [
        sentence
        for message in messages
        if message.role not in _OTHERS
        for sentence in sentences(message.content)
        if not sentence.endswith(("?", "？"))
    ]
    words = frozenset(token for sentence in statements for token in tokens(sentence)) - STOP_WORDS
    strong, weak = _stakes()
    amount = sum(1.0 if token < "\u3005" else _CJK for token in sorted(words))
    phrases = sum(any(phrase in sentence.lower() for sentence in statements) for phrase in _PHRASES)
    stakes = len(words & strong) + len(words & weak) / 2 + phrases
    halvings: float = min(amount, MOST_WORDS) / WORDS + stakes / STAKES
    return round(1 - exp(-halvings * log(2)), 4)


@cache
def _stakes() -> tuple[frozenset[str], frozenset[str]]:
    strong = frozenset(tokens(_STRONG)) - STOP_WORDS
    return strong, frozenset(tokens(_WEAK)) - STOP_WORDS - strong


CHUNK_CHARACTERS: Final = 640
OVERLAP_CHARACTERS: Final = 96


def chunks(text: str) -> list[str]:
    """Spans of at most 640 characters, each beginning 96 characters before the last one ended.

    A span ends after white space where its last 96 characters have any, so that words stay whole.
    A text of up to 640 characters is one span. Together the spans cover the whole text.
    """
    spans: list[str] = []
    start = 0
    while len(text) - start > CHUNK_CHARACTERS:
        stop = _word_end(text, start + CHUNK_CHARACTERS)
        spans.append(text[start:stop])
        start = stop - OVERLAP_CHARACTERS
    spans.append(text[start:])
    return spans


def passage(spans: Sequence[str], number: int) -> str:
    """One of a text's spans, trimmed, without the part of a word that it may begin with."""
    span = spans[number]
    if number and not (spans[number - 1][-OVERLAP_CHARACTERS - 1].isspace() or span[0].isspace()):
        first_word, space, _ = span[:OVERLAP_CHARACTERS].partition(" ")
        span = span[len(first_word) :] if space else span
    return span.strip()


def _word_end(text: str, stop: int) -> int:
    for end in range(stop, stop - OVERLAP_CHARACTERS, -1):
        if text[end - 1].isspace():
            return end
    return stop


_PARAGRAPH: Final = lazy_pattern(r"\n[^\S\n]*\n\s*")
_LINE: Final = lazy_pattern(r"\n")
_SPACE: Final = lazy_pattern(r"\s+")


def pieces(text: str, max_bytes: int) -> list[str]:
    """The text in pieces of at most `max_bytes` bytes (UTF-8), in order; joined, they are the text again.

    A piece ends after the last paragraph that is in its second half, else after the last line, sentence or word
    there, else where it is full. Pieces of nothing but white space are left out. A text that fits is one piece.
    """
    if len(text.encode()) <= max_bytes:
        return [text]
    return [piece for piece in _cut(text, max_bytes) if piece.strip()]


def _cut(text: str, max_bytes: int) -> Iterator[str]:
    start = 0
    while start < len(text):
        # What begins within a character that is cut in two belongs to the next piece.
        window = text[start : start + max_bytes].encode()[:max_bytes].decode(errors="ignore")
        if start + len(window) < len(text):
            window = window[: _end(window)]
        yield window
        start += len(window)


def _end(window: str) -> int:
    half = len(window) // 2
    for bound in (_PARAGRAPH, _LINE):
        if (end := _last(bound, window)) > half:
            return end
    # The last sentence may go on after the window.
    if (last := sentences(window)[-1:]) and (end := window.rindex(last[0])) > half:
        return end
    return end if (end := _last(_SPACE, window)) > half else len(window)


def _last(bound: re.Pattern[str], window: str) -> int:
    end = 0
    for match in bound.finditer(window):
        end = match.end()
    return end
