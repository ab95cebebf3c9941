"""Consolidate: merge 2 to 50 memories into one that says what they said."""

from collections.abc import Sequence
from typing import Final

from ..errors import InvalidInput
from ..model import JsonObject, Memory
from .call import Call
from .delete import delete
from .get import find_all
from .limits import check_id
from .save import Draft, save
from .sentences import extract

MAX_SOURCES: Final = 50
SUMMARY_CHARACTERS: Final = 4000


def consolidate(
    call: Call,
    ids: Sequence[str],
    *,
    preserve_originals: bool = True,
    tags: tuple[str, ...] | None = None,
    metadata: JsonObject | None = None,
) -> Memory:
    """A long-term memory of the sources' texts, verbatim up to 4,000 characters, else their best sentences.

    Type, category, scope and label come from the first source, tags are the sorted union unless given.
    Without `preserve_originals` the sources are deleted after it is written. Raises NotFound when any
    is missing, InvalidInput outside 2 to 50 distinct ids.
    """
    distinct = list(dict.fromkeys(check_id(id) or id for id in ids))
    if not 2 <= len(distinct) <= MAX_SOURCES:
        raise InvalidInput(f"give 2 to {MAX_SOURCES} different memory ids to consolidate; got {len(distinct)}.")
    sources = find_all(call, distinct)
    first = sources[0]
    union = tuple(sorted({tag for source in sources for tag in source.tags}))
    saved = save(
        call,
        Draft(
            content=extract("\n".join(source.content for source in sources), SUMMARY_CHARACTERS),
            content_type=first.content_type,
            category=first.category,
            scope=first.scope,
            agent_label=first.agent_label,
            tags=union if tags is None else tags,
            metadata={
                **(metadata or {}),
                "consolidated_from": [source.id for source in sources],
                "source_count": len(sources),
                "consolidation_strategy": "extractive",
                "consolidated_at": call.now().isoformat(),
            },
        ),
    )
    if not preserve_originals:
        for source in sources:
            delete(call, source.id)
    return saved.memory
