"""Asking: what a message asks beside what else it says, and for what kind of answer. Pure.

The words about the conversation: "Can you give me a summary of the budget tracker that we discussed throughout our
conversations?" is about the budget tracker. The other words say that something is asked and where it was said; memories
that happen to have them are not meant. English, Spanish and German.

Small talk: "Hey, we had a lovely weekend at the lake! By the way, when is my sister's birthday?" is mostly about a
weekend, and asks for a birthday. If a question can be understood by itself, and another sentence has nothing to do with
it, the question counts twice as much as the whole message. A question that needs the rest ("what is the next step?")
stays a part of it, since the other sentences of a message are mostly context.

The kind of answer: what many conversations say, what no longer holds, several things, the latest or the first.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from ..model import Embedding
from ..ports import Scale
from ..text.patterns import lazy_pattern
from ..text.sentences import sentences
from ..text.vectors import calibrated, dot, has_direction, mean_vector, numbers
from ..text.words import STOP_WORDS

_LEAST: Final = 2
"""The telling words, no stop words, of a question that can be understood by itself. What asks about the conversation
and has fewer beside is asked as a whole."""
_WORD: Final = lazy_pattern(r"\w+")

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
_FRAMES_BY_MARK: Final = [(mark, pattern) for pattern, marks in _FRAMES.items() for mark in marks]


def without_frame(query: str) -> str:
    """The query without the words that are about the conversation, such as "throughout our conversations".

    One that has fewer than two telling words beside them stays as it is.
    """
    lowered = query.lower()
    patterns = [pattern for mark, pattern in _FRAMES_BY_MARK if mark in lowered]
    rest = query
    for pattern in dict.fromkeys(patterns):
        rest = re.sub(pattern, " ", rest, flags=re.IGNORECASE)
    if rest == query:
        return query
    telling = [word for word in _WORD.findall(rest.lower()) if word not in STOP_WORDS]
    return rest if len(telling) >= _LEAST else query


MOST_SENTENCES_APART: Final = 12
"""A longer message is embedded as a whole: each sentence is another text to embed."""
RELATED_TO_QUESTION: Final = 0.1
"""From this calibrated cosine with the question on, a sentence has to do with it."""
QUESTION_SHARES: Final = (1.0, 2.0)
"""The weights of the message and of its question."""

_REFERRING: Final = frozenset(
    """it this that these those they them their he she his him her there then next so such else one ones same above
    below here now first second last also too more other another instead think sound sounds help
    es das dies diese dieser dieses davon dazu dafür damit er sie ihm ihn ihr ihre dort dann nächste nächster nächsten
    eso esto ese esa esos esas ello él ella ellos ellas allí entonces siguiente próximo próxima""".split()
)
"""Words by which a question refers to what was said before it."""

_BREAK: Final = lazy_pattern(r"[.!?\n。！？]")


Embed = Callable[[Sequence[str], Literal["query"]], list[Embedding]]


def embedded_with_question(message: str, embed: Embed, scale: Scale) -> Embedding:
    """The embedding of a message, two thirds of it that of its question if the rest is small talk."""
    parts = question_and_others(message)
    if parts is None:
        return embed([message], "query")[0]
    question, others = parts
    # In one request, since an embedder may be on another machine.
    whole, question_embedding, *rest = embed([message, question, *others], "query")
    return with_question(whole, question_embedding, rest, scale.unrelated)


def question_and_others(message: str) -> tuple[str, list[str]] | None:
    """The questions of a message that can be understood by themselves, and its other sentences; None without both."""
    text = message.strip()
    if ("?" not in text and "\uff1f" not in text) or _BREAK.search(text, 0, len(text) - 1) is None:
        return None
    parts = sentences(text)
    asking = [part for part in parts if part.endswith(("?", "\uff1f"))]
    others = [part for part in parts if not part.endswith(("?", "\uff1f"))]
    question = " ".join(asking)
    words = _WORD.findall(question.lower())
    telling = [word for word in words if len(word) > 1 and word not in STOP_WORDS]
    if not asking or not others or len(parts) > MOST_SENTENCES_APART:
        return None
    return (question, others) if len(telling) >= _LEAST and _REFERRING.isdisjoint(words) else None


def with_question(whole: Embedding, question: Embedding, others: Sequence[Embedding], unrelated: float) -> Embedding:
    """The embedding of a message, two thirds of it that of its question where one of its other sentences has nothing to
    do with the question. `unrelated` is the embedder's cosine of unrelated texts."""
    if not has_direction([question]) or not has_direction([whole]):
        return whole
    question_numbers = numbers(question)
    if all(calibrated(dot(question_numbers, numbers(other)), unrelated) >= RELATED_TO_QUESTION for other in others):
        return whole
    return mean_vector([whole, question], QUESTION_SHARES)


_ACROSS: Final = lazy_pattern(
    rf"\b(?:throughout|across|over) (?:all (?:of )?)?(?:our|my|the|these|different|several|multiple){_KIND} {_TALK}s\b"
    rf"|\b(?:in total|in all|altogether|overall|so far|over time|progress(?:ed)?|evolved|{_SUMMARY}|summari[sz]e)\b"
    r"|\bthe order in which\b|\bin (?:what|which) order\b"
    r"|\bhow many (?!(?:days|weeks|months|years|hours|minutes)\b)"
    r"|\b(?:resumen|en total|hasta ahora)\b|\bcuánt[oa]s (?!(?:días|semanas|meses|años|horas|minutos)\b)"
    r"|\b(?:zusammenfassung|insgesamt|bisher)\b|\bwie viele (?!(?:tage|wochen|monate|jahre|stunden|minuten)\b)"
)


