"""Choosing: which of the ranked memories are worth returning. Pure.

A score tells how well a memory fits, on the same scale for every query and every embedder: 1 for all that the query
says, 0 for unrelated text. So one floor tells questions about nothing that is known, and a share of the best score
cuts what only resembles it. docs/ranking.md has how the constants were chosen.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from math import log
from typing import Final

from ..model import Hit, Memory, When
from ..text.patterns import lazy_pattern
from ..text.words import POWERS, STOP_WORDS, fold_case, is_cjk, query_tokens, runs, tokens
from .asking import asks_for_several

FLOOR: Final = 0.1
"""Below it in both legs together, the best memory is as far from the query as any text."""
BY_CHANCE: Final = 0.008
"""By what the floor is higher for e times as many memories."""
_USUAL: Final = 35
"""Memories for which it is the floor."""
_MANY: Final = 100
"""From so many on it is no higher: what answers a question there mostly scores far more."""
_TOKENS_OF_CJK: Final = 3
"""A Chinese, Japanese or Korean word of two characters has so many."""
_LEAST_WORDS: Final = 2
UNKNOWN_NAME: Final = 0.15
"""The floor of a query that names somebody or something no memory mentions."""
NEAR_THE_BEST: Final = 0.9
"""The share of the best score that a memory has to reach to be returned beside it, where no confidence is known."""
AS_SURE: Final = 0.6
"""The share of the best memory's confidence that another has to reach to be returned beside it."""
SURE: Final = 0.3
"""Below this confidence of the best, the next memories may be what is meant as well."""
SURE_OF_SEVERAL: Final = 0.6
"""The same where a query asks for several things: the best of them is not all of them."""
DOUBTFUL: Final = 0.25
"""The highest confidence of what is something else than what the query names."""
PERHAPS: Final = 0.03
"""Below this score in both legs together, the best memory is not even shown as less sure."""
PERHAPS_OF_UNKNOWN: Final = 0.12
"""The same for a query that names somebody or something no memory mentions."""
NEXT_BEST: Final = 0.02
"""The share of the best score that a less sure memory has to reach."""

_MOST_BROAD: Final = 80
"""Characters of the longest query that may ask for everything."""
_ASKING: Final = frozenset(
    fold_case(
        """know known remember remembered recall tell show list give find search look get see please user users
        sabes recuerdas muestra muestrame lista dame busca
        weisst weißt kennst zeig zeige liste gib mir mich ich du was über bitte
        sais souviens montre liste donne moi je tu que sur
        sabe lembra mostra mostre liste sai ricordi mostra elenca"""
    ).split()
)
"""Words that ask, and don't say for what."""
_EVERYTHING: Final = frozenset(
    fold_case(
        """all everything anything note notes memory memories remember remembered know known saved stored
        todo todos toda todas nota notas recuerdo recuerdos memoria memorias recuerdas sabes
        alles alle notiz notizen erinnerung erinnerungen weisst weißt
        tout tous toute toutes souvenir souvenirs sais
        tudo anotação anotações lembrança lembranças sabe tutto tutti tutte ricordo ricordi sai
        все всё заметки заметка воспоминания"""
    ).split()
)
_EVERYTHING_CJK: Final = tuple(
    map(
        fold_case,
        """すべて 全て 全部 メモリ メモ ノート 記憶 一覧 所有 一切 笔记 筆記 记忆 記忆
        모든 모두 전부 메모 노트 기억""".split(),
    )
)
_GLUE_CJK: Final = lazy_pattern(
    "[のをはがでにもと的了我私你他她내의를을은는이가 ]|わたし|あなた|ください|見せて|教えて|显示|列出|보여줘"
)
_LETTER: Final = lazy_pattern(r"\w+")
TOLD: Final = 0.3
"""From this semantic score on, what happened on a day that a query names tells of what else the query says."""

CLEARLY: Final = 0.4
"""From this semantic score on, what happened on another day is what a query is about all the same."""

_TOKEN: Final = lazy_pattern(r"[^\W\d_][\w'\u2019-]*|[.?!:]")
_INSIDE_NAME: Final = lazy_pattern(r"['\u2019-]")
_GERMAN: Final = frozenset(
    """auf bei das dem den der des ein eine für hat ich im ist kann mein mit nicht sind und unser von wann warum
    welche welcher welches wer wie wir wird wo zum zur""".split()
)
"""Words that are German only. In German every noun has a capital, so a capital tells no name."""
_LONGEST_NAMING: Final = 1_000
"""Characters of a memory that are read for names."""
_SHORTEST_NAME: Final = 3
_MONTHS: Final = frozenset(
    "january february march april may june july august september october november december".split()
)
_WEEKDAYS: Final = frozenset(
    f"{day}day{ending}" for day in "mon tues wednes thurs fri satur sun".split() for ending in ("", "s")
)


def is_broad(query: str) -> bool:
    """Whether a query asks for whatever is stored, as in "my notes", "everything" or "what do you know about me?"."""
    if len(query) > _MOST_BROAD:
        return False
    rest = folded = fold_case(query)
    for everything in _EVERYTHING_CJK:
        rest = rest.replace(everything, " ")
    is_named = rest != folded
    words = _LETTER.findall(_GLUE_CJK.sub(" ", rest) if is_named else rest)
    plain = STOP_WORDS | _ASKING | _EVERYTHING
    return all(word in plain for word in words) and (is_named or not _EVERYTHING.isdisjoint(words))


def subject(query: str) -> frozenset[str]:
    """The tokens of what a query is about, without the words that only ask."""
    return frozenset(query_tokens(query)) - STOP_WORDS - _asking()


