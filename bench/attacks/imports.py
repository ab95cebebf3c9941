"""Files that the console's import is given, each as large or as crooked as its format allows."""

import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from .target import Attack, Target, nothing
from .texts import HARD, KIB

MIB: Final = KIB * KIB


def zip_of(notes: int, text: str = "A note.\n") -> bytes:
    """A ZIP of so many Markdown notes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(notes):
            archive.writestr(f"notes/{number}.md", f"# Note {number}\n\n{text}")
    return buffer.getvalue()


def chatgpt(conversations: int, messages: int, size: int) -> bytes:
    """An export of ChatGPT."""
    return json.dumps([_conversation(number, messages, size) for number in range(conversations)]).encode()


def _conversation(number: int, messages: int, size: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for at in range(messages):
        role = "assistant" if at % 2 else "user"
        text = f"{number} {at} " + "x " * (size // 2)
        message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, "create_time": at}
        mapping[str(at)] = {"id": str(at), "parent": str(at - 1) if at else None, "children": [], "message": message}
    return {"title": f"{number}", "mapping": mapping, "current_node": str(messages - 1), "id": f"conversation {number}"}


def _database() -> bytes:
    """A database whose `memories` is a view without an end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with sqlite3.connect(path) as db:
            db.execute(
                "CREATE VIEW memories AS WITH RECURSIVE n(content_hash) AS (SELECT 1 UNION ALL SELECT content_hash + 1 "
                "FROM n) SELECT content_hash, 'a' content, '' tags, '' memory_type, '{}' metadata, 0 created_at, "
                "0 updated_at, '' created_at_iso, '' updated_at_iso, NULL deleted_at FROM n"
            )
        db.close()
        return path.read_bytes()


def _file(name: str, make: Callable[[], bytes]) -> Callable[[Target], bytes]:
    return lambda target: target.import_(name, make())


def _again(text: str) -> bytes:
    return (text + "\n").encode() * 16


def _lines(lines: int, unit: str) -> bytes:
    return "\n".join(json.dumps({"content": f"{unit} {n}"}) for n in range(lines)).encode()


FILES: Final[dict[str, tuple[str, Callable[[], bytes]]]] = {
    "ChatGPT, 200 conversations": ("conversations.json", lambda: chatgpt(200, 100, 200)),
    "ChatGPT, one message of 60 MiB": ("conversations.json", lambda: chatgpt(1, 2, 30 * MIB)),
    "ChatGPT, one conversation of 50,000 messages": ("conversations.json", lambda: chatgpt(1, 50_000, 20)),
    "JSON, one value of 60 MiB": ("memories.json", lambda: b'[{"content": "' + b"a" * (60 * MIB) + b'"}]'),
    "JSON, 20 million numbers": ("memories.json", lambda: b"[{" + b'"a": [' + b"1," * 20_000_000 + b"1]}]"),
    "JSON Lines, 50,000": ("memories.jsonl", lambda: _lines(50_000, "A memory of the sea.")),
    "JSON Lines, one of 60 MiB": ("memories.jsonl", lambda: b'{"content": "' + b"a" * (60 * MIB) + b'"}\n'),
    "ZIP of 2,000 notes": ("notes.zip", lambda: zip_of(2000)),
    "ZIP of 200 hard notes": ("notes.zip", lambda: zip_of(200, HARD["spaces"])),
    "CSV, a row without an end": ("table.csv", lambda: b'content,tags\n"' + b"a line\n" * (100 * MIB // 7)),
    "CSV, 50,000 rows": ("table.csv", lambda: b"content,tags\n" + b"A memory of the sea,a;b\n" * 50_000),
    "CSV, one row of 1,000,000 fields": (
        "table.csv",
        lambda: b"content," + b"a," * 1_000_000 + b"\n" + b"b," * 1_000_000,
    ),
    "SQLite, a view without an end": ("memory.db", _database),
    "Markdown, a heading of spaces": ("note.md", lambda: b"# a" + b" " * 2200 + b"b\n"),
    "Markdown, 8 MiB of headings": ("note.md", lambda: b"# a\n\n" * (8 * MIB // 5)),
    "Markdown, front matter of 60,000 lines": ("note.md", lambda: b"---\ntags:\n" + b"- a\n" * 60_000 + b"---\ntext\n"),
    "Markdown, a list 10,000 deep": ("note.md", lambda: b"".join(b" " * (n % 4000) + b"- a\n" for n in range(10_000))),
    "Markdown, unclosed fences": ("note.md", lambda: b"```a\n" * 200_000),
}

IMPORTS: Final = [
    *(Attack(f"import {name}", _file(*file), nothing) for name, file in FILES.items()),
    *(
        Attack(f"import hard text ({name})", _file("note.md", partial(_again, text)), nothing)
        for name, text in HARD.items()
    ),
]