def asks_across(query: str) -> bool:
    """Whether a query asks for what many conversations say: a summary, an order, a number of things, all so far.

    A conversation that says much of it is no reason to look for the rest there.
    """
    return _ACROSS.search(query.lower()) is not None


def _of_words(words: str, japanese: Sequence[str]) -> dict[str, str]:
    """Patterns of whole words and phrases, and of Japanese words, which nothing parts, each under its own text."""
    return {**{each: rf"\b{each}\b" for each in words.split("|")}, **{each: each for each in japanese}}


_PAST_WORDS: Final = (
    "prior to|back then|in the past|at first|previous|previously|former|formerly|original|originally|initial|initially"
    "|zuvor|damals"
    "|antes|originalmente|anteriormente|anterior|anteriores|antiguo|antigua|antiguos|antiguas|previo|previa|previos"
    "|previas|al principio|solía|solían"
)
_PAST_BEGINNINGS: Final = ("ursprünglich", "früher", "vorher", "ehemalig")
_SENTENCE_END: Final = "[.!]"
_BEFORE: Final = r"\bbefore\b"
_HAPPENED: Final = r"\b(?:was|were|did|had)\b|(?<!\bbe )(?<!\bis )(?<!\bare )\b(?!\w*eed\b|embed\b)\w\w+ed\b"
_PAST_PATTERNS: Final = {
    "used to": r"(?<!\bbe )(?<!\bis )(?<!\bare )\bused to\b",
    " old": r"\b(?:the|my|your|his|her|its|our|their|\w+['\u2019]s) old\b",
    **_of_words(_PAST_WORDS, ("以前", "元々", "もともと", "当初", "昔")),
    **{beginning: rf"\b{beginning}" for beginning in _PAST_BEGINNINGS},
}
"""By what every match says, in lower case: looking for that first takes a tenth of the time. An expression is compiled
when it is first needed."""


def _matches(patterns: Mapping[str, str], lowered: str) -> bool:
    """Whether a text in lower case matches one of some patterns, each of which stands under a text that all of its
    matches have."""
    return any(re.search(patterns[hint], lowered) for hint in [each for each in patterns if each in lowered])


def asks_for_past(query: str) -> bool:
    """Whether its words ask for what no longer holds, in English, German, Spanish or Japanese."""
    lowered = query.lower()
    if "before" in lowered and any(map(_asks_before, re.split(_SENTENCE_END, lowered))):
        return True
    return _matches(_PAST_PATTERNS, lowered)


def _asks_before(sentence: str) -> bool:
    """ "where did Ana live before Porto?", but not "what must I check before I deploy?" """
    last = max((match.start() for match in re.finditer(_BEFORE, sentence)), default=0)
    return last > 0 and re.search(_HAPPENED, sentence[:last]) is not None


_SEVERAL: Final = {
    "re ": r"\b(?:what|which|who|where) (?:are|were) (?!you\b|we\b|i\b|they\b)",
    "which ": r"\bwhich (?:other |different )?"
    r"(?!(?:has|is|was|does|this|bus|gas|class|process|address|boss|business)\b)\w+s\b",
    "what ": r"\bwhat (?:other |different |kinds of |sorts of )?"
    r"\w+s (?:do|did|are|were|have|can|should|must|may|will|would)\b",
    "what d": r"\bwhat (?:do|did) (?:we|you|i) (?:all )?(?:know|remember|have) (?:about|on|of)\b",
    "summari": r"\bsummari[sz]e\b",
    "about": r"\b(?:everything|tell me) about\b",
    "all of ": r"\ball of (?:my|the|our)\b",
    "list": r"^\W*(?:please |can you )?list\b",
    "and ": r"\band (?:what|when|where|who|whom|why|how|which|to whom)\b",
    "alles": r"\b(?:wer|was|welche) alles\b",
    "welche ": r"\bwelche \w+e[nr]\b",
    "und ": r"\bund (?:was|wann|wie|wo|wer|warum)\b",
    "quiénes": r"\bquiénes\b",
    "cuáles": r"\bcuáles\b",
    "qué ": r"\bqué \w+s\b",
    "y ": r"\by (?:qué|cuándo|cuánto|cómo|quién|dónde)\b",
}
"""Patterns of what asks for several things, for `_matches`: each under a text that all of its matches have."""


def asks_for_several(query: str) -> bool:
    """Whether a query asks for a list, all about something, or two things at once; English, German and Spanish."""
    return _matches(_SEVERAL, query.lower())


_LATEST: Final = {
    **_of_words(
        "latest|newest|last time|how long ago|zuletzt|am letzten|última vez|más reciente|hace cuánto",
        ("最新", "最後に", "最近の"),
    ),
    "most recent": r"\bmost recent(?:ly)?\b",
    "next step": r"\bnext steps?\b",
    "neueste": r"\bneueste[nrs]?\b",
}
_FIRST: Final = {
    **_of_words("earliest|oldest|very first|first time|zuerst|primera vez", ("最初に", "最古")),
    "älteste": r"\bälteste[nrs]?\b",
    "más antigu": r"\bmás antigu[oa]\b",
}
"""Patterns of what asks for the latest and for the first, for `_matches`."""


def asks_for_end(query: str) -> int:
    """1 where a query asks for the latest, -1 where for the first, else 0; English, German, Spanish and Japanese."""
    lowered = query.lower()
    return _matches(_LATEST, lowered) - _matches(_FIRST, lowered)
