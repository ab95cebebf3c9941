"""Batch save: many memories in one call, embedded and looked around at together."""

from collections.abc import Sequence
from typing import Final, Literal

from ..errors import InvalidInput, SteeltrapError, TooLarge, VersionConflict
from ..model import Draft, Memory
from ..model.frozen import frozen
from ..ports import Create, Replace
from . import save as saving
from . import superseding
from .call import Call
from .entry import embed_memories, entry

OnError = Literal["rollback", "continue", "stop"]
MAX_CREATIONS: Final = 100
MAX_ROLLBACK_BYTES: Final = 3 * 1024 * 1024


@frozen
class Batch:
    """The memories written, in order, and the errors by the index of the item that had them."""

    memories: list[Memory]
    errors: dict[int, SteeltrapError]


def batch_save(call: Call, drafts: Sequence[Draft | InvalidInput], on_error: OnError) -> Batch:
    """Save up to 100 memories. An item that is no draft stands for one that could not be read, and why.

    `rollback` writes all or none, in one transaction; `continue` writes what it can; `stop` writes what
    comes before the first error. The memories of one batch are not linked to each other, and none supersedes another.
    """
    if len(drafts) > MAX_CREATIONS:
        raise TooLarge(f"{len(drafts)} memories in one batch; at most {MAX_CREATIONS}. Split the batch.")
    composed, errors = _compose(call, drafts, on_error)
    if on_error == "rollback":
        if errors:
            return Batch(memories=[], errors=errors)
        check_rollback_size([memory for _, memory in composed.values()])
    changes = _creations(call, composed)
    if on_error == "rollback":
        return _all_or_nothing(call, changes)
    return _one_by_one(call, changes, errors, on_error)


def check_rollback_size(memories: Sequence[Memory]) -> None:
    """At most 3 MB can be written all or nothing."""
    size = sum(len(m.content.encode()) + sum(len(s.content.encode()) for s in m.messages) for m in memories)
    if size > MAX_ROLLBACK_BYTES:
        raise TooLarge("More than 3 MB can't be written all or nothing: use on_error='continue', or split the batch.")


_Composed = dict[int, tuple[Draft, Memory]]


def _compose(
    call: Call, drafts: Sequence[Draft | InvalidInput], on_error: OnError
) -> tuple[_Composed, dict[int, SteeltrapError]]:
    composed: _Composed = {}
    errors: dict[int, SteeltrapError] = {}
    for index, draft in enumerate(call.in_time(drafts)):
        try:
            if isinstance(draft, InvalidInput):
                raise draft
            composed[index] = draft, saving.compose(call, draft, index)
        except (InvalidInput, TooLarge) as error:
            errors[index] = error
            if on_error == "stop":
                break
    return composed, errors


def _creations(call: Call, composed: _Composed) -> dict[int, Create]:
    memories = [memory for _, memory in composed.values()]
    vectors = embed_memories(call, memories)
    around = saving.look_around(call, memories, vectors)
    return {
        index: Create(entry=entry(saving.with_surroundings(call, memory, draft, surroundings), embeddings))
        for (index, (draft, memory)), embeddings, surroundings in call.in_time(
            zip(composed.items(), vectors, around, strict=True)
        )
    }


def _create(call: Call, change: Create) -> list[Memory]:
    while True:
        try:
            return saving.create_all(call, [change], superseding.marks(call, change.entry.memory))
        except VersionConflict:
            call.deadline.left()


def _all_or_nothing(call: Call, changes: dict[int, Create]) -> Batch:
    while True:
        marks: dict[str, Replace] = {}
        errors: dict[int, SteeltrapError] = {}
        for index, change in changes.items():
            try:
                fresh = {mark.entry.memory.id: mark for mark in superseding.marks(call, change.entry.memory)}
                if twice := marks.keys() & fresh.keys():
                    raise InvalidInput(f"memory {min(twice)} is superseded by two items of the batch; leave one out.")
                marks |= fresh
            except SteeltrapError as error:
                errors[index] = error
        if errors:
            return Batch(memories=[], errors=errors)
        most = call.space.atomic_updates
        if most is not None and marks and len(changes) + 2 * len(marks) > 2 * most:
            raise TooLarge(
                f"{len(changes)} memories that supersede {len(marks)} others can't be written all or nothing: use "
                "on_error='continue', or split the batch."
            )
        try:
            return Batch(memories=saving.create_all(call, list(changes.values()), list(marks.values())), errors={})
        except VersionConflict:
            call.deadline.left()


def _one_by_one(call: Call, changes: dict[int, Create], errors: dict[int, SteeltrapError], on_error: OnError) -> Batch:
    written: list[Memory] = []
    for index, change in changes.items():
        try:
            written += _create(call, change)
        except SteeltrapError as error:
            if on_error == "stop":
                return Batch(memories=written, errors={index: error})
            errors[index] = error
    return Batch(memories=written, errors=dict(sorted(errors.items())))
