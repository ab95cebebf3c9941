"""core: associate, associations."""

from pydantic import Field

from ...engine import consolidating
from ...engine.call import Call
from ...model import Association, Memory
from ...tools import Answer, Input
from ..fields import MemoryId, Unit
from .toolset import CORE


class AssociateInput(Input):
    id: MemoryId
    target_id: MemoryId = Field(description="The memory to link it to.")
    strength: Unit = Field(1.0, description="Strength of the link, 0 to 1.")


class AssociationView(Answer):
    """A linked memory."""

    id: str
    content: str
    scope: str
    strength: float
    manual: bool


class AssociationsView(Answer):
    associations: list[AssociationView]


@CORE.tool(
    "associate",
    "write",
    needs="embedder",
    idempotent=True,
    examples=(
        {
            "id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
            "target_id": "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f",
            "strength": 0.9,
        },
    ),
)
def associate(call: Call, input: AssociateInput) -> AssociationsView:
    """Link two related memories. Similar memories in the same scope are linked automatically."""
    memory = consolidating.associate(call, input.id, input.target_id, input.strength)
    return _view(consolidating.associations(call, memory.id, limit=100))


class AssociationsInput(Input):
    id: MemoryId
    limit: int = Field(10, ge=1, le=100, description="Maximum number to return.")
    discover: bool = Field(False, description="Instead search all scopes for similar memories, linked or not.")
    threshold: Unit = Field(0.1, description="With `discover`: minimum similarity, 0 to 1.")


@CORE.tool("associations", "read", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "limit": 5},))
def associations(call: Call, input: AssociationsInput) -> AssociationsView:
    """List the memories linked to a memory, strongest first. Links work in both directions."""
    if input.discover:
        return _view(consolidating.discover(call, input.id, limit=input.limit, threshold=input.threshold))
    return _view(consolidating.associations(call, input.id, input.limit))


def _view(found: list[tuple[Association, Memory]]) -> AssociationsView:
    return AssociationsView(
        associations=[
            AssociationView(
                id=memory.id,
                content=memory.content,
                scope=memory.scope,
                strength=association.strength,
                manual=association.manual,
            )
            for association, memory in found
        ]
    )
