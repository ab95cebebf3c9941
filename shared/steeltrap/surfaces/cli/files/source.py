"""From a path to its parts: which files there are, and which format each of them has."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from ....errors import InvalidInput, NotFound
from . import json_document, json_lines, markdown
from .item import Flaw, Part
from .transcript import Transcript

_LINES: Final = (".jsonl", ".ndjson")
_MAX_NOTE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is imported, and how what it gives is filed."""

    path: Path
    scope: str
    tags: tuple[str, ...] = ()

    def parts(self) -> Iterator[Part]:
        """Items and flaws, in order. Raises NotFound or InvalidInput when there is nothing that can be read."""
        notes = _notes(self.path)
        if notes is None:
            yield from self._values()
            return
        at = 0
        for note in notes:
            name = str(note.relative_to(self.path)) if note != self.path else note.name
            size = note.stat().st_size
            at += size
            yield from self._note(note, name, at, size)

    def _note(self, note: Path, name: str, at: int, size: int) -> Iterator[Part]:
        try:
            if size > _MAX_NOTE_BYTES:
                raise InvalidInput("the file is larger than 64 MiB.")
            text = note.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            yield Flaw(where=name, at=at, sentence="the file is not valid UTF-8.")
        except OSError as error:
            yield Flaw(where=name, at=at, sentence=f"the file can't be read ({error.strerror}).")
        except InvalidInput as error:
            yield Flaw(where=name, at=at, sentence=error.message)
        else:
            yield from markdown.parts(text, name, scope=self.scope, tags=self.tags, at=at, size=size)

    def _values(self) -> Iterator[Part]:
        # The resolved path tells two files of one name apart, and is the same at the next import.
        digest = sha256(str(self.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        transcript = Transcript(
            name=self.path.name,
            conversation=f"{self.path.name}#{digest}",
            scope=self.scope,
            tags=self.tags,
        )
        read = json_lines.read if self.path.suffix.lower() in _LINES else json_document.read
        yield from transcript.parts(read(self.path))


def total_bytes(path: Path) -> int:
    """How much there is to read. Raises NotFound, or InvalidInput where nothing can be imported."""
    notes = _notes(path)
    return sum(note.stat().st_size for note in (notes if notes is not None else [path]))


def _notes(path: Path) -> list[Path] | None:
    """The Markdown files, sorted; None for a file of JSON."""
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if _is_note(p.relative_to(path)) and p.is_file())
        if not found:
            raise InvalidInput(f"{path} has no Markdown files (*.md); import takes a folder of them, JSON or JSONL.")
        return found
    if not path.is_file():
        raise NotFound(f"There is no file or folder {path}.")
    try:
        with path.open("rb") as file:
            beginning = file.read(4096)
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror}).") from None
    if path.suffix.lower() in markdown.SUFFIXES:
        return [path]
    first = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if path.suffix.lower() not in _LINES and first not in (b"[", b"{"):
        raise InvalidInput(f"{path.name} is neither Markdown nor JSON: import takes *.md, *.json and *.jsonl.")
    return None


def _is_note(path: Path) -> bool:
    return path.suffix.lower() in markdown.SUFFIXES and not any(part.startswith(".") for part in path.parts)
