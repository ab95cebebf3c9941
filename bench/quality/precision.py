"""PrecisionMemBench: a fixed set of beliefs, and queries with the beliefs that must come back and no others.

https://github.com/tenurehq/precisionMemBench has `fixtures/beliefs.seed.json` and `fixtures/retrieval.cases.json`. A
belief is in a scope, may be pinned, and may have another in its place. As there, a query is asked of the beliefs of
its scopes, without those that are pinned or open questions, which are shown without a search, and without those that a
pinned one supersedes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput
from steeltrap.model import Draft

from .sets import Question, Space, parsed

BELIEFS: Final = "beliefs.seed.json"
_CASES: Final = "retrieval.cases.json"
_USER: Final = "test-user"

Belief = dict[str, Any]


def spaces(folder: Path) -> list[Space]:
    """A space per set of scopes that is asked. Cases of other users, of a budget or without a query are left out, since
    they don't ask the search. Raises NotFound or InvalidInput."""
    beliefs, cases = parsed(folder / BELIEFS), parsed(folder / _CASES)
    try:
        by_scopes: dict[frozenset[str], list[Question]] = {}
        for case in cases:
            if case["query"].strip() and not case.get("budget") and case.get("userId", _USER) == _USER:
                by_scopes.setdefault(frozenset(case["scope"]), []).extend(_questions(case))
        return [_space(beliefs, scopes, questions) for scopes, questions in by_scopes.items() if questions]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"{folder} is not in PrecisionMemBench's form: {type(error).__name__}: {error}.") from None


def _questions(case: dict[str, Any]) -> Iterator[Question]:
    expected = (case["expect"].get("relevantBeliefs") or {}).get("shouldOnlyInclude")
    if expected is not None:
        relevant = frozenset(expected)
        yield Question(
            text=case["query"], category=case["category"], relevant=relevant, miss=None if relevant else "near"
        )


def _space(beliefs: list[Belief], scopes: frozenset[str], questions: list[Question]) -> Space:
    hidden = {belief["_id"] for belief in beliefs if belief["pinned"]}
    for _ in beliefs:  # what is superseded by one that is superseded
        hidden |= {belief["_id"] for belief in beliefs if belief["superseded_by"] in hidden}
    members = {
        belief["_id"]: belief
        for belief in sorted(beliefs, key=lambda belief: str(belief["created_at"]))
        if belief["user_id"] == _USER
        and scopes.intersection(belief["scope"])
        and belief["_id"] not in hidden
        and belief["type"] != "open_question"
    }
    return Space(
        memories={id: _draft(belief) for id, belief in members.items()},
        supersedes=_supersedes(members),
        questions=tuple(questions),
    )


def _draft(belief: Belief) -> Draft:
    """A belief's text, as the makers give it to other systems: its name, its aliases, what it says, why it matters."""
    names = ", ".join([belief["canonical_name"].replace("_", " "), *belief["aliases"]])
    return Draft(content=f"{names}: {belief['content']} {belief['why_it_matters']}")


def _supersedes(members: dict[str, Belief]) -> dict[str, tuple[str, ...]]:
    old_ids: dict[str, tuple[str, ...]] = {}
    for id, belief in members.items():
        if (new := belief.get("superseded_by")) in members:
            old_ids[new] = (*old_ids.get(new, ()), id)
    return old_ids
