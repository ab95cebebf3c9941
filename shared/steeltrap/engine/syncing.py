"""Syncing: memories of an exchange file are imported, with a choice for those that are stored already."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from uuid import UUID, uuid5

from .. import record
from ..changes.images import CLEARABLE, entry, in_a_circle, renamed
from ..errors import Conflict, InvalidInput, SteeltrapError, Throttled, Unavailable
from ..model import Draft, Edit, Link, Memory
from ..model.frozen import frozen
from ..ports import Create
from ..text.limits import check_file_name, check_memory, check_scope, is_file
from ..text.matching import fold_tag
from ..text.words import text_digest
from . import consolidating, saving, updating
from .call import Call
from .exchange_file import MAX_FILE_BYTES, Item, decode, expand, memories_of, under
from .exporting import files_of
from .importing import belonging, stamped, uncircled
from .reading import find_images, memories_in
from .saving import embed_memories
from .secrets import redacted

Strategy = Literal["skip_duplicates", "overwrite", "create_versions", "merge_metadata"]
Action = Literal["new", "version", "overwritten", "merged", "skipped"]


def action_for(imported: Memory, matches: Sequence[Memory], strategy: Strategy) -> tuple[Action, Memory | None]:
    """The action for a memory of the file, and the stored memory that it meets."""
    if not matches:
        return "new", None
    if strategy == "create_versions":
        equal = next((old for old in matches if not differs(old, imported)), None)
        return ("version", matches[0]) if equal is None else ("skipped", equal)
    old = matches[0]
    if strategy == "skip_duplicates" or not differs(old, imported):
        return "skipped", old
    if strategy == "overwrite":
        return "overwritten", old
    edit = merging(old, imported)
    adds = edit.tags != old.tags or edit.category is not None or {**old.metadata, **imported.metadata} != old.metadata
    return ("merged" if adds else "skipped"), old


_COMPARED: Final = ("content", "tags", "metadata", "category", "context", "confidence", "content_type", "tier", "scope")


def differs(old: Memory, imported: Memory) -> bool:
    """Whether a file says anything else of a memory than is here."""
    return any(getattr(old, name) != getattr(imported, name) for name in _COMPARED)


def overwriting(old: Memory, imported: Memory) -> Edit:
    """The edit that puts the file's in place of what is here."""
    blanks = dict.fromkeys(key for key in old.metadata if key not in imported.metadata)
    return Edit(
        content=imported.content,
        tags=imported.tags,
        metadata={**blanks, **imported.metadata},
        category=imported.category,
        context=imported.context,
        confidence=imported.confidence,
        content_type=imported.content_type,
        tier=imported.tier,
        scope=imported.scope,
        clear=tuple(name for name in CLEARABLE if getattr(imported, name) is None),
    )


def merging(old: Memory, imported: Memory) -> Edit:
    """The edit that adds the file's tags and metadata to what is here."""
    folded = {fold_tag(tag) for tag in old.tags}
    new_tags = tuple(tag for tag in imported.tags if fold_tag(tag) not in folded)
    return Edit(
        tags=old.tags + new_tags,
        metadata=imported.metadata or None,
        category=imported.category if old.category is None else None,
    )


_CREATED: Final = ("new", "version")
_BLOCK: Final = 100


@frozen
class ImportedFile:
    """How many of the file's memories met each fate, and by the index in the file why others were left out."""

    name: str
    size: int
    plain_size: int
    total: int
    actions: Counter[Action]
    associations: int
    errors: dict[int, SteeltrapError] = field(default_factory=dict)


