"""The order of words tells memories apart that have the same words: literal text, and who did what to whom. Pure.

An address, a version, a path, a number or a quotation means itself: "192.168.1.10" and "192.168.10.1" have the same
words. A memory that has its words in one run is meant, and first of all one that has the whole query.

"Who does Bruno report to?" and "Who reports to Bruno?" have the same words, so neither leg tells "Bruno reports to Ana"
from "Carla reports to Bruno". But an English question keeps the order of its answer once the question word and the
auxiliary are gone: "Bruno report to", "reports to Bruno". Other languages put the verb first for either, so only
English is read. A module of its own: few searches need it.
"""

from collections.abc import Sequence
from itertools import chain, islice
from typing import Final

from ..model.frozen import frozen
from ..text.patterns import lazy_pattern
from ..text.sentences import sentences
from ..text.words import STOP_WORDS, is_cjk, runs, tokens, word_tokens

MOST_WORDS: Final = 6
"""A longer question has enough words to tell memories apart."""
_LONGEST_QUESTION: Final = 200
_LONGEST_TEXT: Final = 1_000
"""Characters of the longest memory whose order is compared: in a long one words meet by chance."""
_WORD: Final = lazy_pattern(r"[\w'\u2019]+")
_QUESTION_WORDS: Final = frozenset("who whom whose what which when where why how".split())
_BE: Final = frozenset("am is are was were be been being".split())
_DO: Final = frozenset("do does did".split())
_AUXILIARIES: Final = _DO | _BE | frozenset("has have had will would can could should shall may might must".split())
_PERSONS: Final = frozenset("i me you he him she her it we us they them".split())
"""Words that tell no topic, but can be who does something, or whom it is done to."""

_ITSELF: Final = 2.0
"""More than what has the query and more can gain by its meaning, which the words of a date are no part of."""
_PARTS: Final = 0.2
_NAMES_ITSELF: Final = lazy_pattern(r"[0-9]|[^\W_][._/\\@:#+=~&][^\W]")
"""A digit, or a mark inside a word that no sentence has there."""
_MARKS: Final = frozenset("._/\\@:#=~&+-")
_FEWEST_PARTS: Final = 3
_ASCII_PART: Final = lazy_pattern("[!-~]+")
_SCHEME: Final = lazy_pattern(r"(?i)^[a-z][a-z0-9+]{1,9}://(?:www\.)?")
_VERSION: Final = lazy_pattern(r" v(?=[0-9])")
_DAY: Final = lazy_pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_OF_DAY: Final = lazy_pattern(r"(?i)(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?(?:[ap]m|h)?")
"""It says when something is said or done, more often than what is meant."""
_MOST_READ: Final = 64 * 1024
"""Characters of all texts that are read for literal text."""
_QUOTED: Final = lazy_pattern(
    '"([^"]{2,200})"|\u201c([^\u201d]{2,200})\u201d|`([^`]{2,200})`|\u00ab([^\u00bb]{2,200})\u00bb|\u300c([^\u300d]{2,200})\u300d'
)
_EDGES: Final = ".,;:!?()[]{}<>\"'`\u201c\u201d\u2018\u2019\u2026\u3002\u3001\uff1f\uff01"


@frozen
class Literals:
    """A query as the text that it is: the words of the whole, and of each part that means itself; each word between
    spaces. `whole` is empty for a single word."""

    whole: str
    parts: tuple[str, ...]

    def share(self, text: str) -> float:
        """How much of it a text has literally: 2 for a text that is the query and no more, 1 for one that has the whole
        query, 0.2 for all its parts, 0 for nothing."""
        spaced_text = _spaced(text)
        if self.whole and self.whole in spaced_text:
            return _ITSELF if self.whole == spaced_text else 1.0
        return _PARTS * sum(part in spaced_text for part in self.parts) / len(self.parts) if self.parts else 0.0


def literals(query: str) -> Literals:
    """The literal text of a query: quotations, numbers that follow each other, and what has a mark or a digit inside a
    word, such as an address, a version, a path or an identifier, but not a time of day; each of two words at least."""
    quoted = ["".join(groups) for groups in _QUOTED.findall(query)]
    query = _SCHEME.sub("", query)
    parts: list[str] = []
    numbers: list[str] = []
    for word in [*query.split(), ""]:
        bare = word.strip(_EDGES)
        if bare.lstrip("+").isdigit():
            numbers.append(bare)
            continue
        parts.append(" ".join(numbers))
        numbers = []
        if _NAMES_ITSELF.search(bare) and not _TIME_OF_DAY.fullmatch(bare):
            parts.append(_literal_of(bare))
    phrases = dict.fromkeys(_spaced(part) for part in [*quoted, *parts])
    several = tuple(part for part in phrases if part.count(" ") > 2)
    whole = _spaced(query)
    return Literals(whole=whole if whole.count(" ") > 2 else "", parts=several)


