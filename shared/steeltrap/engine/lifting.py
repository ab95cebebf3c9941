"""Lifting: the ranking rules that read memories beside the candidates: their texts, and what superseded them.

Most move some candidates up. The rules that need the candidates alone are in `ranking/scoring.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from ..model import Memory, Query
from ..ranking import choosing
from ..ranking.abbreviations import abbreviations, is_telling
from ..text.patterns import lazy_pattern
from ..text.words import searchable_text
from .call import Call

if TYPE_CHECKING:
    from ..ranking.scored import Column, Scored

_CROWD: Final = 100
"""Half of the fewest candidates that a leg returns."""
_READ_FOR_ABBREVIATIONS: Final = 20
"""Memories, the best ones, that are read for the long form of an abbreviation, or the reverse."""
_ALL_WORDS: Final = 0.8
"""From this share of the query's words on, a memory may have the whole query literally."""
_SAME_WORDS: Final = 0.98
"""From this semantic score on, a memory may have the same words, in whatever order."""
_MARKED: Final = lazy_pattern('[0-9"`\u201c\u00ab\u300c._/\\\\@:#+=~&](?=[^\\s])')
"""A mark that a word has inside, a digit, or the start of a quotation."""
_READ_FOR_NAMES: Final = 3
"""Memories, the best ones, whose names lead to others."""
_MOST_OF_A_NAME: Final = 4
"""Memories that have a name which tells something: one that more have is what the user talks about anyway."""
_ROUNDING: Final = 1e-6
"""How far a lift keeps a memory below the one that leads to it."""


def successors(call: Call, scored: "Scored", limit: int) -> dict[int, str]:
    """The successor of each superseded candidate that would be among the best `limit`, by its place: in a chain the id
    of the last memory."""
    ids = {place: scored.candidates.ids[place] for place in scored.superseded(limit).tolist()}
    last = _ends(call.space.successions(list(ids.values())), ids.values()) if ids else {}
    return {place: last[id] for place, id in ids.items() if id in last}


def are_crowded_out(scored: "Scored", newest: Mapping[int, str]) -> bool:
    """Whether so many superseded memories are candidates that what superseded them may not be one."""
    current = set(scored.current(scored.above(-2.0, related_only=False)).tolist())
    superseded = len(scored.candidates) - len(current)
    return superseded >= _CROWD and any(scored.candidates.place(id) not in current for id in set(newest.values()))


def give_scores_to_successors(call: Call, scored: "Scored", newest: Mapping[int, str], of: "Scored") -> None:
    """Give candidates the scores that `of` has for what they superseded, where those are higher."""
    places = {old: scored.candidates.place(id) for old, id in newest.items()}
    newer_places = {old: place for old, place in places.items() if place is not None}
    if newer_places:
        scored.inherit(newer_places, call.rules.ranking.superseded, of)


def lift_past(call: Call, scored: "Scored") -> None:
    """Put superseded memories before what superseded them, for a query that asks for the past: what holds since March
    says more of "before March" than what held until then."""
    ids = {place: scored.candidates.ids[place] for place in scored.past().tolist()}
    lift = call.rules.ranking.past
    if not ids or lift <= 0:
        return
    newer = call.space.successions(list(ids.values()))
    places = {place: scored.candidates.place(newer[id]) for place, id in ids.items() if id in newer}
    scored.precede({place: successor for place, successor in places.items() if successor is not None}, lift)


def _ends(newer: Mapping[str, str], ids: Iterable[str]) -> dict[str, str]:
    """Where the chains that begin with some ids end. Each link is followed once; a circle ends where it closes."""
    end: dict[str, str] = {}
    for id in ids:
        path: dict[str, None] = {}
        last = id
        while last in newer and last not in end and last not in path:
            path[last] = None
            last = newer[last]
        end |= dict.fromkeys(path, end.get(last, last))
    return end


def lift_by_wording(
    call: Call, scored: "Scored", passed: "Column", query: str, memories: int, *, names_days: bool
) -> None:
    """Lift those of so many memories whose text fits the words of a query better than the scores tell."""
    _lift_abbreviated(call, scored, passed, query, memories)
    _lift_literal(call, scored, passed, query, names_days)
    _lift_by_order(call, scored, passed, query)


def _lift_abbreviated(call: Call, scored: "Scored", passed: "Column", query: str, memories: int) -> None:
    """Lift those of the best memories that say "New Year's Eve" where the query says NYE, or the reverse."""
    lift = call.rules.ranking.abbreviation
    forms = abbreviations(query, scored.candidates.frequencies) if lift > 0 else None
    if forms is None:
        return
    places = scored.leading(passed, _READ_FOR_ABBREVIATIONS)
    texts = _texts(call, scored, places, searchable_text)
    long_forms = {place: long for place, text in zip(places, texts, strict=True) if (long := forms.spelled_by(text))}
    if long_forms:
        scored.add("abbreviation", list(long_forms), lift)
        scored.raise_legs([place for place, long in long_forms.items() if is_telling(long)], lift)
        # Of a memory that says something else of the query as well, two initials confirm it.
        floor = choosing.floor(query, scored.candidates.frequencies, memories)
        scored.guess([place for place in long_forms if scored.legs[place] < floor], lift)


