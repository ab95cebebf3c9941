"""core: delete, undo, forget."""

from datetime import datetime

from pydantic import Field

from ...engine import delete as deleting
from ...engine import forget as purging
from ...engine import undo as undoing
from ...engine.call import Call
from ...errors import InvalidInput
from ...model import Tier
from ...tools import Answer, Input
from ..fields import MemoryId, MemoryIds, Scope, Tags, Time
from .toolset import CORE
from .views import MemoryView, memory_view


class DeleteInput(Input):
    id: MemoryId | None = None
    ids: MemoryIds | None = None
    version: int | None = Field(None, ge=1, description="With `id`: delete only if this is still its version.")
    tier: Tier | None = Field(None, description="Delete memories of this tier.")
    older_than: Time | None = Field(None, description="Delete memories saved before this time.")
    scope: Scope | None = Field(None, description="Delete memories in this scope.")
    include_child_scopes: bool = Field(False, description="With `scope`: also in the scopes below it.")
    tags: Tags | None = Field(None, description="Delete memories that have all of these tags.")
    written_by: str | None = Field(None, max_length=256, description="Delete memories that this agent wrote.")
    untrusted: bool | None = Field(None, description="true: delete memories that untrusted agents wrote.")

    def criteria(self) -> deleting.Criteria:
        return deleting.Criteria(
            tier=self.tier,
            older_than=self.older_than,
            scope=self.scope,
            include_child_scopes=self.include_child_scopes,
            tags=tuple(self.tags or ()),
            agent_id=self.written_by,
            untrusted=self.untrusted,
        )


class DeletedView(Answer):
    """The ids of the deleted memories. `more` is true if time ran out: call again to continue."""

    deleted: list[str]
    more: bool | None = None


@CORE.tool(
    "delete",
    "write",
    destructive=True,
    idempotent=True,
    timeout=30.0,
    examples=(
        {"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},
        {"tier": "short_term", "older_than": "2026-01-01T00:00:00Z"},
    ),
)
def delete(call: Call, input: DeleteInput) -> DeletedView:
    """Delete one memory by `id`, several by `ids`, or all that match every given criterion. undo restores them.

    Memories that a deleted one superseded are found again. Criteria also match superseded memories, but skip pinned
    ones. An unknown `id` is an error; unknown `ids` are skipped.
    """
    criteria = input.criteria()
    ways = [input.id is not None, input.ids is not None, not criteria.is_empty()]
    if sum(ways) != 1:
        raise InvalidInput(
            "give exactly one of: `id`; `ids`; or criteria (tier, older_than, scope, tags). Nothing was deleted."
        )
    if input.id is not None:
        return DeletedView(deleted=[deleting.delete(call, input.id, version=input.version).id])
    if input.version is not None:
        raise InvalidInput("`version` goes with `id` only; nothing was deleted.")
    done = deleting.delete_all(call, input.ids) if input.ids else deleting.delete_matching(call, criteria)
    return DeletedView(deleted=done.ids, more=done.more or None)


class UndoInput(Input):
    id: MemoryId
    version: int | None = Field(None, ge=1, description="Undo only if this is still its version.")


@CORE.tool("undo", "write", needs="embedder", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def undo(call: Call, input: UndoInput) -> MemoryView:
    """Undo the last change to a memory: restore it after a delete, or restore its version before an update.

    Undoing a superseded memory makes it found again. Undoing a save that superseded others deletes the new memory and
    makes them found again. Call again to go back one more version. Nothing is lost: every version stays in the history.
    """
    return memory_view(undoing.undo(call, input.id, version=input.version))


class ForgetInput(Input):
    id: MemoryId


class ReceiptView(Answer):
    """Confirms that the memory is erased from the store. `outside` says where copies may remain."""

    id: str
    forgotten_at: datetime
    verified: bool
    outside: str = "Backups and exports made before may still contain the memory."


@CORE.tool("forget", "write", destructive=True, examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def forget(call: Call, input: ForgetInput) -> ReceiptView:
    """Erase a memory permanently: text, vectors, history and links to it. This can't be undone; a delete can.

    Backups and exports made before may still contain it.
    """
    receipt = purging.forget(call, input.id)
    return ReceiptView(id=receipt.id, forgotten_at=receipt.forgotten_at, verified=receipt.verified)
