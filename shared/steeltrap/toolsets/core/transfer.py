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
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of records.")
    after: MemoryId | None = Field(None, description="Continue after this id: `next` from the previous answer.")
    include_conversations: bool = Field(True, description="Include the messages of conversations.")
    include_history: bool = Field(True, description="Include the versions that updates replaced.")


class ExportView(Answer):
    """Complete records for `import`. The last page has no `next`."""

    records: list[JsonObject]
    next: str | None = None


@CORE.tool("export", "read", timeout=60.0, cursor=("id",), examples=({"limit": 100},))
def export(call: Call, input: ExportInput) -> ExportView:
    """Export memories as complete records, page by page: text, times, versions, links and history.

    A page ends at `limit` records or 4 MiB. If it has `next`, call again with that value as `after`.
    A record keeps the latest 32 MiB of its history; `history_from` is the first version then.
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
    agent's name in a record is kept as `agent_label`.
    """
    done = importing.import_records(call, input.records)
    errors = [ItemError(index=i, code=e.code, message=e.message) for i, e in done.errors.items()]
    return ImportView(written=done.written, skipped=done.skipped, errors=errors)