def is_address(query: str) -> bool:
    """Whether a query is one address, version, path or number of three parts at least and nothing else: what only
    shares its words is another one. A date or a time is none."""
    bare = _SCHEME.sub("", query.strip().strip(_EDGES))
    if len(bare.split()) != 1 or len(runs(bare)) < _FEWEST_PARTS or _DAY.match(bare) or _TIME_OF_DAY.fullmatch(bare):
        return False
    is_marked = not _MARKS.isdisjoint(bare) and ("@" in bare or _NAMES_ITSELF.search(bare) is not None)
    return is_marked and _literal_of(bare) == bare


def _literal_of(word: str) -> str:
    """The address in a question without spaces, such as 192.168.1.10 in "192.168.1.10\u306f\u4f55"; else the word.

    A path may have names in such a script.
    """
    if word.isascii() or "/" in word or "\\" in word or not any(map(is_cjk, word)):
        return word
    longest = max(_ASCII_PART.findall(word), key=len, default="").strip(_EDGES)
    return longest if len(runs(longest)) >= _FEWEST_PARTS else word


_LETTER: Final = r"A-Za-z\u00c0-\u024f"
_LONG_CODE: Final = (
    "(?=[0-9A-Fa-f:-]{10}[0-9A-Fa-f])[0-9A-Fa-f]{1,12}(?:(?:-[0-9A-Fa-f]{1,12}){2,7}|(?:::?[0-9A-Fa-f]{1,4}){3,7})"
)
_CODE: Final = lazy_pattern(
    rf"(?<![{_LETTER}0-9_.-])(?:({_LONG_CODE})|([{_LETTER}]{{1,5}})(-?)([0-9]+(?:-[0-9]+)*)"
    rf"|v?([0-9]+(?:\.[0-9]{{1,3}}){{2,3}}))(?![{_LETTER}0-9_-]|[.,:/][0-9])"
)
"""Up to five letters and numbers, together or with hyphens between, such as AY133, OPS-222 and INV-2024-001; three or
four numbers with dots, such as 10.0.0.7 and v2.3.1; or hexadecimal numbers with hyphens or colons, longer than a date
or a time: an order 302-8841973-5521100, a UUID, an address of hardware or of IPv6."""
_DIGIT: Final = lazy_pattern("[0-9]")
_MOST_CODES: Final = 8
"""Codes of a question that are compared, the first ones."""
Code = tuple[str, tuple[str, ...]]
"""The letters of a code in lower case, none of one that is numbers alone, and its numbers."""


def _codes(text: str) -> dict[Code, tuple[str, ...]]:
    """The codes of a text, each with the tokens that tell whether any memory has it; none of one that is numbers alone,
    which others have in another order."""
    codes: dict[Code, tuple[str, ...]] = {}
    for long, letters, hyphen, numbers, dotted in _CODE.findall(text):
        if long or dotted:
            codes["", tuple((long or dotted).casefold().replace(":", "-").replace(".", "-").split("-"))] = ()
            continue
        parts = tuple(numbers.split("-"))
        joined = () if hyphen else (letters.casefold() + parts[0], *parts[1:])
        codes[letters.casefold(), parts] = joined or parts
    return codes


def replaced_codes(query: str, text: str) -> list[tuple[str, ...]]:
    """The codes that a question asks for in whose place a text has another of the same kind, AY132 for AY133 or
    10.0.0.8 for 10.0.0.7, and none of the question's: of each the tokens that tell whether any memory has it, none
    where no tokens can.

    What is said beside a question ("I am on OPS-222. How do we name branches?") is not asked for.
    """
    asked = [sentence for sentence in sentences(query) if sentence.rstrip().endswith(("?", "\uff1f"))]
    codes = dict(islice(_codes("\n".join(asked) or query).items(), _MOST_CODES))
    in_text = _codes(text).keys() if codes else set()
    if not in_text.isdisjoint(codes):
        return []
    return [tokens for code, tokens in codes.items() if any(_are_of_a_kind(code, other) for other in in_text)]


def has_code(text: str) -> bool:
    """Whether a text has a code such as AY133, OPS-222, 10.0.0.7 or 302-8841973-5521100."""
    # Few questions have a digit; to look for one takes a tenth of the time.
    return _DIGIT.search(text) is not None and _CODE.search(text) is not None


def _are_of_a_kind(code: Code, other: Code) -> bool:
    """Whether two codes have the same letters, or, of those that are numbers alone, half of the first one's."""
    (letters, numbers), (others_letters, others_numbers) = code, other
    return letters == others_letters and (letters != "" or 2 * len({*numbers} & {*others_numbers}) >= len({*numbers}))


def _spaced(text: str) -> str:
    """The folded words of a text, each between spaces; Chinese, Japanese and Korean characters are words here. A
    version is the same with a v before it."""
    return _VERSION.sub(" ", f" {' '.join(runs(text))} ")


def share_each(query: Literals, texts: Sequence[str]) -> list[float]:
    """`share` of each text, 0 from where they are too long to be read."""
    room, shares = _MOST_READ, []
    for text in texts:
        room -= len(text)
        shares.append(query.share(text) if room >= 0 else 0.0)
    return shares


