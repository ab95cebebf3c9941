"""Move: put memories into another scope, one by one, saying which could not be moved."""

from collections.abc import Sequence

from ..errors import SteeltrapError
from ..model import Edit, Memory
from ..model.frozen import frozen
from ..rules.limits import check_scope
from .call import Call
from .get import find
from .update import update


@frozen
class Moved:
    """The memories in their new scope, the scope that each was in by its id, and why each of the others stayed."""

    memories: list[Memory]
    sources: dict[str, str]
    failures: dict[str, SteeltrapError]


def move(call: Call, ids: Sequence[str], scope: str) -> Moved:
    """Automatic links are found again in the new scope; manual ones stay. What is there already is left alone."""
    scope = check_scope(scope)
    moved: dict[str, Memory] = {}
    sources: dict[str, str] = {}
    failures: dict[str, SteeltrapError] = {}
    for id in dict.fromkeys(ids):
        try:
            current = find(call, id)
            if current.id in moved:
                continue
            moved[current.id] = current if current.scope == scope else update(call, current.id, Edit(scope=scope))
            sources[current.id] = current.scope
        except SteeltrapError as error:
            failures[id] = error
    return Moved(memories=list(moved.values()), sources=sources, failures=failures)
