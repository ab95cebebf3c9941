"""associative: memory_discover_associations."""

from pydantic import AliasChoices, Field

from ...engine import consolidating, reading
from ...engine.call import Call
from .levels import Full, Levelled, LevelledInput, Long, Minimal, Standard, Succeeded, answered
from .toolset import ASSOCIATIVE
from .views import AssociationItem, CompleteMemory, MemoryIdField, Threshold, association_item, complete


class DiscoverInput(LevelledInput):
    memory_id: MemoryIdField
    limit: int = Field(10, ge=1, le=100, description="Maximum number of associations to retrieve.")
    threshold: Threshold = Field(
        0.1,
        # What the original calls it.
        validation_alias=AliasChoices("threshold", "similarity_threshold"),
        description="Leave out associations weaker than this, 0 to 1.",
    )


class DiscoveredAssociation(CompleteMemory, AssociationItem):
    """An associated memory. `manual` is true if the link was made manually."""

    preview: Standard[str] = None
    scope: Full[str] = None
    manual: Full[bool] = None


class DiscoveryMetadata(Levelled):
    """The scope of the memory, and the scopes of its associations; all scopes are searched."""

    source_scope: str
    scopes: list[str]
    manual_count: int
    threshold: float


class DiscoverAnswer(Succeeded):
    association_count: Minimal[int] = None
    associations: Long[list[DiscoveredAssociation]] = None
    discovery_metadata: Full[DiscoveryMetadata] = None


@ASSOCIATIVE.tool(
    "associations",
    "read",
    needs="index",
    examples=(
        {"memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "response_level": "full"},
        {"memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "limit": 3, "threshold": 0.5},
    ),
)
def memory_discover_associations(call: Call, input: DiscoverInput) -> DiscoverAnswer:
    """Find the memories related to a memory, in all scopes, strongest first: similar memories and linked ones."""
    source = reading.find(call, input.memory_id)
    found = consolidating.discover(call, source.id, limit=input.limit, threshold=input.threshold)
    answer = DiscoverAnswer(
        association_count=len(found),
        associations=[
            DiscoveredAssociation(
                **dict(association_item(association, end)),
                **complete(end),
                scope=end.scope,
                manual=association.manual,
            )
            for association, end in found
        ],
        discovery_metadata=DiscoveryMetadata(
            source_scope=source.scope,
            scopes=sorted({end.scope for _, end in found}),
            manual_count=sum(association.manual for association, _ in found),
            threshold=input.threshold,
        ),
    )
    return answered(call, input.response_level, answer)
