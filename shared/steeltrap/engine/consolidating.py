"""Consolidating: 2 to 50 memories become one that says what they said. And associations: linked manually, read from
both sides, discovered on demand.
"""

from collections.abc import Collection, Sequence
from typing import Final

from ..changes.images import entry, inherited, merged
from ..errors import Conflict, InvalidInput
from ..model import Association, Draft, Edit, JsonObject, Link, Memory
from ..ports import Create, Probe
from ..ranking.novelty import LINK_FLOOR
from ..text.limits import MAX_TAGS, check_id
from ..text.matching import fold_tag
from ..text.sentences import extract, unique_sentences
from . import reading, saving
from .call import Call
from .reading import find, find_all
from .saving import embed_chunks, embed_memories
from .updating import update

MAX_SOURCES: Final = 50
SUMMARY_CHARACTERS: Final = 4000


def consolidate(
    call: Call,
    ids: Sequence[str],
    *,
    preserve_originals: bool = True,
    tags: tuple[str, ...] | None = None,
    metadata: JsonObject | None = None,
    dry_run: bool = False,
) -> Memory:
    """A long-term memory of the sources' texts, verbatim up to 4,000 characters, else their best sentences.

    A sentence that several sources have is kept once, where the first has it.
    Type, category, scope and label come from the first source, tags are the sorted union unless given.
    With `dry_run` it is only composed. Repeated ids count once. Without `preserve_originals` the sources are deleted in
    the same transaction, and the new memory is in their place, and in that of those whose place they had.
    Raises NotFound when any is missing, InvalidInput outside 2 to 50 distinct ids, Conflict for an idempotency key
    that was used for something else.
    """
    distinct = distinct_ids(ids)
    if not 2 <= len(distinct) <= MAX_SOURCES:
        raise InvalidInput(f"give 2 to {MAX_SOURCES} different memory ids to consolidate; got {len(distinct)}.")

    def read() -> Memory | list[Memory]:
        if (earlier := saving.already_saved(call)) is not None:
            _check_made_of(saving.first_image(call, earlier), distinct)
            return earlier  # a repeated idempotency key: the sources may be gone by now
        return find_all(call, distinct)

    def write(sources: Memory | list[Memory]) -> Memory:
        if isinstance(sources, Memory):
            return sources
        if dry_run:
            return _merged(call, sources, tags, metadata).entry.memory
        if purges := not (preserve_originals or call.rules.retention):
            call.space.check_purge()
        ids = [source.id for source in sources]
        olds = [] if preserve_originals else inherited(sources, reading.predecessors(call.space, ids))
        change = _merged(call, sources, tags, metadata)
        changes = [change] if preserve_originals else merged(change, sources, olds, call.author())
        # What takes the originals' place is a way out of a full quota, though their bytes are freed later.
        call.commit(changes, within_quota=preserve_originals)
        if purges:
            call.space.purge(ids)
        return changes[0].entry.memory

    return call.change(read, write)


def distinct_ids(ids: Sequence[str]) -> list[str]:
    """The ids in their one form, each once."""
    return list(dict.fromkeys(check_id(id) or id for id in ids))


def _check_made_of(first: Memory, ids: Sequence[str]) -> None:
    if first.metadata.get("consolidated_from") != ids:
        raise Conflict(
            "This idempotency key was used for something else; use a new key to merge these memories.", id=first.id
        )


def _merged(
    call: Call,
    sources: Sequence[Memory],
    tags: tuple[str, ...] | None,
    metadata: JsonObject | None,
) -> Create:
    first = sources[0]
    draft = Draft(
        content=extract("\n".join(_texts(sources)), SUMMARY_CHARACTERS),
        content_type=first.content_type,
        category=first.category,
        scope=first.scope,
        agent_label=first.agent_label,
        untrusted=any(source.untrusted for source in sources),
        tags=_union(sources) if tags is None else tags,
        metadata={
            **(metadata or {}),
            "consolidated_from": [source.id for source in sources],
            "source_count": len(sources),
            "consolidation_strategy": "extractive",
            "consolidated_at": call.now().isoformat().replace("+00:00", "Z"),
        },
    )
    memory = saving.compose(call, draft)
    [embeddings] = embed_chunks(call, [memory.content])
    [around] = saving.look_around(call, [memory], [embeddings])
    return Create(entry=entry(saving.with_surroundings(call, memory, draft, around), embeddings))


