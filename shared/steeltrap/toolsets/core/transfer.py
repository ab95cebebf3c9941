"""core: export, import, list_imports, undo_import."""

from dataclasses import replace
from datetime import datetime

from pydantic import Field

from ...engine import exporting, importing, imports
from ...engine.call import Call
from ...model import Import, JsonObject
from ...tools import Answer, Input
from ..fields import ImportId, MemoryId
from . import CORE
from .writing import ItemError

_LISTED = 100
_SHOWN = 200


class ExportInput(Input):
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of records.")
    after: MemoryId | None = Field(None, description="Continue here: `next` from the previous answer.")
    include_conversations: bool = Field(True, description="Include the messages of conversations.")
    include_history: bool = Field(True, description="Include the versions that updates replaced.")


class ExportView(Answer):
    """Complete records for `import`. The last page has no `next`."""

    records: list[JsonObject]
    next: str | None = None


@CORE.tool("export", "read", timeout=60.0, cursor=exporting.cursor, examples=({"limit": 100},))
def export(call: Call, input: ExportInput) -> ExportView:
    """Export memories as complete records, page by page: text, times, versions, links and history.

    A page ends at `limit` records or 4 MiB. If it has `next`, call again with that value as `after`.
    A long history goes on in further records, which have `id` and `history` only.
    """
    page = exporting.export_page(
        call,
        limit=input.limit,
        after=input.after,
        turns=input.include_conversations,
        history=input.include_history,
    )
    return ExportView(records=page.records, next=page.next)


class ImportInput(Input):
    records: list[JsonObject] = Field(min_length=1, max_length=1000, description="Records from an export.")
    import_id: ImportId | None = Field(
        None,
        description="A UUID of yours: calls with the same one are one import. Default: an import of its own.",
        json_schema_extra={"format": "uuid"},
    )


class ImportView(Answer):
    """The number written, the number that already existed, and the records that failed."""

    written: int
    skipped: int
    errors: list[ItemError]


@CORE.tool(
    "import",
    "write",
    needs="index",
    name="import",
    timeout=60.0,
    max_bytes=64 * 1024 * 1024,
    idempotent=True,
    examples=(
        {
            "records": [
                {
                    "id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
                    "content": "User prefers dark mode.",
                    "created_at": "2026-01-31T09:30:00+00:00",
                    "updated_at": "2026-01-31T09:30:00+00:00",
                }
            ]
        },
    ),
)
def import_(call: Call, input: ImportInput) -> ImportView:
    """Import records from an export, under their own ids. Records that already exist are skipped.

    The calling agent becomes their `agent_id` and `imported_by`; `imported_at` is the time of the import. Another
    agent's name in a record is kept as `agent_label`. list_imports lists the import, and undo_import takes it back.
    """
    with imports.recorded(call, "core.import", ("steeltrap export",), id=input.import_id) as run:
        result = importing.import_records(call, input.records)
    errors = [ItemError(index=i, code=e.code, message=e.message) for i, e in result.errors.items()]
    imports.finish(
        call,
        replace(
            run,
            written=run.written + result.written,
            skipped=run.skipped + result.skipped,
            failed=run.failed + len(result.errors),
        ),
    )
    return ImportView(written=result.written, skipped=result.skipped, errors=errors)


class ListImportsInput(Input):
    limit: int = Field(20, ge=1, le=1000, description="Maximum number of imports.")
    offset: int = Field(0, ge=0, description="Number of imports to skip.")
    id: ImportId | None = Field(None, description="Only the import of this id, or of the start of one, with its files.")


class ImportRunView(Answer):
    """An import. `state`: running; unfinished (it was stopped or killed); complete; undone. `kept` counts what an undo
    left because it was changed since. With `id`, `files` has the first files with their counts: found, written, skipped
    (already there), failed, and left_out by what it is."""

    id: str
    name: str
    state: str
    started_at: datetime
    formats: list[str] | None = None
    agent_id: str | None = None
    found: int | None = None
    written: int
    updated: int | None = None
    skipped: int
    failed: int
    episodes: int | None = None
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    kept: int | None = None
    files: list[JsonObject] | None = None
    file_count: int | None = None


class ImportsView(Answer):
    """The imports, the latest first, and how many there are in all."""

    imports: list[ImportRunView]
    total: int


@CORE.tool("list", "read", examples=({}, {"limit": 5}))
def list_imports(call: Call, input: ListImportsInput) -> ImportsView:
    """List the imports, the latest first: from which file, when, and what each wrote.

    `list` with `import_id` lists the memories that one brought; undo_import takes one back.
    """
    if input.id is not None:
        run = imports.find_import(call, input.id)
        view = _run_view(call, run).model_copy(
            update={"files": list(run.files) or None, "file_count": run.file_count or None}
        )
        return ImportsView(imports=[view], total=1)
    page = imports.list_imports(call, limit=input.limit, offset=input.offset)
    return ImportsView(imports=[_run_view(call, run) for run in page.imports], total=page.total)


class UndoImportInput(Input):
    id: ImportId = Field(description="The import's id, or the start of it.")


class ChangedView(Answer):
    """A memory that was changed since the import."""

    id: str
    content: str


class ImportUndoneView(Answer):
    """The numbers of memories and messages that were removed and of memories that have their earlier text again. `left`
    has up to 100 of the memories that were changed since and stay, `left_total` counts them. `more` is true if time
    ran out: call again to continue."""

    id: str
    removed: int
    restored: int
    left: list[ChangedView]
    left_total: int
    more: bool | None = None


@CORE.tool(
    "forget",
    "write",
    needs="embedder",
    destructive=True,
    timeout=60.0,
    examples=({"id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"},),
)
def undo_import(call: Call, input: UndoImportInput) -> ImportUndoneView:
    """Take back an import: erase what it created, and give what it changed its earlier text again.

    What was changed since is left and listed, and what was there before the import stays. The erased memories can't be
    restored, but the file can be imported again.
    """
    result = imports.undo_import(call, input.id)
    views = [ChangedView(id=memory.id, content=memory.content[:_SHOWN]) for memory in result.changed_memories[:_LISTED]]
    return ImportUndoneView(
        id=result.run.id,
        removed=result.removed,
        restored=result.restored,
        left=views,
        left_total=len(result.changed_memories),
        more=result.more or None,
    )


def _run_view(call: Call, run: Import) -> ImportRunView:
    return ImportRunView(
        id=run.id,
        name=run.name,
        state=imports.state_of(call, run),
        started_at=run.started_at,
        formats=list(run.formats) or None,
        agent_id=run.agent_id,
        found=run.found or None,
        written=run.written,
        updated=run.updated or None,
        skipped=run.skipped,
        failed=run.failed,
        episodes=run.episodes or None,
        finished_at=run.finished_at,
        undone_at=run.undone_at,
        kept=run.kept or None,
    )
