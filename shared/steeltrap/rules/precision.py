"""Which of the ranked memories are worth returning. Pure.

A score tells how well a memory fits, on the same scale for every query and every embedder: 1 for all that the query
says, 0 for unrelated text. So one floor tells questions about nothing that is known, and a share of the best score
cuts what only resembles it. docs/ranking.md has how the constants were chosen.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from .analysis import STOP_WORDS, fold_case, query_tokens, tokens

FLOOR: Final = 0.1
"""Below it in both legs together, the best memory is as far from the query as any text."""
UNKNOWN_NAME: Final = 0.15
"""The floor of a query that names somebody or something no memory mentions."""
NEAR_THE_BEST: Final = 0.9
"""Of the best score, what a memory has to reach to be returned beside it."""

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
_GLUE_CJK: Final = re.compile(
    "[のをはがでにもと的了我私你他她내의를을은는이가 ]|わたし|あなた|ください|見せて|教えて|显示|列出|보여줘"
)
_LETTER: Final = re.compile(r"\w+")
TOLD: Final = 0.3
"""From this semantic score on, what happened on a day that a query names tells of what else the query says."""

CLEARLY: Final = 0.4
"""From this semantic score on, what happened on another day is what a query is about all the same."""

_TOKEN: Final = re.compile(r"[^\W\d_][\w'\u2019-]*|[.?!:]")
_GERMAN: Final = frozenset(
    """auf bei das dem den der des ein eine für hat ich im ist kann mein mit nicht sind und unser von wann warum
    welche welcher welches wer wie wir wird wo zum zur""".split()
)
"""Words that are German only. In German every noun has a capital, so a capital tells no name."""


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
