"""Tables and plain texts: one memory per row or per line. Columns are separated by commas, tabs, semicolons or bars.

Which column holds which field is told by the caller (`content=Note`, a header's name or a column's number from 1 on),
else by common names in the header.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import BinaryIO, Final, Self

from ..errors import InvalidInput
from ..model import Draft, JsonObject
from ..model.frozen import frozen
from .items import Filing, Flaw, Item, Kept, LeftOut, Part, moment

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
_LISTED: Final = 50
"""The bad rows of one table that are listed each; of the others there is one sentence."""
_MORE: Final = "{:,} more rows of this file can't be read; mend the ones that are listed, then import it again."
NOT_UTF_8: Final = "it is not valid UTF-8. Save the file as UTF-8, for example by `iconv -f WINDOWS-1252 -t UTF-8`."


def checked_columns(pairs: Sequence[str]) -> dict[str, str]:
    """The columns by field, of texts such as `content=Note`. Raises InvalidInput."""
    columns: dict[str, str] = {}
    for pair in pairs:
        field, equals, column = pair.partition("=")
        field = {"date": "occurred_at", "time": "occurred_at"}.get(field.strip(), field.strip())
        if not equals or not column.strip() or (field not in FIELDS and not re.fullmatch(r"metadata\.\w+", field)):
            raise InvalidInput(
                f"--map takes FIELD=COLUMN, with one of the fields {', '.join(FIELDS)} or metadata.NAME; got {pair!r}."
            )
        if field in columns:
            raise InvalidInput(f"--map gives {field} two columns, {columns[field]} and {column.strip()}: choose one.")
        columns[field] = column.strip()
    if columns and "content" not in columns:
        raise InvalidInput("--map must say which column is the text: --map content=COLUMN.")
    return columns


def table_parts(file: BinaryIO, name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per row; a column without a field is metadata. Raises InvalidInput if no column is the text."""
    listed = more = end = 0
    for part in _all_parts(file, name, before, filing):
        if not isinstance(part, Flaw):
            yield part
        elif listed < _LISTED:
            listed += 1
            yield part
        else:
            more, end = more + 1, part.at
    if more:
        yield Flaw(where=name, at=end, sentence=_MORE.format(more), count=more)


def _all_parts(file: BinaryIO, name: str, before: int, filing: Filing) -> Iterator[Part]:
    lines = _Lines(file)
    csv.field_size_limit(_LONGEST)
    columns: _Columns | None = None
    for number, row in _rows(lines, _delimiter(lines.sample, name)):
        place, at = f"{name}:{number}", before + lines.at
        if isinstance(row, str):
            yield Flaw(where=place, at=at, sentence=row)
            continue
        if not any(cell.strip() for cell in row):
            continue
        if columns is None:
            columns = _columns(row, filing.columns, name)
            if columns.metadata:
                yield Kept(names=tuple(columns.metadata))
            if columns.width:
                continue
        try:
            yield _part(row, columns, place, at, filing)
        except InvalidInput as error:
            yield Flaw(where=place, at=at, sentence=error.message)