def _texts(sources: Sequence[Memory]) -> list[str]:
    texts = [source.content for source in sources]
    # Lines that repeat in code or data are not said twice, they are its form.
    return unique_sentences(texts) if all(source.content_type == "text" for source in sources) else texts


def _union(sources: Sequence[Memory]) -> tuple[str, ...]:
    """All tags in order; of those that differ in case only, the first one's way of writing it."""
    by_fold: dict[str, str] = {}
    for source in sources:
        for tag in source.tags:
            by_fold.setdefault(fold_tag(tag), tag)
    if len(by_fold) > MAX_TAGS:
        raise InvalidInput(
            f"the memories have {len(by_fold)} different tags, but one memory takes {MAX_TAGS}; give its `tags`."
        )
    return tuple(sorted(by_fold.values()))


_ROUNDING: Final = 1e-5


def associate(call: Call, id: str, target_id: str, strength: float) -> Memory:
    """Link two memories manually; a manual link survives updates and moves, and replaces an automatic one."""
    target = find(call, target_id)
    source = find(call, id)
    if source.id == target.id:
        raise InvalidInput("a memory can't be associated with itself: give two different ids.")
    if "conversation" in (source.source, target.source):
        raise InvalidInput("what was said in a conversation can't be associated: give the ids of two memories.")
    return update(call, source.id, Edit(add_link=Link(target_id=target.id, strength=strength, manual=True)))


def associations(call: Call, id: str, limit: int) -> list[tuple[Association, Memory]]:
    """The links of a memory, from both sides, strongest first, with the memories at their ends."""
    memory = find(call, id)
    return linked(call, [memory.id])[memory.id][:limit]


def linked(call: Call, ids: Sequence[str]) -> dict[str, list[tuple[Association, Memory]]]:
    """The associations of each memory that hold, strongest first; an id that is unknown has none.

    A link that was found, not made manually, holds while both memories are in one scope and as near as when
    a link is made: the other side may have been changed or moved since.
    """
    all_links, ends = reading.linked(call.space, ids)
    automatic = {(id, link.memory_id) for id, links in all_links.items() for link in links if not link.manual}
    near: Collection[tuple[str, str]] = ()
    if automatic:
        near = _alike(call, automatic)

    def holds(id: str, link: Association) -> bool:
        if link.memory_id not in ends or id not in ends:
            return False
        in_one_scope = ends[id].scope == ends[link.memory_id].scope
        return link.manual or (in_one_scope and (id, link.memory_id) in near)

    return {id: [(link, ends[link.memory_id]) for link in all_links.get(id, []) if holds(id, link)] for id in ids}


def _alike(call: Call, pairs: Collection[tuple[str, str]]) -> Collection[tuple[str, str]]:
    from ..ranking.likeness import alike, to_chunks

    vectors = to_chunks(call.space.embeddings(list({id for pair in pairs for id in pair})))
    return alike(pairs, vectors, LINK_FLOOR - _ROUNDING, call.deadline)


def discover(call: Call, id: str, *, limit: int, threshold: float) -> list[tuple[Association, Memory]]:
    """The associations of a memory, strongest first: what is near it anywhere in the space, and what was linked
    manually.

    `threshold` is a floor on the strength, which is the cosine, or what was given to a manual link.
    """
    memory = find(call, id)
    [embeddings] = embed_memories(call, [memory])
    probe = Probe(embeddings=embeddings, scope=None, leave_out=memory.id)
    [around] = call.space.look_around([probe], floor=threshold, top_k=limit)
    by_id = {
        near.id: Association(memory_id=near.id, strength=round(min(1.0, near.cosine), 4), manual=False)
        for near in around.near
    }
    for link in reading.associations(call.space, [memory.id])[memory.id]:
        if link.manual and link.strength >= threshold:
            by_id[link.memory_id] = link
    strongest = sorted(by_id.values(), key=lambda association: -association.strength)[:limit]
    ends = call.space.get([association.memory_id for association in strongest])
    return [(a, ends[a.memory_id]) for a in strongest if a.memory_id in ends]
