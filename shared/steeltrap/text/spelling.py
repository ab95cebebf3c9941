"""Spelling: words of a query that nobody has, and what else they may have been meant to be. Pure but for the list of
English words, which is read once.

A misspelt word is corrected by the user's own words alone, never by a dictionary: only what is stored can be found. A
dictionary says what not to correct: "wifi" is a word, so it doesn't mean "wife". A query with a word such as "what" or
"my" is English, and the list of English words is its dictionary. Any other needs one that knows most of its words:
in a language that no dictionary has, every form of a word would look misspelt. A word alone is corrected where no
dictionary knows it, whatever its language.

`english_words.bin` has the first bytes of the hashes of 47,000 stems, sorted. The words are those of symspellpy's
frequency dictionary (MIT; made from SCOWL and Google Books Ngram, CC BY 3.0) and of BERT's vocabulary (Apache-2.0).
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from .words import ends_as_inflected, runs, with_tokens_in, word_tokens

_KEY_BYTES: Final = 5
_SHORTEST: Final = 4
_SHORTEST_ELSEWHERE: Final = 5
"""Letters of the shortest word that is corrected in another language than English: short ones are often forms of
others."""
_SHORTEST_STEM: Final = 2
_LONGEST: Final = 20
_ENGLISH_ONLY: Final = frozenset(
    """the what where when who whose which how why are were does did do has have had should would could can my your
    his her our their you they with of and for this that there from about any not""".split()
)
"""Words of many questions in English, and of few in another language."""
_MOST_WORDS: Final = 2
"""Misspelt words of one query that are corrected."""
_MOSTLY: Final = 2 / 3
"""The share of the other words of a query that its dictionary has at least."""
_SHORTEST_TELLING: Final = 3
"""Letters of the shortest word that tells whether a dictionary is that of a query."""
_END: Final = 3
"""From so many letters before the end on, an edit may change the last two letters."""
ALPHABETS: Final = (
    "abcdefghijklmnopqrstuvwxyz",
    "абвгґдеєжзиійклмнопрстуфхцчшщъыьэюя",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهويةءأإؤئى",
)
"""Folded letters of each script whose words are corrected."""
_WORD: Final = re.compile(r"\w+")
_PATH: Final = Path(__file__).with_name("english_words.bin")


def misspelt(query: str, frequencies: Mapping[str, int], knows: Callable[[str], bool] | None = None) -> list[str]:
    """The words of a query that no memory has and its language hasn't either, at most two. `frequencies` says how many
    memories have each token of the query; `knows` is a dictionary of lower-case words of languages beside English."""
    missing = {token for token, count in frequencies.items() if not count}
    starts = {token[:_SHORTEST_STEM] for token in missing}
    spellings = {word[0]: lowered for lowered in _words(query) if len(word := _runs(lowered)) == 1}
    is_in_english = not _ENGLISH_ONLY.isdisjoint(spellings)
    if not is_in_english and knows is None:
        return []
    shortest = _SHORTEST if is_in_english else _SHORTEST_ELSEWHERE
    long = (word for word in spellings if shortest <= len(word) <= _LONGEST and word[:_SHORTEST_STEM] in starts)
    strange = (word for word in long if _token(word) in missing and _alphabet(word) and not is_english(word))
    if is_in_english or knows is None:
        wrong = [word for word in strange if word.isascii()]
        return wrong if len(wrong) <= _MOST_WORDS else []
    wrong = [word for word in strange if not knows(spellings[word])]
    others = [lowered for word, lowered in spellings.items() if word not in wrong and len(word) >= _SHORTEST_TELLING]
    if not others:
        # One word alone may be of any language. In capitals it is a code, or an abbreviation.
        return wrong if len(wrong) == 1 and not query.isupper() else []
    return wrong if len(wrong) <= _MOST_WORDS and _are_mostly_known(others, knows) else []


def _are_mostly_known(words: Sequence[str], knows: Callable[[str], bool]) -> bool:
    return sum(map(knows, words)) >= _MOSTLY * len(words)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text) if word.isalpha()]


def _runs(word: str) -> Sequence[str]:
    return (word,) if word.isascii() else runs(word)


def _alphabet(word: str) -> str:
    """The alphabet that a folded word is written in; "" for one that isn't corrected."""
    return next((letters for letters in ALPHABETS if set(word).issubset(letters)), "")