def _rows(lines: "_Lines", delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """The rows, each with the number of its first line, or with the sentence that says why it is none.

    Where a quote makes a row that a strict reader refuses, the row's lines are read one by one instead: a quote that is
    never closed costs its own line and no other.
    """
    # A reader takes longer to make than to read a row, and begins afresh after an error.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    alone = _Alone()
    alone_reader = csv.reader(alone, delimiter=delimiter, strict=True)
    while True:
        began = lines.begin_row()
        try:
            row = next(reader)
        except StopIteration:
            return
        except (csv.Error, _TooLong) as error:
            yield began, _why(error)
            for number, line in enumerate(lines.lines[1:], began + 1):
                alone.line = line
                try:
                    yield number, next(alone_reader)
                except csv.Error as own:
                    yield number, _why(own)
        else:
            yield began, row


def _why(error: Exception) -> str:
    if isinstance(error, _TooLong) and error.lines == 1:
        return "the line is longer than 1 MiB."
    if isinstance(error, _TooLong) or "expected after" in str(error) or "unexpected end" in str(error):
        return (
            "a quote at the beginning of a cell is not closed, or other text follows the quote that closes it. Double "
            'each quote within a cell (""), and put the whole cell in quotes.'
        )
    return f"the row can't be read ({error})."


def _part(row: list[str], columns: "_Columns", place: str, at: int, filing: Filing) -> Part:
    cells = {field: row[index].strip() for field, index in columns.fields.items() if index < len(row)}
    cells_kept = {name: row[index].strip() for name, index in columns.metadata.items() if index < len(row)}
    try:
        "".join((*cells.values(), *cells_kept.values())).encode()
    except UnicodeEncodeError:
        raise InvalidInput(NOT_UTF_8) from None
    if columns.width and any(cell.strip() for cell in row[columns.width :]):
        raise InvalidInput(
            f"the row has {len(row)} cells, the header {columns.width}. Put a cell that holds the separator in quotes."
        )
    if not (content := cells.pop("content", "")):
        return LeftOut(kind="rows without text")
    metadata: JsonObject = {name: cell for name, cell in cells_kept.items() if cell}
    metadata |= {
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


@frozen
class _Columns:
    """The index of each field, that of each column which is kept as metadata by its name, and how many there are.

    Without a header the width is 0.
    """

    fields: Mapping[str, int]
    metadata: Mapping[str, int] = field(default_factory=dict)
    width: int = 0


def _columns(row: Sequence[str], columns: Mapping[str, str], name: str) -> _Columns:
    fields, is_header = _places(row, columns, name)
    if not is_header:
        return _Columns(fields=fields)
    width = max(index for index, cell in enumerate(row) if cell.strip()) + 1
    others: dict[str, int] = {}
    for index, cell in enumerate(row[:width]):
        if index not in fields.values():
            title = cell.strip()
            others[title if title and title not in others else f"column {index + 1}"] = index
    return _Columns(fields=fields, metadata=others, width=width)


def _places(row: Sequence[str], columns: Mapping[str, str], name: str) -> tuple[dict[str, int], bool]:
    """The index of each field, and whether the first row is a header."""
    header = {cell.strip().casefold(): index for index, cell in reversed(list(enumerate(row)))}
    if not columns:
        places = {
            field: header[place] for field, names in _KNOWN.items() if (place := _first(names, header)) is not None
        }
        if "content" not in places:
            raise InvalidInput(
                f"{name} has the columns {', '.join(cell.strip() for cell in row)[:200]}. Say which one is the text: "
                "--map content=COLUMN."
            )
        return places, True
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


class _TooLong(Exception):
    """A row is longer than the limit. `lines` is how many lines it takes."""

    def __init__(self, lines: int) -> None:
        self.lines = lines


class _Alone:
    """A reader of one line at a time: each line that is set is followed by no other."""

    line: str | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line, self.line = self.line, None
        if line is None:
            raise StopIteration
        return line


class _Lines:
    """The lines of a file as text, of 1 MiB at most; what is no UTF-8 is in them as lone surrogates.

    `lines` are those of the row that is being read, without a last one that is longer.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._first = file.readline(_LONGEST)
        self._is_whole = True
        self.number = 0
        self.at = 0
        self.lines: list[str] = []
        self._size = 0

    @property
    def sample(self) -> str:
        return self._first[:_SAMPLE].decode("utf-8-sig", "replace")

    def begin_row(self) -> int:
        """Begin to note the lines of a row; the number of its first line."""
        self.lines = []
        self._size = 0
        return self.number + 1

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        """The next line. Raises _TooLong where those of the row take over 1 MiB together."""
        line = self._next()
        if line is None:
            raise StopIteration
        self._size += len(line)
        if not self._is_whole:
            self._end_line()
            raise _TooLong(len(self.lines) + 1)
        self.lines.append(line)
        if self._size > _LONGEST:
            raise _TooLong(len(self.lines))
        return line

    def _next(self) -> str | None:
        line, self._first = self._first, b""
        line = line or self._file.readline(_LONGEST)
        if not line:
            return None
        self.at += len(line)
        self._is_whole = len(line) < _LONGEST or line.endswith(b"\n")
        if self.number == 0:
            line = line.removeprefix(b"\xef\xbb\xbf")
        self.number += 1
        return line.decode("utf-8", "surrogateescape")

    def _end_line(self) -> None:
        while (rest := self._file.readline(_LONGEST)) and not rest.endswith(b"\n"):
            self.at += len(rest)
        self.at += len(rest)


MAX_LINE_BYTES: Final = 1024 * 1024


def line_parts(file: BinaryIO, name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per line that isn't blank."""
    number = at = 0
    while line := file.readline(MAX_LINE_BYTES):
        number, at = number + 1, at + len(line)
        where = f"{name}:{number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            yield Flaw(where=where, at=before + at, sentence=NOT_UTF_8)
            continue
        if text:
            draft = Draft(content=text, scope=filing.scope, tags=filing.tags)
            yield Item(where=where, at=before + at, size=len(line), draft=draft)
