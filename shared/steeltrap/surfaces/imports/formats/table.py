"""Tables: CSV, and texts whose columns are separated by tabs, semicolons or bars. One memory per row.

Which column holds which field is told by the caller (`content=Note`, a header's name or a column's number from 1 on),
else by common names in the header.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, Final

from ....engine.save import Draft
from ....errors import InvalidInput
from ....model import JsonObject
from ..filing import Filing
from ..parts import Flaw, Item, LeftOut, Part
from ..times import moment

FIELDS: Final = ("content", "occurred_at", "tags", "context", "category", "scope")
_METADATA: Final = "metadata."
_KNOWN: Final = {
    "content": ("content", "text", "memory", "note", "fact", "body", "message"),
    "occurred_at": ("occurred_at", "date", "time", "timestamp", "created_at", "created"),
    "tags": ("tags", "tag", "labels"),
}
_DELIMITERS: Final = ",\t;|"
_SAMPLE: Final = 64 * 1024
_LONGEST: Final = 1024 * 1024
NOT_UTF_8: Final = "it is not valid UTF-8. Save the file as UTF-8, for example by `iconv -f WINDOWS-1252 -t UTF-8`."


def checked_columns(given: Sequence[str]) -> dict[str, str]:
    """The columns by field, of texts such as `content=Note`. Raises InvalidInput."""
    columns: dict[str, str] = {}
    for each in given:
        field, equals, column = each.partition("=")
        field = {"date": "occurred_at", "time": "occurred_at"}.get(field.strip(), field.strip())
        if not equals or not column.strip() or (field not in FIELDS and not re.fullmatch(r"metadata\.\w+", field)):
            raise InvalidInput(
                f"--map takes FIELD=COLUMN, with one of the fields {', '.join(FIELDS)} or metadata.NAME; got {each!r}."
            )
        columns[field] = column.strip()
    if columns and "content" not in columns:
        raise InvalidInput("--map must say which column is the text: --map content=COLUMN.")
    return columns


def parts(file: BinaryIO, name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per row. Raises InvalidInput if no column is the text."""
    lines = _Lines(file)
    rows = csv.reader(lines, delimiter=_delimiter(lines.sample, name))
    csv.field_size_limit(_LONGEST)
    where: dict[str, int] | None = None
    while True:
        began = lines.number + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Flaw(where=f"{name}:{began}", at=before + lines.at, sentence=f"the row can't be read ({error}).")
            continue
        if not any(cell.strip() for cell in row):
            continue
        place, at = f"{name}:{began}", before + lines.at
        if where is None:
            where, is_header = _places(row, filing.columns, name)
            if is_header:
                continue
        try:
            yield _part(row, where, place, at, filing)
        except InvalidInput as error:
            yield Flaw(where=place, at=at, sentence=error.message)


def _part(row: list[str], where: Mapping[str, int], place: str, at: int, filing: Filing) -> Part:
    cells = {field: row[index].strip() for field, index in where.items() if index < len(row)}
    try:
        "".join(cells.values()).encode()
    except UnicodeEncodeError:
        raise InvalidInput(NOT_UTF_8) from None
    if not (content := cells.pop("content", "")):
        return LeftOut(what="rows without text")
    metadata: JsonObject = {
        field.removeprefix(_METADATA): cell for field, cell in cells.items() if field.startswith(_METADATA) and cell
    }
    tags = [tag.strip() for tag in re.split(r"[,;|]", cells.get("tags", "")) if tag.strip()]
    draft = Draft(
        content=content,
        scope=cells.get("scope") or filing.scope,
        tags=(*filing.tags, *tags),
        metadata=metadata,
        context=cells.get("context") or None,
        category=cells.get("category") or None,
        occurred_at=moment(cells.get("occurred_at"), filing.zone),
    )
    return Item(where=place, at=at, size=sum(map(len, row)), draft=draft)


def _places(row: Sequence[str], columns: Mapping[str, str], name: str) -> tuple[dict[str, int], bool]:
    """The index of each field, and whether the first row is a header."""
    header = {cell.strip().casefold(): index for index, cell in reversed(list(enumerate(row)))}
    if not columns:
        found = {
            field: header[known] for field, names in _KNOWN.items() if (known := _first(names, header)) is not None
        }
        if "content" not in found:
            raise InvalidInput(
                f"{name} has the columns {', '.join(cell.strip() for cell in row)[:200]}. Say which one is the text: "
                "--map content=COLUMN."
            )
        return found, True
    if all(column.isdigit() and 0 < int(column) <= len(row) for column in columns.values()) and not (
        {column.casefold() for column in columns.values()} & header.keys()
    ):
        return {field: int(column) - 1 for field, column in columns.items()}, False
    for column in columns.values():
        if column.casefold() not in header:
            raise InvalidInput(
                f"{name} has no column {column!r}; its columns are {', '.join(cell.strip() for cell in row)[:200]}."
            )
    return {field: header[column.casefold()] for field, column in columns.items()}, True


def _first(names: Sequence[str], header: Mapping[str, int]) -> str | None:
    return next((name for name in names if name in header), None)


def _delimiter(sample: str, name: str) -> str:
    if name.lower().endswith(".tsv"):
        return "\t"
    first = sample.partition("\n")[0]
    return max(_DELIMITERS, key=first.count)


class _Lines:
    """The lines of a file as text; what is no UTF-8 is in it as lone surrogates."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._first = file.readline(_LONGEST)
        self.number = 0
        self.at = 0

    @property
    def sample(self) -> str:
        return self._first[:_SAMPLE].decode("utf-8-sig", "replace")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line, self._first = self._first, b""
        line = line or self._file.readline(_LONGEST)
        if not line:
            raise StopIteration
        self.at += len(line)
        if self.number == 0:
            line = line.removeprefix(b"\xef\xbb\xbf")
        self.number += 1
        return line.decode("utf-8", "surrogateescape")