def corrections(word: str, vocabulary: Set[str] | None = None) -> dict[str, list[str]]:
    """The words that one may have been meant to be, by the token of each: one letter left out, added, replaced, or two
    that follow each other swapped. With a vocabulary only those whose tokens it has: mostly none. Of those with one
    token the ones with the same first letter are first: few misspell that."""
    others = list(dict.fromkeys(_edits(word) if vocabulary is None else _edits_near(word, vocabulary)))
    tokens = word_tokens(others)
    if vocabulary is not None and vocabulary.isdisjoint(tokens):
        return {}
    by_token: dict[str, list[str]] = {}
    for other, token in zip(others, tokens, strict=True):
        if vocabulary is None or token in vocabulary:
            by_token.setdefault(token, []).append(other)
    by_token.pop(_token(word), None)
    return by_token


def best_corrections(word: str, near: Mapping[str, Sequence[str]], frequencies: Mapping[str, int]) -> list[str]:
    """The tokens of a word's corrections that any memory has: those with the same first letter first, then those that
    more memories have, then in the order of `near`."""
    if not any(frequencies.values()):
        return []
    having = [token for token in near if frequencies.get(token)]
    return sorted(having, key=lambda token: (near[token][0][0] != word[0], -frequencies[token]))


def as_written(others: Sequence[str], token: str, text: str) -> str:
    """The one of some words with this token that a text has, or else the text's own form of it."""
    words = list(dict.fromkeys(runs(text)))
    forms = [word for word, own in zip(words, word_tokens(words), strict=True) if own == token]
    return next((other for other in others if other in forms), next(iter(forms), others[0]))


def is_english(word: str) -> bool:
    """Whether English has a word, or another form of it."""
    keys, word_key = _english_keys(), key(word)
    place = bisect_left(range(len(keys) // _KEY_BYTES), word_key, key=lambda at: _key_at(keys, at))
    return _key_at(keys, place) == word_key


def key(word: str) -> bytes:
    """The key of a word's stem in the list."""
    return blake2b(_token(word).encode(), digest_size=_KEY_BYTES).digest()


@cache
def _english_keys() -> bytes:
    return _PATH.read_bytes()


def _key_at(keys: bytes, place: int) -> bytes:
    return keys[place * _KEY_BYTES : (place + 1) * _KEY_BYTES]


def _token(word: str) -> str:
    return word_tokens([word])[0]


def _edits_near(word: str, vocabulary: Set[str]) -> list[str]:
    """The edits of a word whose token a vocabulary has, and some others."""
    # Nearly all edits of a word that ends as an inflected one do so too: a look at their letters would leave out few.
    if ends_as_inflected(word) or len(word) <= _END:
        return _edits(word)
    first_of_end = len(word) - _END
    inner, end = _edits(word, range(1, first_of_end)), _edits(word, range(first_of_end, len(word) + 1))
    near = [with_tokens_in(edits, vocabulary, ends_alike=edits is not end) for edits in (inner, end, _edits(word, [0]))]
    return [edit for edits in near for edit in edits]


def _edits(word: str, places: Iterable[int] | None = None) -> list[str]:
    """The words that one edit makes at some places, by default from the second letter on to the last, then those of the
    first letter: of each place swapped with the next letter, left out, replaced, and with a letter before it. Some are
    there twice.

    Damerau (1964) found one of these four in eight of ten misspelt words.
    """
    letters = _alphabet(word)
    edits: list[str] = []
    for at in (*range(1, len(word) + 1), 0) if places is None else places:
        head, tail = word[:at], word[at:]
        rest = tail[1:]
        if rest:
            edits.append(head + rest[0] + tail[0] + rest[1:])
        if tail:
            edits += (head + rest, *_with_each(letters, head, rest))
        edits += _with_each(letters, head, tail)
    return edits


def _with_each(letters: str, head: str, tail: str) -> list[str]:
    """The words with each letter between two parts. One join and one split make them in half the time of a loop."""
    return f"{head}{f'{tail} {head}'.join(letters)}{tail}".split(" ")
