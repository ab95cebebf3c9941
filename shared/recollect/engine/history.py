"""History: every image a memory has had, oldest first, the current one last."""

from ..model import Memory, Revision
from .call import Call
from .get import find


def history(call: Call, id: str) -> tuple[list[Revision], Memory]:
    """The images that updates replaced, and the current one (also of a deleted memory). Raises NotFound."""
    current = find(call, id, deleted=True)
    return call.space.revisions(current.id), current
