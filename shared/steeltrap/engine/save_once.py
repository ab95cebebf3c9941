"""Save once: a text that its scope has already is answered, not kept twice."""

from ..errors import Duplicate
from ..model import Draft
from ..ports import Guard
from . import save as saving
from .call import Call
from .save import Saved


def save_once(call: Call, draft: Draft) -> tuple[Saved, bool]:
    """What a save did, and whether the same scope had the same normalised text already.

    Then that memory is answered as it is, and nothing of the draft is kept. Similar texts are no
    duplicates: "Ana owes Ben" and "Ben owes Ana" may have the same embedding.
    """
    while True:
        try:
            return saving.save(call, draft, Guard(same_text=True)), False
        except Duplicate as duplicate:
            id = duplicate.id
        if (there := call.space.get([id]).get(id)) is not None:
            return Saved(memory=there, existed=True, nearest_id=there.id, similarity=1.0), True
        call.deadline.left()  # it went in between: save after all
