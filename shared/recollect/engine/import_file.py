"""Import from a file: the memories of an exported file, with a choice for those that are there already."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from ..errors import Conflict, RecollectError, Unavailable
from ..model import Filter, Link, Memory
from ..ports import Create
from . import associate as associating
from . import save as saving
from . import update as updating
from .analysis import text_digest
from .call import Call
from .entry import embed_memories, entry
from .export_file import files_of, pages
from .limits import check_file_name
from .save import Draft
from .sync_file import MAX_FILE_BYTES, Item, decode, expand, under
from .update import Edit

Strategy = Literal["skip_duplicates", "overwrite", "create_versions", "merge_metadata"]
Fate = Literal["new", "version", "overwritten", "merged", "skipped"]

_BLOCK: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What an import did with each of the file's memories, by the ids that they have here, in the file's order.

    `errors` has the index in the file and why a memory was left out.
    """

    name: str
    size: int
    plain_size: int
    total: int
    fates: dict[str, Fate]
    associations: int
    errors: dict[int, RecollectError] = field(default_factory=dict)

    def count(self, *fates: Fate) -> int:
        return sum(fate in fates for fate in self.fates.values())


def import_file(
    call: Call,
    name: str,
    *,
    strategy: Strategy = "skip_duplicates",
    prefix: str | None = None,
    associations: bool = True,
) -> ImportedFile:
    """Write the memories of a file, their scopes under `prefix`.

    A memory is there already when its id is (under a prefix: in that place), or its normalised text in the
    same scope. `skip_duplicates` leaves it, `overwrite` puts the file's in its place, `create_versions`
    saves the file's under a new id, associated with the old, `merge_metadata` adds tags and metadata.
    What the file has exactly as it is here is skipped. Nothing is written unless the whole file fits.
    """
    content = files_of(call).read(check_file_name(name), most=MAX_FILE_BYTES)
    plain = expand(content)
    items = decode(plain, prefix=under(prefix), now=call.now())
    plan = _Plan(call, items, strategy, anywhere=prefix is None)
    links = plan.links() if associations else {}
    errors = plan.write(links)
    return ImportedFile(
        name=name,
        size=len(content),
        plain_size=len(plain),
        total=len(items),
        fates={plan.ids[i]: fate for i, fate in enumerate(plan.fates) if i not in errors},
        associations=sum(len(of_one) for of_one in links.values()),
        errors=errors,
    )


