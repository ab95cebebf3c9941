"""From a path to its parts: which documents there are, which format each of them has, and what is in it.

A document's content decides its format; the name only tells plain texts apart.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Final

from ..errors import InvalidInput, SteeltrapError, Unavailable
from ..model import JsonObject
from ..model.frozen import frozen
from ..text.json_limits import check_json
from ..text.limits import check_scope, check_tags
from ..text.schemas import show
from . import chats, json_values, markdown, memories, tables
from .chats import Transcript
from .documents import Document, documents
from .items import OTHER_FILES, Filing, Flaw, Item, Kept, LeftOut, Part, flaw_of_file
from .json_values import Damage, Value

HEAD: Final = 256 * 1024
_FIRST: Final = 20
"""How many values are looked at: the first ones may be damaged, or of a kind that several formats have."""
_LINES: Final = (".jsonl", ".ndjson")
_MARKDOWN: Final = (".md", ".markdown")
_BY_SUFFIX: Final = {".csv": "csv", ".tsv": "csv", ".txt": "text"} | dict.fromkeys(_MARKDOWN, "markdown")


@frozen
class Format:
    """A format by what it is called in `--format` and in sentences, and how its JSON values are told."""

    name: str
    title: str
    is_value: Callable[[JsonObject], bool] | None = None


FORMATS: Final = {
    format.name: format
    for format in (
        Format(name="chatgpt", title="a ChatGPT export", is_value=chats.is_chatgpt),
        Format(name="claude-ai", title="a Claude.ai export", is_value=chats.is_claude_ai),
        Format(name="mem0", title="memories of mem0", is_value=memories.is_mem0),
        Format(name="server-memory", title="a knowledge graph of server-memory", is_value=memories.is_knowledge_graph),
        Format(name="claude-code", title="a Claude Code transcript", is_value=chats.is_claude_code),
        Format(name="messages", title="messages, or a steeltrap export", is_value=chats.is_transcript),
        Format(name="json", title="memories as JSON", is_value=memories.is_object),
        Format(name="mcp-memory-service", title="a database of mcp-memory-service"),
        Format(name="markdown", title="Markdown"),
        Format(name="csv", title="a table (CSV)"),
        Format(name="text", title="plain text"),
    )
}
"""In the order in which values are tried: a memory of mem0 has a `role` too."""
TEXTS: Final = ("markdown", "csv", "text")


def recognised(document: Document) -> Format | None:
    """The format of a document, None if it has none of them. Raises InvalidInput if it can't be read."""
    with document.text() as file:
        head = file.read(HEAD)
    if head.startswith(memories.SIGNATURE):
        is_database = not document.member and memories.is_file(document.path, document.name)
        return FORMATS["mcp-memory-service"] if is_database else None
    if b"\x00" in head:
        if document.suffix in _BY_SUFFIX:
            raise InvalidInput(f"{document.name} is no text.")
        return None
    if (
        (is_json(head) or document.suffix in _LINES)
        and document.suffix not in _MARKDOWN
        and (format := _of_values(document))
    ):
        return format
    by_suffix = _BY_SUFFIX.get(document.suffix)
    return FORMATS[by_suffix] if by_suffix else None


