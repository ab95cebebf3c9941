"""Forget: remove for good, at once, to the bytes, with what only this memory holds; and say what is left."""

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Final

from ..errors import Internal, NotFound, SteeltrapError, Unavailable
from ..model import Memory
from ..model.frozen import frozen
from ..rules.limits import check_id
from ..rules.remains import Folded, Words
from .call import Call
from .delete import Criteria
from .derived import Erased, erase
from .get import find
from .transfer.sync_file import MAX_FILE_BYTES, expand

_AT_ONCE: Final = 500
MOST_LISTED: Final = 100


@frozen
class Receipt:
    """What a forgetting did: `derived.Erased`, and the user's exported files that hold some of it.

    `imports` has the names of the imports that brought some of it, by their ids: their files may still hold it.
    `unread` are exported files that could not be looked through. `verified` says that everything was looked through
    afterwards and no memory is left that holds the text or names the id. `more` says that time ran out before all that
    the criteria name was forgotten.
    """

    ids: list[str]
    forgotten_at: datetime
    also: list[str] = field(default_factory=list)
    rewritten: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    back: list[str] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    verified: bool = True
    more: bool = False


def forget(call: Call, id: str, *, with_merged: bool = False) -> Receipt:
    """Forget a memory, a deleted or expired one too, with record, vectors, tokens, history, usage and links.

    What goes along, and what is written again, is as `derived.erase` has it. Raises NotFound; Internal when the id was
    found afterwards.
    """
    try:
        memory = find(call, id, deleted=True)
    except NotFound:
        # A forgetting that was cut short is finished here, and what still names the id is mended.
        known = check_id(id)
        call.space.purge([known] if known else [])
        raise
    return _forget(call, [memory], with_merged=with_merged)


def forget_all(call: Call, ids: Sequence[str], *, with_merged: bool = False) -> Receipt:
    """Forget several memories; unknown ones are left out."""
    known = [k for k in dict.fromkeys(check_id(id) for id in ids) if k]
    return _forget(call, list(call.space.get(known, deleted=True).values()), with_merged=with_merged)


def forget_matching(call: Call, criteria: Criteria, *, with_merged: bool = False) -> Receipt:
    """Forget what the criteria name: messages, superseded, deleted and expired memories too, pinned ones not.

    No criterion at all is refused.
    """
    criteria.check("forgotten")
    doomed = [memory.id for memory in criteria.of(call.in_time(call.space.images())) if not memory.pinned]
    done = Receipt(ids=[], forgotten_at=call.now())
    for start in range(0, len(doomed), _AT_ONCE):
        try:
            done = _both(done, forget_all(call, doomed[start : start + _AT_ONCE], with_merged=with_merged))
        except Unavailable:
            if not done.ids:
                raise
            return replace(done, more=True, verified=False)
    return done


def sentence(receipt: Receipt) -> str:
    """What a person is told of a receipt: no more than what was looked at."""
    if receipt.more:
        return "Time ran out before everything was forgotten; call again to continue."
    if receipt.left:
        count, one = len(receipt.left), len(receipt.left) == 1
        return (
            f"{count:,} other {'memory' if one else 'memories'} still {'holds' if one else 'hold'} the text or "
            f"{'names' if one else 'name'} the id; forget {'it' if one else 'them'} too if it must be gone."
        )
    if not receipt.verified:
        return "It is gone; time ran out before the store could be searched for other memories that hold the text."
    return "The store was searched afterwards: no memory holds the text or names the id."


def _forget(call: Call, memories: Sequence[Memory], *, with_merged: bool) -> Receipt:
    if not memories:
        return Receipt(ids=[], forgotten_at=call.now())
    ids = [memory.id for memory in memories]
    brought_by = {memory.import_id for memory in memories if memory.import_id is not None}
    names = {run.id: run.name for run in call.space.imports()} if brought_by else {}
    erased = erase(call, ids, with_merged=with_merged)
    for id in ids[:MOST_LISTED]:
        if traces := call.space.traces(id):
            raise Internal(f"Memory {id} was purged, but traces are left in: {', '.join(traces)}.", id=id)
    exports, unread = _exports(call, erased)
    return Receipt(
        ids=erased.ids,
        forgotten_at=call.now(),
        also=[*erased.also, *(id for id, new in erased.rewritten.items() if not new)],
        rewritten={was: id for was, id in erased.rewritten.items() if id},
        left=erased.left,
        back=list(erased.back),
        exports=exports,
        imports={id: names.get(id, "") for id in sorted(brought_by)},
        unread=unread,
        verified=erased.is_checked and not erased.left,
    )


def _both(first: Receipt, second: Receipt) -> Receipt:
    """One receipt of two. What the second one forgot is left no more, nor has it come back."""
    gone = {*second.ids, *second.also, *second.rewritten}
    left = {**first.left, **second.left}
    left = {id: why for id, why in left.items() if id not in gone}
    return Receipt(
        ids=[*first.ids, *second.ids],
        forgotten_at=second.forgotten_at,
        also=[*first.also, *second.also],
        rewritten={was: id for was, id in {**first.rewritten, **second.rewritten}.items() if id not in gone},
        left=left,
        back=[id for id in dict.fromkeys([*first.back, *second.back]) if id not in gone],
        exports=sorted({*first.exports, *second.exports}),
        imports={**first.imports, **second.imports},
        unread=sorted({*first.unread, *second.unread}),
        verified=not left and (first.verified or bool(first.left)) and (second.verified or bool(second.left)),
    )


def _exports(call: Call, erased: Erased) -> tuple[list[str], list[str]]:
    """The names of the user's exported files that hold some of it, and of those that could not be looked through."""
    if call.files is None:
        return [], []
    words, ids = Words(erased.texts), [id.encode() for id in erased.all()]
    holding: list[str] = []
    unread: list[str] = []
    for name in call.files.names():
        try:
            call.deadline.left()
            content = expand(call.files.read(name, most=MAX_FILE_BYTES))
        except SteeltrapError:
            unread.append(name)
            continue
        if any(id in content for id in ids) or words.are_in(map(Folded, _lines(content))):
            holding.append(name)
    return holding, unread


def _lines(content: bytes) -> list[str]:
    """A file's texts, as far as they must be apart: a memory is a line."""
    text = content.decode(errors="replace")
    for escape in (r"\n", r"\r", r"\t"):
        text = text.replace(escape, " ")
    return text.splitlines()