class _Plan:
    """What becomes of each memory of a file, decided before anything is written."""

    def __init__(self, call: Call, items: Sequence[Item], strategy: Strategy, *, anywhere: bool) -> None:
        self.call = call
        self.items = items
        self.old: list[Memory | None] = []
        self.fates: list[Fate] = []
        self.ids: list[str] = []
        taken = call.space.get([item.memory.id for item in items], deleted=True)
        texts = _texts(call, {item.memory.scope for item in items})
        for index, item in enumerate(items):
            by_id = taken.get(item.memory.id)
            if by_id is not None and not (
                by_id.is_visible(call.now()) and (anywhere or by_id.scope == item.memory.scope)
            ):
                by_id = None
            by_text = texts.get((item.memory.scope, text_digest(item.memory.content)))
            there = [memory for memory in (by_id, by_text) if memory is not None]
            expired = not item.memory.is_visible(call.now())
            fate, old = ("skipped", None) if expired else _fate(item.memory, there, strategy)
            self.fates.append(fate)
            self.old.append(old)
            if fate in ("new", "version"):
                own = item.memory.id if item.memory.id not in taken else None
                self.ids.append(own or saving.compose(call, Draft(content=item.memory.content), index).id)
            else:
                self.ids.append(old.id if old is not None else item.memory.id)

    def links(self) -> dict[int, list[Link]]:
        """Each association once, by the index of the memory that it is written with; new ones go first."""
        place = {item.memory.id: index for index, item in enumerate(self.items)}
        links: dict[int, list[Link]] = {}
        for source, item in enumerate(self.items):
            for link in item.links:
                target = place[link.target_id]
                backwards = self._is_written(target) and not self._is_written(source)
                at, other = (target, source) if backwards else (source, target)
                is_change = self.fates[at] != "skipped" and (self._is_written(at) or link.manual)
                if is_change and self.ids[at] != self.ids[other]:
                    links.setdefault(at, []).append(replace(link, target_id=self.ids[other]))
        return links

    def write(self, links: dict[int, list[Link]]) -> dict[int, RecollectError]:
        """Carry it out; why some were left out, by index. Raises Unavailable that says how far it came."""
        errors: dict[int, RecollectError] = {}
        written = [index for index in range(len(self.items)) if self._is_written(index)]
        others = [index for index, fate in enumerate(self.fates) if fate in ("overwritten", "merged")]
        done = 0
        try:
            for start in range(0, len(written), _BLOCK):
                block = written[start : start + _BLOCK]
                errors |= self._create_all(block, links)
                done += len(block)
            for index in others:
                try:
                    self._change(index, links.get(index, []))
                except Unavailable:
                    raise
                except RecollectError as error:
                    errors[index] = error
                done += 1
        except Unavailable as error:
            if not done:
                raise
            raise Unavailable(
                f"{done} of {len(written) + len(others)} memories were imported, then: {error.message} "
                "Import the file again to go on; what is there already is skipped.",
                part=error.details.get("part", "store"),
            ) from error
        return errors

    def _is_written(self, index: int) -> bool:
        return self.fates[index] in ("new", "version")

    def _create_all(self, block: Sequence[int], links: dict[int, list[Link]]) -> dict[int, RecollectError]:
        try:
            self._create(block, links)
            return {}
        except Conflict as conflict:
            # Someone wrote one of these ids since the plan was made.
            if len(block) == 1:
                return {block[0]: conflict}
        errors: dict[int, RecollectError] = {}
        for index in block:
            errors |= self._create_all([index], links)
        return errors

    def _create(self, block: Sequence[int], links: dict[int, list[Link]]) -> None:
        memories = [
            replace(self.items[index].memory, id=self.ids[index], links=tuple(self._own_links(index, links)))
            for index in block
        ]
        vectors = embed_memories(self.call, memories)
        around = saving.look_around(self.call, memories, vectors)
        changes = []
        for memory, embeddings, surroundings in zip(memories, vectors, around, strict=True):
            draft = Draft(content=memory.content, surprise=memory.surprise)
            found = saving.with_surroundings(self.call, memory, draft, surroundings)
            given = {link.target_id for link in memory.links}
            more = tuple(link for link in found.links if link.target_id not in given)
            whole = replace(found, links=memory.links + more)
            changes.append(Create(entry=entry(whole, embeddings), links_ahead=True))
        self.call.space.commit(changes, timeout=self.call.deadline.left())

    def _own_links(self, index: int, links: dict[int, list[Link]]) -> Iterator[Link]:
        old = self.old[index]
        if old is not None:
            yield Link(target_id=old.id, strength=1.0, manual=True)
        seen = {old.id} if old is not None else set()
        for link in links.get(index, []):
            if link.target_id not in seen:
                seen.add(link.target_id)
                yield link

    def _change(self, index: int, links: Sequence[Link]) -> None:
        old, given = self.old[index], self.items[index].memory
        assert old is not None
        edit = _overwriting(old, given) if self.fates[index] == "overwritten" else _merging(old, given)
        updating.update(self.call, old.id, edit)
        for link in links:
            associating.associate(self.call, old.id, link.target_id, link.strength)


def _fate(given: Memory, there: Sequence[Memory], strategy: Strategy) -> tuple[Fate, Memory | None]:
    if not there:
        return "new", None
    if strategy == "create_versions":
        same = next((old for old in there if not _differs(old, given)), None)
        return ("version", there[0]) if same is None else ("skipped", same)
    old = there[0]
    if strategy == "skip_duplicates" or not _differs(old, given):
        return "skipped", old
    if strategy == "overwrite":
        return "overwritten", old
    edit = _merging(old, given)
    adds = edit.tags != old.tags or edit.category is not None or {**old.metadata, **given.metadata} != old.metadata
    return ("merged" if adds else "skipped"), old


_COMPARED: Final = ("content", "tags", "metadata", "category", "context", "confidence", "content_type", "tier", "scope")


def _differs(old: Memory, given: Memory) -> bool:
    return any(getattr(old, name) != getattr(given, name) for name in _COMPARED)


def _overwriting(old: Memory, given: Memory) -> Edit:
    gone = dict.fromkeys(key for key in old.metadata if key not in given.metadata)
    return Edit(
        content=given.content,
        tags=given.tags,
        metadata={**gone, **given.metadata},
        category=given.category,
        context=given.context,
        confidence=given.confidence,
        content_type=given.content_type,
        tier=given.tier,
        scope=given.scope,
    )


def _merging(old: Memory, given: Memory) -> Edit:
    known = {tag.casefold() for tag in old.tags}
    added = tuple(tag for tag in given.tags if tag.casefold() not in known)
    return Edit(
        tags=old.tags + added,
        metadata=given.metadata or None,
        category=given.category if old.category is None else None,
    )


def _texts(call: Call, scopes: set[str]) -> dict[tuple[str, bytes], Memory]:
    """The oldest memory of each text in each of the scopes."""
    # A store that answers ids by (scope, digest) would spare reading the scopes.
    stored = call.space.scopes()
    return {
        (scope, text_digest(memory.content)): memory
        for scope in sorted(scopes & stored.keys())
        for memory in pages(call, Filter(scope=scope))
    }
