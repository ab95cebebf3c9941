"""Fitting results into a number of tokens: the best come first, and a long one is shown in part. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from math import log
from typing import Final, NamedTuple

from ..model import MAX_CONTENT_BYTES, Hit, Sized, Sizing
from ..text.words import query_tokens, tokens

# `sentences` compiles expressions that a search needs only if a text has to be cut: a part of a function's cold start.

PREVIEW_TOKENS: Final = 64
"""Tokens of a longer text that are shown at least; otherwise nothing of it is."""
OPENING: Final = 0.2
"""Texts tend to open with their point: another part is shown only if it has as much more of the query's words."""
_LONGEST_PART: Final = 240
"""Characters. Code, tables and logs have no sentences, so longer ones are looked at piece by piece."""
_CHUNK_TOKENS: Final = 160
"""About the 640 characters of a chunk."""
_MARK: Final = "…"
_MARKED: Final = 2
"""Tokens that a mark and its space take at one end, at most."""


class Shown(NamedTuple):
    """A result that fits: its text or a part of it, and the tokens that are left out; 0 if it is whole."""

    text: str
    left_out: int


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model reads: four ASCII characters, or one other character, each."""
    plain = sum(1 for char in text if char < "\x80")
    return (plain + 3) // 4 + len(text) - plain


def fit(hits: Sequence[Hit], query: str, budget: int, sized: Sizing | None) -> list[Hit]:
    """The first memories, as many as fit: with previews where `sized` measures them, else whole, and at least one."""
    if sized is None:
        return list(hits[: count_whole([hit.memory.content for hit in hits], budget)])
    return [
        replace(hit, preview=part.text, left_out=part.left_out) if part.left_out else hit
        for hit, part in zip(hits, pack(map(sized, hits), query, budget), strict=False)
    ]


def in_part(text: str, query: str = "") -> Shown:
    """A text whole, or of one that is longer than most memories can be, such as a file, the best chunk for a query; the
    beginning without one."""
    if len(text) * 4 <= MAX_CONTENT_BYTES or len(text.encode()) <= MAX_CONTENT_BYTES:
        return Shown(text, 0)
    part = preview(text, query, _CHUNK_TOKENS)
    return Shown(part, estimate_tokens(text) - estimate_tokens(part))


def long_in_part(hits: Sequence[Hit], query: str) -> list[Hit]:
    """The same results, the texts of very long ones in part."""
    return [_in_part(hit, query) for hit in hits]


def _in_part(hit: Hit, query: str) -> Hit:
    text, left_out = in_part(hit.memory.content, query)
    if not left_out:
        return hit
    return replace(hit, memory=replace(hit.memory, content=text), left_out=left_out)


def count_whole(texts: Sequence[str], budget: int) -> int:
    """How many texts from the front fit into `budget` tokens; the first one always does."""
    used = 0
    for count, text in enumerate(texts):
        used += estimate_tokens(text)
        if count and used > budget:
            return count
    return len(texts)


def pack(results: Iterable[Sized], query: str, budget: int) -> list[Shown]:
    """The first results, as many as fit into `budget` tokens; those after them are left out.

    Each gets room for its text, or for a preview of it. The rest of the room goes to the best of them, for more of
    their text or all of it. So the answer is never above the budget, and a larger budget shows the same results or
    more of them.
    """
    fitting = list(_fitting(results, budget))
    room = budget - sum(_least(result) for result in fitting)
    query_words = frozenset(query_tokens(query))
    parts = []
    for result in fitting:
        length = estimate_tokens(result.text)
        some = min(length, PREVIEW_TOKENS)
        if length - some + result.rest <= room:
            room -= length - some + result.rest
            parts.append(Shown(result.text, 0))
            continue
        more = min(length - some, room)
        room -= more
        text = _preview(result.text, query_words, some + more)
        parts.append(Shown(text, result.rest + length - estimate_tokens(text)))
    return parts


def preview(text: str, query: str, size: int) -> str:
    """The part of a text that answers a query best, within `size` tokens; marks show where something is left out.

    It is the opening, unless another part has clearly more of the query's words, the rare ones above all.
    """
    return _preview(text, frozenset(query_tokens(query)), size)


def _least(result: Sized) -> int:
    return result.beside + min(estimate_tokens(result.text), PREVIEW_TOKENS)


def _fitting(results: Iterable[Sized], budget: int) -> Iterator[Sized]:
    for result in results:
        budget -= _least(result)
        if budget < 0:
            return
        yield result


def _preview(text: str, query_words: Set[str], size: int) -> str:
    if estimate_tokens(text) <= size:
        return text
    if size <= 2 * _MARKED:
        return _beginning(text, size)
    start = _best_start(text, query_words, size - 2 * _MARKED)
    before = f"{_MARK} " if start else ""
    part = _beginning(text[start:], size - (2 * _MARKED if start else _MARKED)).rstrip()
    after = f" {_MARK}" if start + len(part) < len(text.rstrip()) else ""
    return before + part + after


def _best_start(text: str, query_words: Set[str], room: int) -> int:
    """Where the preview begins: at 0, or so that the part with most of the query's words lies in its middle."""
    parts = [(start, text[start:stop]) for start, stop in _parts(text)]
    word_sets = [query_words & set(tokens(part)) for _, part in parts]
    weights = _worth(query_words, word_sets)
    sizes = [estimate_tokens(part) + 1 for _, part in parts]
    scores = list(_scores(word_sets, sizes, room, weights))
    best = max(scores, default=0.0)
    if not scores or scores[0] + OPENING * sum(weights.values()) >= best:
        return 0
    first = scores.index(best)
    last = first
    while last + 1 < len(scores) and scores[last + 1] == best:
        last += 1
    first = (first + last + 1) // 2
    while estimate_tokens(text[parts[first - 1][0] :]) <= room:
        first -= 1
    return parts[first][0]


def _scores(
    word_sets: Sequence[Set[str]], sizes: Sequence[int], room: int, weights: dict[str, float]
) -> Iterator[float]:
    """The value of the words in a preview, for each part that it may begin with. Its end only moves on, so each part
    comes in once and goes once."""
    counts: Counter[str] = Counter()
    end = 0
    for first, size in enumerate(sizes):
        while end < len(word_sets) and (end == first or sizes[end] <= room):
            counts.update(word_sets[end])
            room -= sizes[end]
            end += 1
        yield sum(weights[word] for word in sorted(counts))
        room += size
        counts -= Counter(word_sets[first])


def _worth(query_words: Set[str], word_sets: Sequence[Set[str]]) -> dict[str, float]:
    """The value of each of the query's words: more if fewer parts of the text have it, and most if none has."""
    mentions = Counter(word for words in word_sets for word in words)
    return {word: log(1 + len(word_sets) / (mentions[word] or 0.5)) for word in sorted(query_words)}


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """The bounds of the sentences, the long ones cut at words."""
    from ..text.sentences import cut, sentences

    at = 0
    for sentence in sentences(text):
        at = text.index(sentence, at)
        stop = at + len(sentence)
        while at < stop:
            piece = cut(text[at:stop], _LONGEST_PART)
            yield at, at + len(piece)
            at += len(piece)


def _beginning(text: str, size: int) -> str:
    """The beginning of a text within `size` tokens, at a word where there is one."""
    from ..text.sentences import cut

    head = text[: 4 * size]
    while (over := estimate_tokens(head) - size) > 0:
        head = head[:-over]
    return cut(text, len(head))
