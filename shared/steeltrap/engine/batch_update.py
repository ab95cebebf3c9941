"""Batch update: many edits in one call."""

from collections.abc import Sequence
from typing import Final

from ..errors import InvalidInput, SteeltrapError, TooLarge, VersionConflict
from ..model import Edit, Memory
from ..rules.limits import check_id
from .batch_save import Batch, OnError, check_rollback_size
from .call import Call
from .get import find
from .update import check_edit, commit_edits, edited, update

MAX_UPDATES: Final = 100

NamedEdit = tuple[str, Edit]


def batch_update(call: Call, edits: Sequence[NamedEdit | InvalidInput], on_error: OnError) -> Batch:
    """Edit up to 100 memories; all or nothing (`rollback`) as many as the store can write so.

    An item that is no edit stands for one that could not be read, and why.
    """
    if len(edits) > MAX_UPDATES:
        raise TooLarge(f"{len(edits)} updates in one batch; at most {MAX_UPDATES}. Split the batch.")
    if on_error == "rollback":
        return _all_or_nothing(call, edits)
    written: list[Memory] = []
    errors: dict[int, SteeltrapError] = {}
    for index, item in enumerate(edits):
        try:
            written.append(update(call, *_readable(item)))
        except SteeltrapError as error:
            errors[index] = error
            if on_error == "stop":
                break
    return Batch(memories=written, errors=errors)


def _readable(item: NamedEdit | InvalidInput) -> NamedEdit:
    if isinstance(item, InvalidInput):
        raise item
    return item


def _all_or_nothing(call: Call, edits: Sequence[NamedEdit | InvalidInput]) -> Batch:
    most = call.space.atomic_updates
    if most is not None and len(edits) > most:
        raise TooLarge(
            f"{len(edits)} updates can't be written all or nothing, at most {most}: use on_error='continue', or "
            "split the batch."
        )
    while True:
        images, errors = _read(call, edits)
        if errors:
            return Batch(memories=[], errors=errors)
        check_rollback_size([edited(call, image, edit) for image, edit in images])
        try:
            return Batch(memories=commit_edits(call, images), errors={})
        except VersionConflict:
            call.deadline.left()


def _read(
    call: Call, edits: Sequence[NamedEdit | InvalidInput]
) -> tuple[list[tuple[Memory, Edit]], dict[int, SteeltrapError]]:
    images: list[tuple[Memory, Edit]] = []
    errors: dict[int, SteeltrapError] = {}
    seen: set[str] = set()
    for index, item in enumerate(call.in_time(edits)):
        try:
            id, edit = _readable(item)
            check_edit(edit)
            if check_id(id) in seen:
                raise InvalidInput(f"memory {id} is edited twice in one batch; merge the two edits.")
            seen.add(check_id(id))
            image = find(call, id)
            edited(call, image, edit)
            images.append((image, edit))
        except SteeltrapError as error:
            errors[index] = error
    return images, errors
