"""From a path to its parts: which documents there are, which format each of them has, and what is in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from ...errors import InvalidInput, SteeltrapError, Unavailable
from ...text.limits import check_json
from . import recognition
from .documents import Document, documents
from .filing import Filing
from .formats import (
    chatgpt,
    claude_ai,
    claude_code,
    knowledge_graph,
    lines,
    markdown,
    mem0,
    memory_service,
    objects,
    table,
)
from .formats.transcript import Transcript
from .parts import Flaw, Item, LeftOut, Part
from .recognition import FORMATS, TEXTS, Format

_MAX_NOTE_BYTES: Final = 64 * 1024 * 1024
_CHATS: Final = {
    "chatgpt": chatgpt.parts,
    "claude-ai": claude_ai.parts,
    "server-memory": knowledge_graph.parts,
    "mem0": mem0.parts,
    "json": objects.parts,
}


@dataclass(slots=True)
class Survey:
    """The documents to import, each with its format; what can't be, and what is left out.

    `going_on` is called wherever something is read, and raises what is to end the import.
    """

    going_on: Callable[[], None] = lambda: None
    found: list[tuple[Document, Format]] = field(default_factory=list)
    others: list[Flaw | LeftOut] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(document.size for document, _ in self.found)

    @property
    def formats(self) -> list[str]:
        """The names of the formats, each once."""
        return list(dict.fromkeys(format.title for _, format in self.found))


def survey(
    path: Path, filing: Filing, format: str | None = None, going_on: Callable[[], None] = lambda: None
) -> Survey:
    """Look at everything below a path. `format` is what its texts are taken for, whatever they are called.

    `going_on` is called before each piece that is read, and raises what is to end the import.

    Raises NotFound, or InvalidInput where nothing is of a known format, or the path is a file of another one.
    """
    surveyed = Survey(going_on)
    for each in documents(path, going_on):
        going_on()
        if not isinstance(each, Document):
            surveyed.others.append(each)
            continue
        try:
            chosen = _chosen(each, filing, format, alone=not path.is_dir() and not each.member)
        except InvalidInput as error:
            if not path.is_dir() and not each.member:
                raise
            surveyed.others.append(Flaw(where=each.name, at=0, sentence=error.message))
            continue
        if chosen is None:
            surveyed.others.append(LeftOut(what="files of other formats"))
        else:
            surveyed.found.append((each, chosen))
    flaws = [other for other in surveyed.others if isinstance(other, Flaw)]
    if not surveyed.found and not flaws:
        raise InvalidInput(f"{path} has nothing that can be imported. {_known()}")
    return surveyed


def parts(surveyed: Survey, filing: Filing) -> Iterator[Part]:
    """Items and flaws, in order. Raises Unavailable for what is no fault of a file."""
    for other in surveyed.others:
        surveyed.going_on()
        yield other
    before = 0
    for document, format in surveyed.found:
        try:
            for part in _of_document(document, format, before, filing, surveyed.going_on):
                surveyed.going_on()
                yield _checked(part)
        except Unavailable:
            raise  # no fault of the file: the same import again goes on
        except SteeltrapError as error:
            yield Flaw(where=document.name, at=before, sentence=error.message)
        except OSError as error:
            yield Flaw(where=document.name, at=before, sentence=f"the file can't be read ({error.strerror}).")
        before += document.size


def _chosen(document: Document, filing: Filing, wanted: str | None, *, alone: bool) -> Format | None:
    if document.size == 0:
        raise InvalidInput(f"{document.name} is empty.")
    found = recognition.recognised(document)
    is_text = found is None or found.name in TEXTS
    if wanted is not None and wanted not in FORMATS:
        raise InvalidInput(f"No format is called {wanted!r}; there are {', '.join(FORMATS)}.")
    if wanted is None and filing.columns and is_text:
        wanted = "csv"
    if wanted is not None and found is not None and found.name != wanted and not (is_text and wanted in TEXTS):
        raise InvalidInput(
            f"{document.name} looks like {found.title}, not {FORMATS[wanted].title}. Leave --format out, or give "
            f"--format {found.name}."
        )
    if wanted is not None:
        if found is None and not (wanted in TEXTS and _is_text(document)):
            raise InvalidInput(f"{document.name} does not look like {FORMATS[wanted].title}.")
        return FORMATS[wanted]
    if found is None and alone:
        raise InvalidInput(f"{document.name} is of no known format. {_known()}")
    return found


def _is_text(document: Document) -> bool:
    with document.text() as file:
        return b"\x00" not in file.read(recognition.HEAD)


def _of_document(
    document: Document, format: Format, before: int, filing: Filing, going_on: Callable[[], None]
) -> Iterator[Part]:
    name = document.name
    if format.name in _CHATS:
        yield from _CHATS[format.name](recognition.values(document), name, before, filing)
    elif format.name == "messages":
        yield from _transcript(document, before, filing).parts(recognition.values(document))
    elif format.name == "mcp-memory-service":
        yield from memory_service.parts(document.path, name, before, document.size, filing, going_on)
    elif format.name == "markdown":
        yield from markdown.parts(_text(document), name, before + document.size, document.size, filing)
    else:
        with document.text() as file:
            if format.name == "claude-code":
                yield from claude_code.parts(file, name, before, document.size, filing)
            elif format.name == "csv":
                yield from table.parts(file, name, before, filing)
            else:
                yield from lines.parts(file, name, before, filing)


def _text(document: Document) -> str:
    if document.size > _MAX_NOTE_BYTES:
        raise InvalidInput("the file is larger than 64 MiB.")
    with document.text() as file:
        try:
            return file.read().decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(table.NOT_UTF_8) from None


def _transcript(document: Document, before: int, filing: Filing) -> Transcript:
    # The resolved path tells two files of one name apart, and is the same at the next import.
    place = str(document.path.resolve()) + (f"/{document.name}" if document.member else "")
    digest = sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    name = Path(document.name).name
    return Transcript(name=document.name, conversation=f"{name}#{digest}", filing=filing, offset=before)


def _checked(part: Part) -> Part:
    """The part, a flaw in its place where no store could keep what it says beside its text."""
    if isinstance(part, Item) and part.draft is not None:
        try:
            check_json(part.draft.metadata, where="metadata")
        except SteeltrapError as error:
            return Flaw(where=part.where, at=part.at, sentence=error.message)
    return part


def _known() -> str:
    return f"import takes {', '.join(format.title for format in FORMATS.values())}."