def import_file(
    call: Call,
    name: str,
    *,
    strategy: Strategy = "skip_duplicates",
    prefix: str | None = None,
    associations: bool = True,
) -> ImportedFile:
    """Write the memories of a file, their scopes under `prefix`.

    A memory is there already when its id is (under a prefix: in that place), or its normalised text in the same scope,
    current or not. `skip_duplicates` leaves it, `overwrite` puts the file's in its place, `create_versions` saves
    the file's under a new id, associated with the old, `merge_metadata` adds tags and metadata. A memory that is stored
    exactly as in the file is skipped, even if another import of the file has just written it. Nothing is written unless
    the whole file fits.
    """
    content = files_of(call).read(check_file_name(name), max_bytes=MAX_FILE_BYTES)
    plain = expand(content)
    decoded = decode(call.in_time(memories_of(plain)), prefix=under(prefix), now=call.now())
    items = [replace(item, memory=check_memory(redacted(call, item.memory))) for item in call.in_time(decoded)]
    steps = _plan(call, items, strategy, under(prefix))
    if associations:
        _connect(items, steps)
    _translate(call, steps)
    errors = _carry_out(call, steps)
    return ImportedFile(
        name=name,
        size=len(content),
        plain_size=len(plain),
        total=len(items),
        actions=Counter(step.action for step in steps if step.index not in errors),
        associations=sum(len(step.links) for step in steps if step.action != "skipped" and step.index not in errors),
        errors=errors,
    )


@dataclass(slots=True, kw_only=True)
class _Step:
    """The plan for a memory of the file: the id that it has here then, what is there already, and which
    associations of the file are written with it."""

    index: int
    imported: Memory
    action: Action
    id: str
    old: Memory | None = None
    links: list[Link] = field(default_factory=list)

    @property
    def is_creation(self) -> bool:
        return self.action in _CREATED


def _plan(call: Call, items: Sequence[Item], strategy: Strategy, prefix: str | None) -> list[_Step]:
    spare = [_spare_id(item.memory) for item in call.in_time(items)]
    taken_memories = find_images(call, [*(item.memory.id for item in items), *spare])
    texts = _texts(call, {item.memory.scope for item in items})
    now = call.now()
    steps: list[_Step] = []
    for index, item in enumerate(call.in_time(items)):
        imported = item.memory
        by_id = taken_memories.get(imported.id)
        if by_id is not None and not (by_id.is_visible(now) and (prefix is None or by_id.scope == imported.scope)):
            by_id = None
        by_text = texts.get(_place(imported), [])
        matches = by_text if by_id is None else [by_id, *by_text]
        action, old = action_for(imported, matches, strategy) if imported.is_visible(now) else ("skipped", None)
        if action in _CREATED:
            free = next((id for id in (imported.id, spare[index]) if id not in taken_memories), None)
            id = free or saving.new_id(call, imported.source, index)
            if prefix is not None and id != imported.id and is_file(imported):
                # Under another id it is no file, so it comes under the prefix as any other memory.
                imported = replace(imported, scope=check_scope(f"{prefix}/{imported.scope}"))
        else:
            id = imported.id if old is None else old.id
        steps.append(_Step(index=index, imported=imported, action=action, id=id, old=old))
    return steps


def _connect(items: Sequence[Item], steps: Sequence[_Step]) -> None:
    """Give each association to one step, before any of them is carried out; creations go first."""
    by_given = {step.imported.id: step for step in steps}
    for item, source in zip(items, steps, strict=True):
        for link in item.links:
            target = by_given[link.target_id]
            backwards = target.is_creation and not source.is_creation
            at, other = (target, source) if backwards else (source, target)
            is_change = at.action != "skipped" and (at.is_creation or link.manual)
            if is_change and at.id != other.id:
                at.links.append(replace(link, target_id=other.id))


def _translate(call: Call, steps: Sequence[_Step]) -> None:
    """Give what the memories name the ids that those get here. Raises InvalidInput for a circle."""
    ids = {step.imported.id: step.id for step in steps}
    creations_of_steps = [step for step in steps if step.is_creation]
    translated = [renamed(step.imported, step.id, ids) for step in creations_of_steps]
    fit = uncircled(call, translated)
    for step, memory in zip(creations_of_steps, translated, strict=True):
        if memory.id not in fit:
            raise InvalidInput(f"{in_a_circle(f'Memory {step.index} of the file')} Nothing was imported.")
        step.imported = replace(fit[memory.id], id=step.imported.id)


