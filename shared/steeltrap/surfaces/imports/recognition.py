"""Which format a document has. Its content decides; the name only tells plain texts apart."""

from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from typing import Final

from ...errors import InvalidInput
from ...model import JsonObject
from ...model.frozen import frozen
from . import json_document, json_lines
from .documents import Document
from .formats import chatgpt, claude_ai, claude_code, knowledge_graph, mem0, memory_service, objects, transcript
from .json_value import Damage, Value

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
        Format(name="chatgpt", title="a ChatGPT export", is_value=chatgpt.is_value),
        Format(name="claude-ai", title="a Claude.ai export", is_value=claude_ai.is_value),
        Format(name="mem0", title="memories of mem0", is_value=mem0.is_value),
        Format(name="server-memory", title="a knowledge graph of server-memory", is_value=knowledge_graph.is_value),
        Format(name="claude-code", title="a Claude Code transcript", is_value=claude_code.is_value),
        Format(name="messages", title="messages, or a steeltrap export", is_value=transcript.is_value),
        Format(name="json", title="memories as JSON", is_value=objects.is_value),
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
    if head.startswith(memory_service.SIGNATURE):
        there = not document.member and memory_service.is_file(document.path, document.name)
        return FORMATS["mcp-memory-service"] if there else None
    if b"\x00" in head:
        if document.suffix in _BY_SUFFIX:
            raise InvalidInput("the file is no text.")
        return None
    if (
        (is_json(head) or document.suffix in _LINES)
        and document.suffix not in _MARKDOWN
        and (found := _of_values(document))
    ):
        return found
    by_suffix = _BY_SUFFIX.get(document.suffix)
    return FORMATS[by_suffix] if by_suffix else None


def is_json(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def values(document: Document) -> Iterator[Value | Damage]:
    """The JSON values of a document: each line on its own where lines are what it has."""
    with document.text() as file:
        read = json_lines.read if _has_lines(document) else json_document.read
        yield from read(file)
        if getattr(getattr(file, "raw", None), "damaged", False):
            yield Damage(line=0, at=document.size, sentence="the archive is damaged here; what follows is missing.")


def _has_lines(document: Document) -> bool:
    """Whether its first line is a whole object and another one comes behind it."""
    if document.suffix in _LINES:
        return True
    with document.text() as file:
        head = file.read(HEAD)
    lines = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n")
    if len(lines) < 2 or not lines[0].startswith(b"{"):
        return False
    # The last of so many lines may be cut, and one of the others damaged.
    first = [next(json_lines.read(BytesIO(line)), None) for line in lines[:_FIRST]]
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
        raise InvalidInput(f"{document.name}:{damage.line}: {damage.sentence}")
    return None
