"""History: every image a memory has had, oldest first, the current one last."""

from ..model import Revision
from .call import Call
from .get import find


def history(call: Call, id: str) -> list[Revision]:
    """The images that updates replaced, then the current one (also of a deleted memory). Raises NotFound."""
    current = find(call, id, deleted=True)
    revisions = call.space.revisions(current.id)
    return [*revisions, Revision(memory=current, replaced_at=current.updated_at)]
