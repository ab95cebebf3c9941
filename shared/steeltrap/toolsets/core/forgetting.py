"""core: delete, undo, forget."""

from datetime import datetime

from pydantic import Field

from ...engine import deleting
from ...engine.call import Call
from ...errors import InvalidInput
from ...model import Filter, Tier
from ...tools import Answer, Input
from ..fields import Label, MemoryId, MemoryIds, Scope, Tags, Time
from . import CORE
from .views import MemoryView, memory_view


class ChosenInput(Input):
    """Which memories: exactly one of `id`, `ids` and the criteria."""

    id: MemoryId | None = None
    ids: MemoryIds | None = None
    tier: Tier | None = Field(None, description="Memories of this tier.")
    older_than: Time | None = Field(None, description="Memories saved before this time.")
    scope: Scope | None = Field(None, description="Memories in this scope.")
    include_child_scopes: bool = Field(False, description="With `scope`: also in the scopes below it.")
    tags: Tags | None = Field(None, description="Memories that have all of these tags.")
    written_by: Label | None = Field(None, description="Memories that this agent wrote.")
    untrusted: bool | None = Field(None, description="true: memories that untrusted agents wrote.")

    def check_one_way(self, otherwise: str) -> None:
        """Raises InvalidInput unless there is exactly one way of naming memories."""
        if sum([self.id is not None, self.ids is not None, not self.criteria().is_open()]) != 1:
            raise InvalidInput(
                f"give exactly one of: `id`; `ids`; or criteria (tier, older_than, scope, tags). {otherwise}."
            )

    def criteria(self) -> Filter:
        return Filter(
            tier=self.tier,
            created_before=self.older_than,
            scope=self.scope,
            include_child_scopes=self.include_child_scopes,
            tags=tuple(self.tags or ()),
            agent_id=self.written_by,
            untrusted=self.untrusted,
        )


class DeleteInput(ChosenInput):
    version: int | None = Field(None, ge=1, description="With `id`: delete only if this is still its version.")


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
    input.check_one_way("Nothing was deleted")
    if input.id is not None:
        return DeletedView(deleted=[deleting.delete(call, input.id, version=input.version).id])
    if input.version is not None:
        raise InvalidInput("`version` goes with `id` only; nothing was deleted.")
    deletion = deleting.delete_all(call, input.ids) if input.ids else deleting.delete_matching(call, input.criteria())
    return DeletedView(deleted=deletion.ids, more=deletion.more or None)


class UndoInput(Input):
    id: MemoryId
    version: int | None = Field(None, ge=1, description="Undo only if this is still its version.")


@CORE.tool("undo", "write", needs="embedder", examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},))
def undo(call: Call, input: UndoInput) -> MemoryView:
    """Undo the last change to a memory: restore it after a delete, or restore its version before an update.

    Undoing a superseded memory makes it found again. Undoing a save that superseded others deletes the new memory and
    makes them found again. Call again to go back one more version. Nothing is lost: every version stays in the history.
    """
    return memory_view(deleting.undo(call, input.id, version=input.version))


class ForgetInput(ChosenInput):
    merged: bool = Field(False, description="Also forget memories that were merged from these.")


class RewrittenView(Answer):
    """An episode that lost messages: its old id and its new one."""

    was: str
    id: str


class LeftView(Answer):
    """A memory that is still there. `why`: it was `merged` from a forgotten one, has the `same text`, or `names it`."""

    id: str
    why: str


class BroughtByView(Answer):
    """An import that brought a forgotten memory, and the name of its file."""

    id: str
    name: str


class ReceiptView(Answer):
    """The erased ids, and what is left. `id` is the memory's if one was asked for, `forgotten` are all erased ids.

    `verified` is true if something was forgotten, the store was searched afterwards, and no memory holds the text or
    names the id. `left` lists up to 100 of the `left_count` that do. `rewritten` episodes lost messages. `back` are
    memories that a forgotten one had superseded, found again. `exports` are your exported files that still hold the
    text, and `unread_exports` could not be read. `imports` brought what was forgotten, and their files may still hold
    it. `more` is true if time ran out: call again to continue.
    """

    id: str | None = None
    forgotten: list[str]
    forgotten_at: datetime
    verified: bool
    rewritten: list[RewrittenView] | None = None
    left: list[LeftView] | None = None
    left_count: int | None = None
    back: list[str] | None = None
    exports: list[str] | None = None
    unread_exports: list[str] | None = None
    imports: list[BroughtByView] | None = None
    more: bool | None = None
    message: str
    outside: str = "Backups and exports made before may still contain the memory."


@CORE.tool(
    "forget",
    "write",
    needs="embedder",
    files=True,
    destructive=True,
    timeout=30.0,
    examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"}, {"scope": "work/project-x", "merged": True}),
)
def forget(call: Call, input: ForgetInput) -> ReceiptView:
    """Erase memories permanently: text, vectors, history and links to them. This can't be undone; a delete can.

    Choose by `id`, by `ids`, or by criteria, which also match messages and deleted memories but skip pinned ones. An
    episode takes its messages along. A forgotten message is taken out of its episode, which gets a new id. The receipt
    lists other memories and exported files that still hold the text.
    """
    input.check_one_way("Nothing was forgotten")
    if input.id is not None:
        receipt = deleting.forget(call, input.id, with_merged=input.merged)
    elif input.ids is not None:
        receipt = deleting.forget_all(call, input.ids, with_merged=input.merged)
    else:
        receipt = deleting.forget_matching(call, input.criteria(), with_merged=input.merged)
    remaining = [LeftView(id=id, why=why) for id, why in list(receipt.remnants.items())[: deleting.MOST_LISTED]]
    return ReceiptView(
        id=receipt.ids[0] if input.id is not None else None,
        forgotten=[*receipt.ids, *receipt.also],
        forgotten_at=receipt.forgotten_at,
        verified=receipt.verified,
        rewritten=[RewrittenView(was=was, id=id) for was, id in receipt.rewritten.items()] or None,
        left=remaining or None,
        left_count=len(receipt.remnants) or None,
        back=receipt.back or None,
        exports=receipt.exports or None,
        unread_exports=receipt.unread or None,
        imports=[BroughtByView(id=id, name=name) for id, name in receipt.imports.items()] or None,
        more=receipt.more or None,
        message=deleting.sentence(receipt),
    )