def _carry_out(call: Call, steps: Sequence[_Step]) -> dict[int, SteeltrapError]:
    """Why some were left out, by index. Raises Unavailable or Throttled that says how far it came."""
    errors: dict[int, SteeltrapError] = {}
    creations = [step for step in steps if step.is_creation]
    edits = [step for step in steps if step.action in ("overwritten", "merged")]
    count = 0
    try:
        for start in range(0, len(creations), _BLOCK):
            block = creations[start : start + _BLOCK]
            errors |= _create_all(call, block)
            count += len(block)
        for step in edits:
            try:
                _edit(call, step)
            except (Unavailable, Throttled):
                raise
            except SteeltrapError as error:
                errors[step.index] = error
            count += 1
    except (Unavailable, Throttled) as error:
        if not count:
            raise
        raise type(error)(
            f"{count} of {len(creations) + len(edits)} memories were imported, then: {error.message} "
            "Import the file again to go on; what is there already is skipped.",
            retryable=error.can_retry,
            **error.details,
        ) from error
    return errors


def _create_all(call: Call, block: Sequence[_Step]) -> dict[int, SteeltrapError]:
    try:
        _create(call, block)
        return {}
    except Conflict as conflict:
        # Someone wrote one of these ids since the plan was made.
        if len(block) == 1:
            return _errors_after_conflict(call, block[0], conflict)
    errors: dict[int, SteeltrapError] = {}
    for step in block:
        errors |= _create_all(call, [step])
    return errors


def _errors_after_conflict(call: Call, step: _Step, conflict: Conflict) -> dict[int, SteeltrapError]:
    """Nothing where the other one wrote just what the file has, else why this one was left out."""
    memory = call.space.get([step.id]).get(step.id)
    if memory is None or differs(memory, step.imported):
        return {step.index: conflict}
    step.action = "skipped"
    return {}


def _create(call: Call, block: Sequence[_Step]) -> None:
    memories = [
        belonging(call, stamped(call, replace(step.imported, id=step.id, links=_links(step)))) for step in block
    ]
    vectors = embed_memories(call, memories)
    around = saving.look_around(call, memories, vectors)
    changes = []
    for memory, embeddings, surroundings in call.in_time(zip(memories, vectors, around, strict=True)):
        draft = Draft(content=memory.content, surprise=memory.surprise)
        linked = saving.with_surroundings(call, memory, draft, surroundings)
        targets = {link.target_id for link in memory.links}
        more = tuple(link for link in linked.links if link.target_id not in targets)
        whole = replace(linked, links=memory.links + more)
        changes.append(Create(entry=entry(whole, embeddings), links_ahead=True))
    call.commit(changes)


def _links(step: _Step) -> tuple[Link, ...]:
    """The links that a creation begins with, each target once; a version has one to the old memory first."""
    links: dict[str, Link] = {}
    if step.old is not None:
        links[step.old.id] = Link(target_id=step.old.id, strength=1.0, manual=True)
    for link in step.links:
        links.setdefault(link.target_id, link)
    return tuple(links.values())


def _edit(call: Call, step: _Step) -> None:
    assert step.old is not None
    edit = overwriting(step.old, step.imported) if step.action == "overwritten" else merging(step.old, step.imported)
    updating.update(call, step.id, replace(edit, imported=True))
    for link in step.links:
        consolidating.associate(call, step.id, link.target_id, link.strength)


_Place = tuple[str, bytes, bool]


def _place(memory: Memory) -> _Place:
    """Where a memory's text is the same memory's: an earlier one is none of the current ones."""
    return memory.scope, text_digest(memory.content), memory.is_current()


def _texts(call: Call, scopes: set[str]) -> dict[_Place, list[Memory]]:
    """The memories of each text in each of the scopes, the oldest first."""
    # A store that answers ids by (scope, digest) would spare reading the scopes.
    texts: dict[_Place, list[Memory]] = defaultdict(list)
    for scope in call.in_time(sorted(scopes & call.space.scopes().keys())):
        for memory in call.in_time(memories_in(call, scope, below=False)):
            texts[_place(memory)].insert(0, memory)
    return texts


def _spare_id(imported: Memory) -> str:
    """Where its own id is taken: the same for every import of the same, so that two at once make one of it."""
    return str(uuid5(UUID(imported.id), json.dumps(record.encode(imported), sort_keys=True)))
