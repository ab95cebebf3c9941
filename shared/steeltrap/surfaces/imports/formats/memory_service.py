"""The SQLite file of mcp-memory-service (`sqlite_vec.db`), opened to read only, without its extension.

Its table `memories` has the columns `content`, `tags` (separated by commas), `memory_type`, `metadata` (JSON),
`created_at` (seconds) and `deleted_at`; older files lack some of them. Vectors are in a table of the extension
sqlite-vec, which nothing here reads. See github.com/doobidoo/mcp-memory-service, storage/sqlite_vec.py. It is a file
that people bring, as a CSV file is, and not a store of this product: those are in `adapters`.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from ....engine.save import Draft
from ....errors import InvalidInput
from ....model import JsonObject
from ....rules.transcripts.said import cleaned
from ..filing import Filing
from ..parts import Flaw, Item, LeftOut, Part
from ..times import moment

SIGNATURE: Final = b"SQLite format 3\x00"
_NEEDED: Final = frozenset({"content", "content_hash", "tags", "created_at"})
_COLUMNS: Final = ("id", "content", "tags", "memory_type", "metadata", "created_at", "deleted_at", "superseded_by")
_UNTAGGED: Final = "untagged"
"""What the service writes where there are no tags."""


def is_file(path: Path) -> bool:
    try:
        with closing(_opened(path)) as file:
            return _columns(file) >= _NEEDED
    except sqlite3.Error:
        return False


def parts(path: Path, name: str, before: int, size: int, filing: Filing) -> Iterator[Part]:
    """A memory per row; deleted ones, and those that another one superseded, are left out."""
    try:
        with closing(_opened(path)) as file:
            there = _columns(file)
            total = max(1, file.execute("SELECT count(*) FROM memories").fetchone()[0])
            shown = ", ".join(column if column in there else f"NULL AS {column}" for column in _COLUMNS)
            rows = file.execute(f"SELECT {shown} FROM memories ORDER BY rowid")
            for number, row in enumerate(rows, 1):
                yield _part(row, f"{name} row {number}", before + size * number // total, filing)
    except sqlite3.Error as error:
        yield Flaw(where=name, at=before + size, sentence=f"the file can't be read further ({error}).")


def _part(row: sqlite3.Row, where: str, at: int, filing: Filing) -> Part:
    if row["deleted_at"] is not None:
        return LeftOut(what="deleted memories")
    if row["superseded_by"] is not None:
        return LeftOut(what="superseded memories")
    if not isinstance(row["content"], str) or not row["content"].strip():
        return Flaw(where=where, at=at, sentence="it has no text.")
    tags = (tag.strip() for tag in str(row["tags"] or "").split(","))
    try:
        draft = Draft(
            content=cleaned(row["content"]),
            scope=filing.scope,
            tags=(*filing.tags, *(tag for tag in tags if tag and tag != _UNTAGGED)),
            metadata=_metadata(row),
            occurred_at=moment(row["created_at"], filing.zone),
        )
    except InvalidInput as error:
        return Flaw(where=where, at=at, sentence=error.message)
    return Item(where=where, at=at, size=len(row["content"]), draft=draft)


def _metadata(row: sqlite3.Row) -> JsonObject:
    metadata: JsonObject = {"imported_from": "mcp-memory-service"}
    if row["memory_type"]:
        metadata["memory_type"] = str(row["memory_type"])
    try:
        given: Any = json.loads(row["metadata"] or "{}")
    except (TypeError, ValueError, RecursionError):
        given = None
    return metadata | given if isinstance(given, dict) else metadata


def _opened(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    file.row_factory = sqlite3.Row
    # A file from elsewhere: its schema may hold functions, and its text may be of any encoding.
    file.execute("PRAGMA trusted_schema = OFF")
    file.text_factory = lambda data: data.decode("utf-8", "replace")
    return file


def _columns(file: sqlite3.Connection) -> set[str]:
    table = file.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'memories'").fetchone()
    return {row["name"] for row in file.execute("PRAGMA table_info(memories)")} if table else set()
