"""What becomes of a memory of a file where the same is here already, and the edit that makes it so. Pure."""

from collections.abc import Sequence
from typing import Final, Literal

from ...model import Edit, Memory
from ...rules.matching import fold_tag
from ..update import CLEARABLE

Strategy = Literal["skip_duplicates", "overwrite", "create_versions", "merge_metadata"]
Fate = Literal["new", "version", "overwritten", "merged", "skipped"]


def fate_of(given: Memory, there: Sequence[Memory], strategy: Strategy) -> tuple[Fate, Memory | None]:
    """What becomes of a memory, and which of those that are here it meets."""
    if not there:
        return "new", None
    if strategy == "create_versions":
        same = next((old for old in there if not differs(old, given)), None)
        return ("version", there[0]) if same is None else ("skipped", same)
    old = there[0]
    if strategy == "skip_duplicates" or not differs(old, given):
        return "skipped", old
    if strategy == "overwrite":
        return "overwritten", old
    edit = merging(old, given)
    adds = edit.tags != old.tags or edit.category is not None or {**old.metadata, **given.metadata} != old.metadata
    return ("merged" if adds else "skipped"), old


_COMPARED: Final = ("content", "tags", "metadata", "category", "context", "confidence", "content_type", "tier", "scope")


def differs(old: Memory, given: Memory) -> bool:
    """Whether a file says anything else of a memory than is here."""
    return any(getattr(old, name) != getattr(given, name) for name in _COMPARED)


def overwriting(old: Memory, given: Memory) -> Edit:
    """The edit that puts the file's in place of what is here."""
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
        clear=tuple(name for name in CLEARABLE if getattr(given, name) is None),
    )


def merging(old: Memory, given: Memory) -> Edit:
    """The edit that adds the file's tags and metadata to what is here."""
    known = {fold_tag(tag) for tag in old.tags}
    added = tuple(tag for tag in given.tags if fold_tag(tag) not in known)
    return Edit(
        tags=old.tags + added,
        metadata=given.metadata or None,
        category=given.category if old.category is None else None,
    )
