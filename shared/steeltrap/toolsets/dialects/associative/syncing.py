"""associative: memory_sync."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from ....engine import exporting, imports, syncing
from ....engine.call import Call
from ....engine.exchange_file import FORMAT_VERSION
from ....engine.syncing import Strategy
from ....errors import InvalidInput
from ....text.limits import MAX_FILE_NAME_CHARACTERS
from . import ASSOCIATIVE
from .views import Full, Levelled, LevelledInput, Short, Standard, Succeeded, answered

_SHOWN_FAILURES = 100


class SyncInput(LevelledInput):
    operation: Literal["export", "import"] = Field(
        description="export: write memories to a file; import: read them from one."
    )
    scope: Annotated[str, Field(min_length=1, max_length=513)] | None = Field(
        None,
        description="With export: only this scope and the scopes below it. With import: a prefix for the scope of "
        "each memory, such as 'imported'.",
    )
    file_path: Annotated[str, Field(min_length=1, max_length=MAX_FILE_NAME_CHARACTERS)] | None = Field(
        None,
        description="A relative path in your own folder of exported files, such as 'backup/memories.json'. Default "
        "for an export: a new name, which the answer contains.",
    )
    include_associations: bool = Field(True, description="Include the associations between the memories.")
    compression: bool = Field(False, description="With export: compress the file with gzip. An import detects this.")
    merge_strategy: Strategy = Field(
        "skip_duplicates",
        description="With import, if a memory already exists: skip_duplicates keeps it, overwrite replaces it, "
        "create_versions stores the file's version as a second memory, merge_metadata adds its tags and metadata.",
    )


class SyncFailure(Levelled):
    """A memory in the file that was not imported: its position in the file, from 0, and why."""

    index: int
    code: str
    message: str


class SyncSummary(Levelled):
    """Counts of the memories. An export sets `exported`, an import the other counts."""

    exported: int | None = None
    imported: int | None = None
    overwritten: int | None = None
    merged: int | None = None
    versions: int | None = None
    skipped: int | None = None
    associations: int
    failures: list[SyncFailure] | None = None


class FileInfo(Levelled):
    """The file. `size` and `uncompressed_size` are in bytes; the latter is set if the file is compressed."""

    file_path: str
    format_version: str
    size: int
    uncompressed_size: int | None = None
    compressed: bool


class ProcessingStats(Levelled):
    """The seconds it took."""

    seconds: float


class SyncAnswer(Succeeded):
    """`item_count` counts the memories written to the file, or imported from it. `failed_count` is set if some could
    not be imported."""

    operation_type: Literal["export", "import"]
    failed_count: Short[int] = None
    item_count: Standard[int] = None
    file_path: Standard[str] = None
    detailed_summary: Full[SyncSummary] = None
    file_info: Full[FileInfo] = None
    processing_stats: Full[ProcessingStats] = None


@ASSOCIATIVE.tool(
    "sync",
    "write",
    needs="index",
    timeout=60.0,
    files=True,
    examples=(
        {"operation": "export", "scope": "work", "file_path": "backup/work.json"},
        {"operation": "import", "file_path": "backup/work.json", "merge_strategy": "overwrite"},
    ),
)
def memory_sync(call: Call, input: SyncInput) -> SyncAnswer:
    """Export memories to a file in your own folder, or import them from one.

    An export of a scope includes the scopes below it and the associations between its memories. An existing file of
    that name is replaced. Files keep their content, even if memories are forgotten later.
    """
    began = call.now()
    answer = _export(call, input) if input.operation == "export" else _import(call, input)
    if answer.processing_stats is not None:
        answer.processing_stats.seconds = round((call.now() - began).total_seconds(), 3)
    return answered(call, input.response_level, answer)


def _export(call: Call, input: SyncInput) -> SyncAnswer:
    exported = exporting.export_file(
        call,
        scope=input.scope,
        name=input.file_path,
        compressed=input.compression,
        associations=input.include_associations,
    )
    return SyncAnswer(
        operation_type="export",
        item_count=exported.memories,
        file_path=exported.name,
        detailed_summary=SyncSummary(exported=exported.memories, associations=exported.associations),
        file_info=_file_info(exported.name, exported.size, exported.plain_size),
        processing_stats=ProcessingStats(seconds=0),
    )


def _import(call: Call, input: SyncInput) -> SyncAnswer:
    if input.file_path is None:
        raise InvalidInput("`file_path` is required for an import: give the path from the answer to an export.")
    with imports.recorded(call, input.file_path, ("a memory_sync file",)) as run:
        imported = syncing.import_file(
            call,
            input.file_path,
            strategy=input.merge_strategy,
            prefix=input.scope,
            associations=input.include_associations,
        )
    record = replace(
        run,
        written=imported.actions["new"] + imported.actions["version"],
        updated=imported.actions["overwritten"] + imported.actions["merged"],
        skipped=imported.actions["skipped"],
        failed=len(imported.errors),
    )
    imports.finish(call, record)
    summary = SyncSummary(
        imported=imported.actions["new"],
        overwritten=imported.actions["overwritten"],
        merged=imported.actions["merged"],
        versions=imported.actions["version"],
        skipped=imported.actions["skipped"],
        associations=imported.associations,
        failures=[
            SyncFailure(index=index, code=error.code, message=error.message)
            for index, error in list(imported.errors.items())[:_SHOWN_FAILURES]
        ],
    )
    return SyncAnswer(
        operation_type="import",
        failed_count=len(imported.errors) or None,
        item_count=imported.actions.total() - imported.actions["skipped"],
        file_path=imported.name,
        detailed_summary=summary,
        file_info=_file_info(imported.name, imported.size, imported.plain_size),
        processing_stats=ProcessingStats(seconds=0),
    )


def _file_info(name: str, size: int, plain_size: int) -> FileInfo:
    return FileInfo(
        file_path=name,
        format_version=FORMAT_VERSION,
        size=size,
        uncompressed_size=plain_size if size != plain_size else None,
        compressed=size != plain_size,
    )
