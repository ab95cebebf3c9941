"""Move: put memories into another scope, one by one, saying which could not be moved."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import RecollectError
from ..model import Memory
from .call import Call
from .limits import check_scope
from .update import Edit, update


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The memories in their new scope, and why each of the others stayed."""

    memories: list[Memory]
    failures: dict[str, RecollectError]


def move(call: Call, ids: Sequence[str], scope: str) -> Moved:
    """Automatic links are found anew in the new scope; manual ones stay."""
    check_scope(scope)
    moved: list[Memory] = []
    failures: dict[str, RecollectError] = {}
    for id in dict.fromkeys(ids):
        try:
            moved.append(update(call, id, Edit(scope=scope)))
        except RecollectError as error:
            failures[id] = error
    return Moved(memories=moved, failures=failures)
