"""What a search says of its answer, above all of an empty one. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Final

from ..model import Days, Hit, Matches, Outcome, OutcomeKind, Search
from ..rules.days import minute_text

WORDLESS: Final = Outcome(
    kind=OutcomeKind.NOTHING_MATCHED, message="The query has no word to search by; say what to look for."
)


def nothing_relevant(days: Sequence[Days]) -> Outcome:
    """The outcome of a search whose best memory is unrelated to the query, and to the days that it names."""
    if not days:
        return Outcome(kind=OutcomeKind.NOTHING_RELEVANT, message="Nothing about this is stored.")
    first, last = days[-1]
    named = first.isoformat() if first == last else f"{first.isoformat()} to {last.isoformat()}"
    return Outcome(kind=OutcomeKind.NOTHING_RELEVANT, message=f"No stored memory is about this and {named}.")


def told(request: Search, matches: Matches, hits: Sequence[Hit], found: int, zone: tzinfo | None) -> Outcome:
    """The outcome of a search that found so many memories, of which the hits are shown, to somebody in a zone."""
    more = found - len(hits)
    if matches.degraded:
        incomplete = f"The answer may be incomplete: {matches.degraded}"
        return Outcome(kind=OutcomeKind.DEGRADED, message=incomplete, more=more)
    parts = sum(hit.left_out > 0 for hit in hits)
    if more or parts:
        shown = f"{len(hits)} of {found} are shown" + (f", {parts} of them in part" if parts else "")
        cut = f"{shown}: the answer is cut at about {request.max_tokens:,} tokens."
        return Outcome(kind=OutcomeKind.FOUND, message=cut, more=more)
    if hits:
        return Outcome(kind=OutcomeKind.FOUND, message=f"{len(hits)} found.")
    if not matches.stored:
        return Outcome(kind=OutcomeKind.NOTHING_STORED, message="Nothing is stored yet.")
    as_of = request.filter.as_of
    if not matches.admitted and as_of is not None and replace(request.filter, as_of=None).is_open():
        return Outcome(
            kind=OutcomeKind.FILTERED_OUT,
            message=f"Nothing was stored yet at {minute_text(as_of, zone)}; "
            "search with a later `as_of`, or without it.",
        )
    if not matches.admitted:
        return Outcome(
            kind=OutcomeKind.FILTERED_OUT,
            message=f"None of the {matches.stored} stored memories pass the filter; search with fewer conditions.",
        )
    cosines = matches.candidates.cosine
    best = None if cosines is None or not len(cosines) else round(float(cosines.max()), 4)
    if request.min_similarity > 0 and best is not None:
        return Outcome(
            kind=OutcomeKind.BELOW_FLOOR,
            message=f"The nearest memory has similarity {best}, below {request.min_similarity:g}; lower the threshold.",
            best_score=best,
        )
    return Outcome(kind=OutcomeKind.NOTHING_MATCHED, message="No memory matches; try other words.", best_score=best)