@cache
def _asking() -> frozenset[str]:
    return frozenset(tokens(" ".join(_ASKING)))


def floor(query: str, frequencies: Mapping[str, int], memories: int) -> float:
    """The score that the best of so many memories, those that the filter admits, needs for anything to be relevant.
    `frequencies` says how many of all have each token of the query.

    The best of many unrelated memories is higher by chance, the best of a few lower. But one word alone is near to some
    memory by chance among few as well.
    """
    least = UNKNOWN_NAME if _names_unknown(query, frequencies) else FLOOR
    if not memories or _words_of(query, frequencies) < _LEAST_WORDS:
        return least
    return least + BY_CHANCE * log(min(memories, _MANY) / _USUAL)


def _words_of(query: str, frequencies: Mapping[str, int]) -> float:
    """How many words a query has: Chinese, Japanese and Korean write none apart, and three tokens are about one."""
    cjk = sum(map(is_cjk, frequencies))
    return cjk / _TOKENS_OF_CJK if cjk else len(query.split())


def floor_of_less_sure(query: str, frequencies: Mapping[str, int]) -> float:
    """The score that the best memory needs for anything to be shown as less sure."""
    return PERHAPS_OF_UNKNOWN if _names_unknown(query, frequencies) else PERHAPS


def is_sure(confidence: float, query: str) -> bool:
    """Whether a best memory of this confidence is sure to be all that a query asks for."""
    return confidence >= SURE_OF_SEVERAL or (confidence >= SURE and not asks_for_several(query))


def _names_unknown(query: str, frequencies: Mapping[str, int]) -> bool:
    return any(not _is_known(name, frequencies) for name in names(query))


def names(query: str) -> list[str]:
    """The words of a query that are names by their capital, as in "where does Ana live?".

    A capital that begins a sentence tells nothing, nor one of an abbreviation or of a day, nor any in German.
    """
    pieces = _TOKEN.findall(query)
    if any(word.lower() in _GERMAN for word in pieces):
        return []
    return [
        word
        for before, word in zip([".", *pieces], pieces, strict=False)
        if before not in ".?!:"
        and word[0].isupper()
        and not word.isupper()
        and word.lower() not in STOP_WORDS
        and word.lower() not in _WEEKDAYS
    ]


def other_names(text: str, query: Collection[str]) -> dict[str, str]:
    """The names in a text that are none of a query's tokens, as written, by their tokens: Graça in "Ana's mother
    Graça", for a query about Ana's mum. Each part of a name is one of its own. The name of a month is none."""
    lines = text[:_LONGEST_NAMING].replace("\n", ". ")
    parts = (part for name in names(lines) for part in _INSIDE_NAME.split(name))
    long = (part for part in parts for word in runs(part) if len(word) >= _SHORTEST_NAME and word not in _MONTHS)
    return {token: part for part in long for token in tokens(part) if token not in query}


def _is_known(name: str, frequencies: Mapping[str, int]) -> bool:
    of_name = [token for token in tokens(name) if token in frequencies]
    return not of_name or any(frequencies[token] for token in of_name)


_SIGN: Final = lazy_pattern(
    r"([#%&@/\\$+<=>^|~\u00a2-\u00a9\u00ac\u00b0\u00b1\u00d7\u00f7\u2030\u20a0-\u20cf\u2190-\u23ff\u25a0-\u27bf\u2900-\u2bff"
    rf"\U0001f000-\U0001faff]|(?<=[0-9])[{POWERS}]|!(?==)|(?<!\w)-(?=[0-9]))"
)
"""A sign with a meaning of its own, as no punctuation has: of C++, 5 %, x != 1 and -3, a power, an emoji."""


def without_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those that say what a better one says, in the same words and signs and in the same order.

    Case, accents and punctuation may differ, but C# is not C++. Vectors can't tell: "Alice lent Bob money" and
    "Bob lent Alice money" have the same.
    """
    words = [tuple(runs(hit.memory.content)) or (hit.memory.id,) for hit in hits]
    counts = Counter(words)
    first: dict[tuple[object, ...], Hit] = {}
    for hit, said in zip(hits, words, strict=True):
        # Most texts have no other's words, and need no second look.
        first.setdefault(said if counts[said] == 1 else _with_signs(hit.memory.content), hit)
    return list(first.values())


def _with_signs(text: str) -> tuple[object, ...]:
    """The words of a text, and between them its signs."""
    parts = _SIGN.split(text)
    return tuple(part if at % 2 else tuple(runs(part)) for at, part in enumerate(parts))


_Said = tuple[str | None, str | None, str, When | None]


def said_once(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The best `limit` hits, without the episodes that hold a turn among them.

    The turn stays because it has the words that were asked for, where an episode's text is a summary.
    Twice as many hits are enough to fill the limit: each episode that goes leaves a turn of its own.
    """
    rest = list(hits)
    while True:
        best = rest[:limit]
        turns = {_turn(hit.memory) for hit in best if hit.memory.source == "conversation"}
        repeated = {hit.memory.id for hit in best if not turns.isdisjoint(_messages(hit.memory))}
        if not repeated:
            return best
        rest = [hit for hit in rest if hit.memory.id not in repeated]


def _turn(memory: Memory) -> _Said:
    return memory.conversation_id, memory.agent_id, memory.content, memory.occurred_at or memory.created_at


def _messages(memory: Memory) -> set[_Said]:
    if not memory.is_episode:
        return set()
    return {(memory.conversation_id, memory.agent_id, message.content, message.time) for message in memory.messages}
