"""How telling a conversation is: whether the user says something about themselves that changes things. Pure.

In a small space everything is new, the weather too. So an episode is as surprising as it is new, and at most as telling
as what the user says in it. No language model is needed: statements count, questions and the assistant's words don't.
"""

from collections.abc import Sequence
from functools import cache
from math import exp, log
from typing import Final

from ..model import Message
from .analysis import STOP_WORDS, tokens
from .sentences import sentences

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
    said = [
        sentence
        for message in messages
        if message.role not in _OTHERS
        for sentence in sentences(message.content)
        if not sentence.endswith(("?", "？"))
    ]
    words = frozenset(token for sentence in said for token in tokens(sentence)) - STOP_WORDS
    strong, weak = _stakes()
    amount = sum(1.0 if token < "\u3005" else _CJK for token in sorted(words))
    phrases = sum(any(phrase in sentence.lower() for sentence in said) for phrase in _PHRASES)
    stakes = len(words & strong) + len(words & weak) / 2 + phrases
    halvings: float = min(amount, MOST_WORDS) / WORDS + stakes / STAKES
    return round(1 - exp(-halvings * log(2)), 4)


@cache
def _stakes() -> tuple[frozenset[str], frozenset[str]]:
    strong = frozenset(tokens(_STRONG)) - STOP_WORDS
    return strong, frozenset(tokens(_WEAK)) - STOP_WORDS - strong