@frozen
class AnswerOrder:
    """The tokens of a question in the order in which an answer has them. `verb` is the place of the verb where the
    question may ask for the subject, as in "Who manages Erik?"."""

    tokens: tuple[str, ...]
    verb: int | None = None


def answer_order(query: str) -> AnswerOrder | None:
    """The order of a question's words in an answer; None where it tells nothing.

    "Who is Erik managed by?" and "Who manages Erik?" have the same.
    """
    asker, words = _asked(_words(query)) if len(query) <= _LONGEST_QUESTION else ("", [])
    # "Which team does Ana lead?" asks for what comes last.
    place = next((place for place, word in enumerate(words[:3]) if word in _AUXILIARIES), None)
    verb = {"who": 0, "what": 0, "which": 1, "whose": 1}.get(asker)
    if place is None:
        # "When the shop opens" and "where Bob works" are no questions about who does what.
        return _order_of(words, verb) if verb is not None else None
    if (passive := _active(words)) is not None:
        return _order_of(passive, 0 if words[-1] == "by" else None)
    rest = words[place + 1 :]
    # "Where is the key to the office?" has no verb that anybody does.
    if words[place] in _BE and not any(word.endswith("ing") for word in rest[:3]):
        return None
    return _order_of(rest, None if words[place] in _DO or asker != "who" else 0)


def is_in_order(text: str, ordered_tokens: Sequence[str]) -> bool:
    """Whether a sentence of a text has these tokens in this order."""
    return any(_has_in_order(sentence, ordered_tokens) for sentence in _sentences(text))


def out_of_order(text: str, order: AnswerOrder) -> tuple[str, ...]:
    """The tokens of a question that a text has, in the order of an answer, where a sentence has them in other roles and
    none has them in these; () for any other text."""
    text_sentences = _sentences(text)
    every = {token for sentence in text_sentences for token in sentence}
    shared = tuple(token for token in order.tokens if token in every)
    if (
        len(set(shared)) < 2
        or shared[0] != order.tokens[0]
        or any(_has_in_order(one, shared) for one in text_sentences)
    ):
        return ()
    having = [sentence for sentence in text_sentences if set(shared).issubset(sentence)]
    return shared if any(_has_other_roles(sentence, shared, order) for sentence in having) else ()


def _has_in_order(sentence: Sequence[str], ordered_tokens: Sequence[str]) -> bool:
    rest = iter(sentence)
    return all(token in rest for token in ordered_tokens)


def _has_other_roles(sentence: list[str], shared: Sequence[str], order: AnswerOrder) -> bool:
    """Whether somebody else does it to the subject, or the object does it to somebody else.

    "Opening hours of the shop" has neither for "When does the shop open?".
    """
    last = len(sentence) - 1 - sentence[::-1].index(shared[0])
    is_done_to = any(0 < sentence.index(token) < last for token in shared[1:])
    verb = None if order.verb is None else order.tokens[order.verb]
    return is_done_to or (verb is not None and verb in shared and 0 < sentence.index(verb) < len(sentence) - 1)


def _sentences(text: str) -> list[list[str]]:
    """The tokens of each sentence, of a passive one in the order of an active one; none of a long text."""
    if len(text) > _LONGEST_TEXT:
        return []
    return [_tokens(_active(words) or words) for words in map(_words, sentences(text))]


def _tokens(words: Sequence[str]) -> list[str]:
    """The tokens of words that tell a topic or a person."""
    telling = [word for word in words if word not in STOP_WORDS or word in _PERSONS]
    # Plain words have one token each: all at once takes a quarter of the time.
    are_plain = (letters := "".join(telling)).isascii() and letters.isalnum()
    each = word_tokens(telling) if are_plain else chain.from_iterable(map(tokens, telling))
    return [token for token in each if token not in STOP_WORDS or token in _PERSONS]


def _asked(words: list[str]) -> tuple[str, list[str]]:
    """The question word and the words after it; of a question without one, such as "Did Ana call?", all words."""
    for place, word in enumerate(words):
        if word in _QUESTION_WORDS:
            return word, words[place + 1 :] + (["by"] if words[:place][-1:] == ["by"] else [])
    return "", words if words[:1] and words[0] in _DO else []


def _active(words: list[str]) -> list[str] | None:
    """A passive sentence in the order of an active one, "Erik is managed by Paul" as "Paul managed Erik"; None for any
    other."""
    for be, word in enumerate(words):
        if word in _BE and "by" in words[be + 2 : be + 5]:
            by = words.index("by", be + 2)
            predicate, doer = words[be + 1 : by], words[by + 1 :]
            # "Who is Erik managed by?"
            return [*doer, *predicate, *words[:be]] if doer else [*predicate[-1:], *predicate[:-1]]
    return None


def _order_of(words: Sequence[str], verb: int | None) -> AnswerOrder | None:
    order_tokens = tuple(_tokens(words))
    return AnswerOrder(tokens=order_tokens, verb=verb) if 2 <= len(order_tokens) <= MOST_WORDS else None


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
