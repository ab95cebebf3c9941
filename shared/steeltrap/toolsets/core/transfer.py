"""core: export, import."""

from pydantic import Field

from ...engine.call import Call
from ...engine.transfer import export as exporting
from ...engine.transfer import import_ as importing
from ...model import JsonObject
from ...tools import Answer, Input
from ..fields import MemoryId
from .toolset import CORE
from .writing import ItemError


class ExportInput(Input):
    limit: int = Field(100, ge=1, le=1000, description="How many records at most.")
    after: MemoryId | None = Field(None, description="Continue behind this id: `next` of the answer before.")
    include_conversations: bool = Field(True, description="The turns of conversations too.")
    include_history: bool = Field(True, description="The versions that updates replaced too.")


class ExportView(Answer):
    """Whole records, which `import` takes; `next` continues, and is left out at the end."""

    records: list[JsonObject]
    next: str | None = None


@CORE.tool("export", "read", timeout=60.0, examples=({"limit": 100},))
def export(call: Call, input: ExportInput) -> ExportView:
    """Export memories as whole records, page by page: text, times, versions, links and history.

    A page ends at the limit, or earlier when its records fill 4 MiB. When `next` is there, call again with it as
    `after`.
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
    records: list[JsonObject] = Field(min_length=1, max_length=1000, description="Records that an export made.")


class ImportView(Answer):
    """How many were written, how many were there already, and what did not fit."""

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
    """Import records that an export made, under their own ids; those that are there already are left as they are.

    Each is yours from then on: `agent_id` and `imported_by` are the calling agent, `imported_at` says when. Another
    agent's name in a record stays as `agent_label`.
    """
    done = importing.import_records(call, input.records)
    errors = [ItemError(index=i, code=e.code, message=e.message) for i, e in done.errors.items()]
    return ImportView(written=done.written, skipped=done.skipped, errors=errors)
