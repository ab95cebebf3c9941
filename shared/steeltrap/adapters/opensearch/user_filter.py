"""What a request may look at: the one place where a user's filter is put into a query.

Every query in this package begins with a `UserFilter`, and a `UserFilter` begins with its user.
"""

from collections.abc import Sequence
from typing import Any

from ...model import FLAGS, PROJECTS, TEXTS, TIMES, Filter, to_micros
from ...model.frozen import frozen
from ...text.matching import compared, fold_category
from .documents import FOREVER
from .terms import document_id, exact, metadata_term, present, tag_term

Clause = dict[str, Any]


@frozen
class UserFilter:
    """One user's documents as they are at `now` (microseconds), those written before `before`, without some."""

    user: str
    now: int
    before: int | None = None
    leave_out: tuple[str, ...] = ()

    def everything(self) -> Clause:
        """All of the user's documents, tombstones and what has expired too."""
        return _all_of(self._bounds())

    def visible(self, filter: Filter, *more: Clause, without: Sequence[str] = ()) -> Clause:
        """What the user sees, turns and what was superseded where the filter includes them, and nothing else of it."""
        gone = [*self.leave_out, *without]
        clauses = [*self._bounds(), {"range": {"expires_at": {"gt": self.now}}}, *_turns(filter), *_superseding(filter)]
        clauses += more
        if not gone:
            return _all_of(clauses)
        hidden = {"ids": {"values": [document_id(self.user, id) for id in gone]}}
        return {"bool": {"filter": clauses, "must_not": [hidden]}}

    def admitted(self, filter: Filter) -> Clause:
        """What the user sees and the whole filter lets through."""
        return self.visible(filter, *conditions(filter))

    def _bounds(self) -> list[Clause]:
        of_user: list[Clause] = [{"term": {"user": self.user}}]
        return of_user if self.before is None else [*of_user, {"range": {"index_version": {"lt": self.before}}}]


def conditions(filter: Filter) -> list[Clause]:
    """The clauses that a filter adds, turns aside."""
    named = {name: compared(filter, name) for name in TEXTS}
    named["within" if filter.include_child_scopes else "scope"] = filter.scope
    clauses: list[Clause] = [{"term": {name: exact(value)}} for name, value in present(named.items())]
    for name, wanted in present((name, getattr(filter, name)) for name in FLAGS):
        clauses.append({"term": {name: wanted}})
    for name in TIMES:
        # An index that was made before days without a time can't tell them. So the wider bounds are asked for, and
        # what was found is looked at again.
        ends = zip(("gte", "lt"), (min, max), filter.between(name), filter.between(name, days=True), strict=True)
        if bounds := {
            bound: wider(to_micros(time), to_micros(day))
            for bound, wider, time, day in ends
            if time is not None and day is not None
        }:
            clauses.append({"range": {name: bounds}})
    if filter.project is not None:
        elsewhere: Clause = {"bool": {"must_not": [{"term": {"within": exact(PROJECTS)}}]}}
        clauses.append(_any_of([elsewhere, {"term": {"within": exact(filter.project)}}]))
    if filter.categories:
        clauses.append({"terms": {"category": [exact(fold_category(category)) for category in filter.categories]}})
    if not filter.episodes:
        clauses += _without("episode", filter)
    clauses += [{"term": {"tags": tag_term(tag)}} for tag in filter.tags]
    clauses += [{"term": {"metadata": metadata_term(key, value)}} for key, value in filter.metadata.items()]
    return clauses


def _turns(filter: Filter) -> list[Clause]:
    return _without("turn", filter)


def _superseding(filter: Filter) -> list[Clause]:
    if filter.include_superseded:
        return []
    return [{"range": {"superseded_at": {"gt": FOREVER - 1 if filter.as_of is None else to_micros(filter.as_of)}}}]


def _without(kind: str, filter: Filter) -> list[Clause]:
    """What is not of a kind, and what is where the filter includes what was said."""
    others: Clause = {"term": {kind: False}}
    if not filter.include_turns:
        return [others]
    if filter.turns_of is None:
        return []
    said: Clause = {"term": {"conversation_id": exact(filter.turns_of)}}
    return [_any_of([others, said])]


def _any_of(clauses: list[Clause]) -> Clause:
    return {"bool": {"should": clauses, "minimum_should_match": 1}}


def _all_of(clauses: list[Clause]) -> Clause:
    return {"bool": {"filter": clauses}}
