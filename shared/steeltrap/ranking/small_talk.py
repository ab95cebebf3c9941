"""Small talk: how a message is embedded that asks a question beside other things. Pure.

"Hey, we had a lovely weekend at the lake! By the way, when is my sister's birthday?" is mostly about a weekend, and
asks for a birthday. If a question can be understood by itself, and another sentence has nothing to do with it, the
question counts twice as much as the whole message. A question that needs the rest ("what is the next step?") stays a
part of it, since the other sentences of a message are mostly context.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from ..model import Embedding
from ..ports import Scale
from ..text.patterns import lazy_pattern
from ..text.sentences import sentences
from ..text.vectors import calibrated, dot, has_direction, mean_vector, numbers
from ..text.words import STOP_WORDS

MOST_SENTENCES: Final = 12
"""A longer message is embedded as a whole: each sentence is another text to embed."""
RELATED: Final = 0.1
"""From this calibrated cosine with the question on, a sentence has to do with it."""
SHARES: Final = (1.0, 2.0)
"""The weights of the message and of its question."""

_LEAST: Final = 2
"""The telling words of a question that can be understood by itself."""

_REFERRING: Final = frozenset(
    """it this that these those they them their he she his him her there then next so such else one ones same above
    below here now first second last also too more other another instead think sound sounds help
    es das dies diese dieser dieses davon dazu dafür damit er sie ihm ihn ihr ihre dort dann nächste nächster nächsten
    eso esto ese esa esos esas ello él ella ellos ellas allí entonces siguiente próximo próxima""".split()
)
"""Words by which a question refers to what was said before it."""

_BREAK: Final = lazy_pattern(r"[.!?\n。！？]")
_WORD: Final = lazy_pattern(r"\w+")


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
    if not asking or not others or len(parts) > MOST_SENTENCES:
        return None
    return (question, others) if len(telling) >= _LEAST and _REFERRING.isdisjoint(words) else None


def with_question(whole: Embedding, question: Embedding, others: Sequence[Embedding], unrelated: float) -> Embedding:
    """The embedding of a message, two thirds of it that of its question where one of its other sentences has nothing to
    do with the question. `unrelated` is the embedder's cosine of unrelated texts."""
    if not has_direction([question]) or not has_direction([whole]):
        return whole
    question_numbers = numbers(question)
    if all(calibrated(dot(question_numbers, numbers(other)), unrelated) >= RELATED for other in others):
        return whole
    return mean_vector([whole, question], SHARES)