def is_json(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def values(document: Document) -> Iterator[Value | Damage]:
    """The JSON values of a document: each line on its own where lines are what it has."""
    with document.text() as file:
        reader = json_values.read_lines if _has_lines(document) else json_values.read_document
        yield from reader(file)
        if getattr(getattr(file, "raw", None), "damaged", False):
            yield Damage(line=0, at=document.size, sentence="the archive is damaged here; what follows is missing.")


def _has_lines(document: Document) -> bool:
    """Whether its first line is a whole object and another one comes after it."""
    if document.suffix in _LINES:
        return True
    with document.text() as file:
        head = file.read(HEAD)
    lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")
    if len(lines) < 2 or not lines[0].startswith(b"{"):
        return False
    # The last of so many lines may be cut, and one of the others damaged.
    first = [next(json_values.read_lines(BytesIO(line)), None) for line in lines[:_FIRST]]
    whole = [isinstance(each, Value) and isinstance(each.value, dict) for each in first if each is not None]
    return len(whole) > 1 and (whole[0] or 2 * sum(whole) >= len(whole))


def _of_values(document: Document) -> Format | None:
    damage: Damage | None = None
    for value in islice(values(document), _FIRST):
        if isinstance(value, Damage):
            damage = damage or value
            continue
        body = value.value
        if isinstance(body, dict):
            for format in FORMATS.values():
                if format.is_value is not None and format.is_value(body):
                    return format
    if damage is not None and document.suffix not in _BY_SUFFIX:
        raise InvalidInput(f"{damage.place(document.name)}: {damage.sentence}")
    return None


_MAX_NOTE_BYTES: Final = 64 * 1024 * 1024
_OF_VALUE: Final = {
    "chatgpt": chats.chatgpt_parts,
    "claude-ai": chats.claude_ai_parts,
    "server-memory": memories.knowledge_graph_parts,
    "mem0": memories.mem0_parts,
    "json": memories.object_parts,
}
_NAMED: Final = ("chatgpt", "claude-ai")


@dataclass(slots=True)
class Survey:
    """The documents to import, each with its format; what can't be, and what is left out.

    `going_on` is called wherever something is read, and raises what is to end the import.
    """

    going_on: Callable[[], None] = lambda: None
    documents: list[tuple[Document, Format]] = field(default_factory=list)
    others: list[Flaw | LeftOut] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(document.size for document, _ in self.documents)

    @property
    def formats(self) -> list[str]:
        """The names of the formats, each once."""
        return list(dict.fromkeys(format.title for _, format in self.documents))


def survey(
    path: Path, filing: Filing, format: str | None = None, going_on: Callable[[], None] = lambda: None
) -> Survey:
    """Look at everything below a path. `format` is what its texts are taken for, whatever they are called.

    `going_on` is called before each piece that is read, and raises what is to end the import.

    Raises NotFound, or InvalidInput for a format that there isn't, a scope or tags that no memory can have, where
    nothing is of a known format, or the path is a file of another one.
    """
    if format is not None:
        check_format(format)
    check_scope(filing.scope)
    check_tags(filing.tags)
    surveyed = Survey(going_on)
    for document in documents(path, going_on):
        going_on()
        if not isinstance(document, Document):
            surveyed.others.append(document)
            continue
        try:
            document_format = _format_of(document, filing, format, alone=not path.is_dir() and not document.member)
        except InvalidInput as error:
            if not path.is_dir() and not document.member:
                raise
            surveyed.others.append(flaw_of_file(document.name, error.message))
            continue
        if document_format is None:
            surveyed.others.append(LeftOut(kind=OTHER_FILES, file=document.name))
        else:
            surveyed.documents.append((document, document_format))
    flaws = [other for other in surveyed.others if isinstance(other, Flaw)]
    if not surveyed.documents and not flaws:
        raise InvalidInput(f"{path} has nothing that can be imported. {_formats_sentence()}")
    return surveyed


def check_format(name: str) -> None:
    """Raises InvalidInput for the name of no format."""
    if name not in FORMATS:
        near = get_close_matches(name.lower(), FORMATS, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InvalidInput(f"No format is called {show(name)}.{hint} There are: {', '.join(FORMATS)}.")


def parts(surveyed: Survey, filing: Filing) -> Iterator[Part]:
    """Items and flaws, in order. Raises Unavailable for what is no fault of a file."""
    for other in surveyed.others:
        surveyed.going_on()
        yield other
    before = 0
    for document, format in surveyed.documents:
        try:
            for part in _of_document(document, format, before, filing, surveyed.going_on):
                surveyed.going_on()
                checked = _checked(part)
                yield checked if isinstance(checked, Kept) else replace(checked, file=document.name)
        except Unavailable:
            raise  # no fault of the file: the same import again goes on
        except SteeltrapError as error:
            yield flaw_of_file(document.name, error.message, before)
        except OSError as error:
            sentence = f"the file can't be read ({error.strerror})."
            yield Flaw(where=document.name, at=before, sentence=sentence, file=document.name)
        before += document.size


def _format_of(document: Document, filing: Filing, name: str | None, *, alone: bool) -> Format | None:
    if document.size == 0:
        raise InvalidInput(f"{document.name} is empty.")
    detected = recognised(document)
    is_text = detected is None or detected.name in TEXTS
    if name is None and filing.columns and is_text and detected != FORMATS["markdown"]:
        name = "csv"
    if name is not None and detected is not None and detected.name != name and not (is_text and name in TEXTS):
        raise InvalidInput(
            f"{document.name} looks like {detected.title}, not {FORMATS[name].title}. Leave --format out, or give "
            f"--format {detected.name}."
        )
    if name is not None:
        if detected is None and not (name in TEXTS and _is_text(document)):
            raise InvalidInput(f"{document.name} does not look like {FORMATS[name].title}.")
        detected = FORMATS[name]
    if detected is None and alone:
        hint = f" If it is a text, --format says which: {', '.join(TEXTS)}." if _is_text(document) else ""
        raise InvalidInput(f"{document.name} is of no known format. {_formats_sentence()}{hint}")
    if detected is not None and alone:
        _check_options(document, detected, filing)
    return detected


def _check_options(document: Document, format: Format, filing: Filing) -> None:
    """Raises InvalidInput for an option that would mean nothing for the only document that there is."""
    for option, given, meant in (("--map", filing.columns, "csv"), ("--split", filing.split, "markdown")):
        if given and format.name != meant:
            instead = f", or give --format {meant} if that is what it is" if format.name in TEXTS else ""
            raise InvalidInput(
                f"{option} is for {FORMATS[meant].title}, and {document.name} is {format.title}. Leave it out{instead}."
            )


def _is_text(document: Document) -> bool:
    with document.text() as file:
        return b"\x00" not in file.read(HEAD)


def _of_document(
    document: Document, format: Format, before: int, filing: Filing, going_on: Callable[[], None]
) -> Iterator[Part]:
    name = document.name
    if format.name in _OF_VALUE:
        yield from _of_each_value(document, format, before, filing)
    elif format.name == "messages":
        yield from _transcript(document, before, filing).parts(values(document))
    elif format.name == "mcp-memory-service":
        yield from memories.memory_service_parts(document.path, name, before, document.size, filing, going_on)
    elif format.name == "markdown":
        yield from markdown.markdown_parts(_text(document), name, before + document.size, document.size, filing)
    else:
        with document.text() as file:
            if format.name == "claude-code":
                yield from chats.claude_code_parts(file, name, before, document.size, filing)
            elif format.name == "csv":
                yield from tables.table_parts(file, name, before, filing)
            else:
                yield from tables.line_parts(file, name, before, filing)


def _of_each_value(document: Document, format: Format, before: int, filing: Filing) -> Iterator[Part]:
    """The parts of a document's JSON values; one that can't be read costs no other."""
    # Chats name their conversations. Of the others, a file's line may hold them all.
    numbered = format.name not in _NAMED and not _has_lines(document)
    for number, value in enumerate(values(document), 1):
        where = f"{document.name}:{value.line}{f' item {number}' if numbered else ''}"
        at = before + value.at
        if isinstance(value, Damage):
            yield Flaw(where=where if value.line else value.place(document.name), at=at, sentence=value.sentence)
            continue
        try:
            yield from _OF_VALUE[format.name](value, number, where, at, filing)
        except InvalidInput as error:
            yield Flaw(where=where, at=at, sentence=error.message)


def _text(document: Document) -> str:
    if document.size > _MAX_NOTE_BYTES:
        raise InvalidInput("the file is larger than 64 MiB.")
    with document.text() as file:
        try:
            return file.read().decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(tables.NOT_UTF_8) from None


def _transcript(document: Document, before: int, filing: Filing) -> Transcript:
    # The resolved path tells two files of one name apart, and is the same at the next import.
    place = (filing.place or str(document.path.resolve())) + (f"/{document.name}" if document.member else "")
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


def _formats_sentence() -> str:
    return f"import takes {', '.join(format.title for format in FORMATS.values())}."