def _may_be_literal(scored: "Scored", query: str, names_days: bool) -> bool:
    """Whether a candidate may have the whole query: few memories are questions, and those are near it in meaning. One
    that is longer than most says all of it by its meaning, and scores less by its words; so does one with the words of
    a day."""
    nearest = scored.semantic.max(initial=0.0)
    if query.rstrip().endswith(("?", "\uff1f")) and nearest < _ALL_WORDS:
        return False
    return names_days or bool(nearest >= _SAME_WORDS) or scored.says_all(_ALL_WORDS)


def _lift_literal(call: Call, scored: "Scored", passed: "Column", query: str, names_days: bool) -> None:
    """Lift memories that have the query, or its identifiers and quotations, word for word."""
    weight = call.rules.ranking.literal
    if weight <= 0 or not (_MARKED.search(query) or _may_be_literal(scored, query, names_days)):
        return
    from ..ranking.word_order import is_address, literals, share_each

    literal = literals(query)
    # Of what names itself, a long memory may say all, and score less than a short one that says some. Where days are
    # named, they are looked for too, and what has none of them scores less.
    least = 0.0 if names_days or is_address(query) else _ALL_WORDS
    places = scored.wordiest(passed, least) if literal.whole else []
    if not places:
        return
    shares = share_each(literal, _texts(call, scored, places, attrgetter("content")))
    if any(shares):
        scored.add("literal", places, [weight * share for share in shares])


def names_another(call: Call, scored: "Scored", passed: "Column", question: str, query: Query) -> bool:
    """Whether a question is an address, a version or a path, and no memory that was read for it has it word for word;
    or asks for a code such as AY133, which no memory that the filter admits has, and the best one has AY132."""
    if call.rules.ranking.literal <= 0 or "literal" in scored.boosts:
        return False
    from ..ranking.word_order import has_code, is_address, replaced_codes

    if _MARKED.search(question) and is_address(question):
        return True
    if not has_code(question):
        return False
    text = next(iter(_texts(call, scored, scored.leading(passed, 1), searchable_text)), "")
    frequencies = scored.candidates.frequencies
    return any(
        not tokens or not all(map(frequencies.get, tokens)) or not _are_within(call, query, tokens)
        for tokens in replaced_codes(question, text)
    )


def _are_within(call: Call, query: Query, tokens: Iterable[str]) -> bool:
    """Whether memories that the filter admits have each of some tokens: frequencies are those of all memories."""
    if query.filter.is_open():
        return True
    words = replace(query, embedding=None, per_leg=1, by_term=False, with_superseded=False, during=())
    matches = (call.space.search(replace(words, tokens=(token,))) for token in tokens)
    return all(of_one.degraded or len(of_one.candidates) for of_one in matches)


def _lift_by_order(call: Call, scored: "Scored", passed: "Column", query: str) -> None:
    """Lift memories that have a question's words in their order above the best, where that has the same words in
    another: only then does the order tell more than the scores."""
    from ..ranking.word_order import answer_order, is_in_order, out_of_order

    lift = call.rules.ranking.order
    order = answer_order(query) if lift > 0 and scored.is_contested(passed, lift) else None
    places = scored.rivals(passed, lift) if order else []
    if order is None or len(places) < 2:
        return
    texts = _texts(call, scored, places, searchable_text)
    if shared := out_of_order(texts[0], order):
        fitting = [place for place, text in zip(places, texts, strict=True) if is_in_order(text, shared)]
        scored.add("order", fitting, lift)


def lift_named(call: Call, scored: "Scored", passed: "Column", question: str, query: Query) -> None:
    """Lift what else is known of whom one of the best memories names: "Ana's mother Graça lives alone" says that what
    is stored of Graça may answer a question about Ana's mum.

    Only where the best is not sure to be all that the question asks for, and by the names of the best memory that has
    any which few have. What leads to a memory stays before it, and none becomes more likely. The names are noted for
    `why`.
    """
    weight = call.rules.ranking.name
    if weight <= 0 or scored.confidence is None or not len(passed) or scored.is_sure(passed, question):
        return
    places = [at for at in scored.leading(passed, _READ_FOR_NAMES) if scored.legs[at] >= choosing.FLOOR]
    texts = _texts(call, scored, places, attrgetter("content"))
    named = {place: choosing.other_names(text, query.tokens) for place, text in zip(places, texts, strict=True)}
    every = tuple(dict.fromkeys(token for names in named.values() for token in names))
    if not every:
        return
    words = replace(query, embedding=None, per_leg=_MOST_OF_A_NAME, by_term=False, with_superseded=False, during=())
    first = call.space.search(replace(words, tokens=every))
    most = min(_MOST_OF_A_NAME, first.stored // 2)
    if first.degraded:
        return  # its frequencies are those of a few memories
    for place, names in named.items():
        rare = tuple(token for token in names if 2 <= first.candidates.frequencies.get(token, 0) <= most)
        if rare:
            matches = first if rare == every else call.space.search(replace(words, tokens=rare))
            others = [at for at in map(scored.candidates.place, matches.candidates.ids) if at not in (None, place)]
            if others:
                room = scored.score[place] - scored.score[others] - _ROUNDING
                lift = weight * float(scored.legs[place]) / sqrt(len(others))
                scored.add("name", others, room.clip(0.0, lift).tolist())
                scored.note_names({token: names[token] for token in rare})
            return


def _texts(call: Call, scored: "Scored", places: Sequence[int], text: Callable[[Memory], str]) -> list[str]:
    """The text of the candidate at each place; "" for one that is gone."""
    ids = [scored.candidates.ids[place] for place in places]
    memories = call.space.get(ids)
    return [text(memories[id]) if id in memories else "" for id in ids]
