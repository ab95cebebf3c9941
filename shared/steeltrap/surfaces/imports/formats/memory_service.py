"""The SQLite file of mcp-memory-service (`sqlite_vec.db`), opened to read only, without its extension.

Its table `memories` has the columns `content`, `tags` (separated by commas), `memory_type`, `metadata` (JSON),
`created_at` (seconds) and `deleted_at`; older files lack some of them. Vectors are in a table of the extension
sqlite-vec, which nothing here reads. See github.com/doobidoo/mcp-memory-service, storage/sqlite_vec.py.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ....errors import InvalidInput
from ....model import Draft, JsonObject
from ....runtime.local import open_foreign_database
from ....text.json_pieces import parsed
from ....text.transcripts.messages import cleaned
from ..filing import Filing
from ..parts import Flaw, Item, LeftOut, Part
from ..times import moment
from ..validity import validity_of

SIGNATURE: Final = b"SQLite format 3\x00"
_TABLE: Final = "memories"
_NEEDED: Final = frozenset({"content", "content_hash", "tags", "created_at"})
_COLUMNS: Final = ("id", "content", "tags", "memory_type", "metadata", "created_at", "deleted_at", "superseded_by")
_UNTAGGED: Final = "untagged"
"""The text that the service writes where there are no tags."""


def is_file(path: Path, name: str) -> bool:
    """Whether a database is one. Raises InvalidInput that says why it can't be read."""
    with open_foreign_database(path, name) as file:
        return set(file.columns(_TABLE)) >= _NEEDED


def parts(
    path: Path, name: str, before: int, size: int, filing: Filing, going_on: Callable[[], None] = lambda: None
) -> Iterator[Part]:
    """A memory per row; deleted ones, and those that another one superseded, are left out."""
    with open_foreign_database(path, name, going_on) as file:
        there = file.columns(_TABLE)
        names = [column for column in _COLUMNS if column in there]
        total = max(1, file.count(_TABLE))
        for number, row in enumerate(file.rows(_TABLE, names), 1):
            values = dict.fromkeys(_COLUMNS) | dict(zip(names, row, strict=True))
            yield _part(values, f"{name} row {number}", before + size * number // total, filing)


def _part(row: Mapping[str, Any], where: str, at: int, filing: Filing) -> Part:
    if not isinstance(row["content"], str) or not row["content"].strip():
        return Flaw(where=where, at=at, sentence="it has no text.")
    tags = (tag.strip() for tag in str(row["tags"] or "").split(","))
    metadata = _metadata(row)
    try:
        validity = validity_of({**metadata, **{key: row[key] for key in ("deleted_at", "superseded_by")}}, filing)
        if validity.ended:
            return LeftOut(what=validity.ended)
        draft = Draft(
            content=cleaned(row["content"]),
            scope=filing.scope,
            tags=(*filing.tags, *(tag for tag in tags if tag and tag != _UNTAGGED)),
            metadata=metadata,
            occurred_at=moment(row["created_at"], filing.zone),
            expires_at=validity.until,
        )
    except InvalidInput as error:
        return Flaw(where=where, at=at, sentence=error.message)
    return Item(where=where, at=at, size=len(row["content"]), draft=draft)


def _metadata(row: Mapping[str, Any]) -> JsonObject:
    metadata: JsonObject = {"imported_from": "mcp-memory-service"}
    if row["memory_type"]:
        metadata["memory_type"] = str(row["memory_type"])
    try:
        given: Any = parsed(row["metadata"] or "{}")
    except (TypeError, ValueError, RecursionError):
        given = None
    return metadata | given if isinstance(given, dict) else metadata
