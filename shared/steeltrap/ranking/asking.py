"""Asking: the words of a question that are about the conversation itself, and whether it asks across conversations.

"Can you give me a summary of the budget tracker that we discussed throughout our conversations?" is about the budget
tracker. The other words say that something is asked and where it was said; memories that happen to have them are not
meant. Such a question has its answer in many conversations, so a conversation that says much of it is no reason to look
for the rest there. English, Spanish and German. Pure.
"""

import re
from typing import Final

from ..text.patterns import lazy_pattern
from ..text.words import STOP_WORDS

_LEAST: Final = 2
"""So many words that are no stop words have to remain: a question about nothing else stays as it is."""

_ALL_OUR: Final = r"(?:all (?:of )?)?(?:our|my|the|these|those)"
_KIND: Final = r"(?: (?:previous|past|earlier|different|various|last|recent|many)){0,2}"
_TALK: Final = r"(?:conversation|chat|discussion|session|message|talk|request|interaction)"
_TALKED: Final = r"(?:brought up|mentioned|discussed|talked about|asked about)"
_SUMMARY: Final = r"(?:summary|overview|recap)"
_FULL: Final = r"(?:comprehensive|detailed|brief|short|full|complete|clear|quick|thorough)"
_TELL: Final = (
    r"(?:list|give me|provide(?: me)?|walk me through|tell me|show me|remind me(?: of)?|summari[sz]e|outline|recap)"
)

_FRAMES: Final = {
    rf"\b(?:throughout|across|over|during|in|from) {_ALL_OUR}{_KIND} {_TALK}s?\b": (
        *("conversation", "chat", "discussion", "session", "message", "talk", "request", "interaction"),
    ),
    r"\bmention only (?:and only )?\w+ (?:items?|things?|points?|aspects?)\b": ("mention only",),
    rf"\b(?:(?:can|could|would|will) you (?:please )?|please ){_TELL}\b": (
        *("can you", "could you", "would you", "will you", "please"),
    ),
    rf"\b(?:an? |the )?(?:{_FULL} )?{_SUMMARY} of\b": ("summary", "overview", "recap"),
    rf"\bthe order in which (?:i|we) {_TALKED}\b": ("order in which",),
    r"\b(?:the )?(?:different|various) (?:aspects|things|topics|concepts|parts) (?:of|related to|about)\b": (
        *("different", "various"),
    ),
    rf"\b(?:i|we|you) (?:have |had )?{_TALKED}\b": (
        *("brought up", "mentioned", "discussed", "talked about", "asked about"),
    ),
    r"\bin order\b": ("in order",),
    r"\ben (?:todas )?(?:nuestras|mis) (?:conversaciones|charlas|sesiones)\b": ("nuestras", "mis"),
    r"\bpuedes (?:darme|decirme|hacerme|recordarme|resumir)\b": ("puedes",),
    r"\b(?:un )?resumen (?:completo )?de\b": ("resumen",),
    r"\bin (?:all )?(?:unseren|meinen) (?:gesprächen|unterhaltungen|sitzungen)\b": ("unseren", "meinen"),
    r"\bkannst du (?:mir )?(?:bitte )?(?:sagen|zeigen|zusammenfassen|auflisten)?\b": ("kannst du",),
    r"\b(?:eine )?(?:kurze |vollständige )?(?:zusammenfassung|übersicht) (?:von|der|des|über)\b": (
        *("zusammenfassung", "übersicht"),
    ),
}
"""Expressions, each with words in lower case of which every match has one: looking for those first takes a tenth of the
time. An expression is compiled when it is first needed."""

_ACROSS: Final = lazy_pattern(
    rf"\b(?:throughout|across|over) (?:all (?:of )?)?(?:our|my|the|these|different|several|multiple){_KIND} {_TALK}s\b"
    rf"|\b(?:in total|in all|altogether|overall|so far|over time|progress(?:ed)?|evolved|{_SUMMARY}|summari[sz]e)\b"
    r"|\bthe order in which\b|\bin (?:what|which) order\b"
    r"|\bhow many (?!(?:days|weeks|months|years|hours|minutes)\b)"
    r"|\b(?:resumen|en total|hasta ahora)\b|\bcuánt[oa]s (?!(?:días|semanas|meses|años|horas|minutos)\b)"
    r"|\b(?:zusammenfassung|insgesamt|bisher)\b|\bwie viele (?!(?:tage|wochen|monate|jahre|stunden|minuten)\b)"
)

_WORD: Final = lazy_pattern(r"\w+")


def without_frame(query: str) -> str:
    """The query without the words that are about the conversation, such as "throughout our conversations".

    One that has fewer than two telling words beside them stays as it is.
    """
    lowered, rest = query.lower(), query
    for pattern, marks in _FRAMES.items():
        if any(mark in lowered for mark in marks):
            rest = re.sub(pattern, " ", rest, flags=re.IGNORECASE)
    if rest == query:
        return query
    telling = [word for word in _WORD.findall(rest.lower()) if word not in STOP_WORDS]
    return rest if len(telling) >= _LEAST else query


def asks_across(query: str) -> bool:
    """Whether a query asks for what many conversations say: a summary, an order, a number of things, all so far."""
    return _ACROSS.search(query.lower()) is not None
