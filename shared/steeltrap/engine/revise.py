"""Revise: save a text in the place of a memory, which stays in history."""

from ..errors import Conflict, Duplicate, VersionConflict
from ..model import Draft, Memory
from ..ports import Guard
from ..rules.analysis import text_digest
from ..rules.limits import check_content
from . import save as saving
from . import superseding
from .call import Call
from .get import find
from .redact import redacted_text


def revise(call: Call, id: str, content: str) -> Memory:
    """The memory that supersedes another by a new text, with the other's scope, category and tags.

    Where that scope has the text already, the memory that says it takes the place. Raises NotFound, Conflict for what
    is superseded already or says this already.
    """
    content = redacted_text(call, "content", content)
    check_content(content)
    while True:
        old = find(call, id)
        if text_digest(content) == text_digest(old.content) and old.superseded_by is None:
            raise Conflict(f"Memory {old.id} says this already; nothing was changed.", id=old.id)
        draft = Draft(
            content=content,
            content_type=old.content_type,
            scope=old.scope,
            category=old.category,
            tags=old.tags,
            metadata=old.metadata,
            pinned=old.pinned,
            supersedes=(old.id,),
        )
        try:
            return saving.save(call, draft, Guard(same_text=True)).memory
        except Duplicate as duplicate:
            there = call.space.get([duplicate.id]).get(duplicate.id)
        try:
            if there is not None:
                call.commit([superseding.marked(call, old, there, call.now())])
                return there
        except VersionConflict:
            pass
        call.deadline.left()  # one of the two went or was changed in between
