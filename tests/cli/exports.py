"""Exports of ChatGPT, Claude.ai and Claude Code in the forms that `importers/chats.py` cites."""

import json
import zipfile
from pathlib import Path
from typing import Any

START = 1_741_000_000.0  # 3 March 2025, 11:06:40 UTC


def node(id: str, parent: str | None, role: str = "user", text: object = "", at: float | None = START, **more: Any):
    """A node of a ChatGPT conversation; `content`, `recipient` and `metadata` replace what is usual."""
    message = {
        "id": f"m-{id}",
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        "metadata": {},
        **more,
    }
    return {id: {"id": id, "parent": parent, "children": [], "message": message}}


def chatgpt(id: str, *texts: str, title: str = "A chat", at: float = START) -> dict[str, Any]:
    """A conversation in which the user and the assistant take turns, a minute apart."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    parent = "root"
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        mapping |= node(f"{id}-{number}", parent, role, text, at + 60 * number)
        parent = f"{id}-{number}"
    return {"conversation_id": id, "title": title, "create_time": at, "current_node": parent, "mapping": mapping}


def claude(id: str, *texts: str, title: str = "A chat") -> dict[str, Any]:
    """A conversation of a Claude.ai export, whose messages have blocks only."""
    messages = [
        {
            "uuid": f"{id}-{number}",
            "sender": "assistant" if number % 2 else "human",
            "text": "",
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}],
            "created_at": f"2025-03-03T11:{number:02}:00.000000Z",
            "attachments": [],
            "files": [],
        }
        for number, text in enumerate(texts)
    ]
    return {"uuid": id, "name": title, "created_at": "2025-03-03T11:00:00.000000Z", "chat_messages": messages}


def claude_code(session: str, *texts: str, folder: str = "/nowhere") -> list[dict[str, Any]]:
    """The lines of a session in which the user and the assistant take turns, with a tool call behind each answer."""
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": "A session", "leafUuid": "x"}]
    parent = None
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        shared = {"sessionId": session, "cwd": folder, "timestamp": f"2025-03-03T11:{number:02}:00.000Z"}
        id = f"{session}-{number}"
        said = {"role": role, "content": [{"type": "text", "text": text}]}
        lines.append({"type": role, "uuid": id, "parentUuid": parent, "message": said, **shared})
        call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}
        lines.append({"type": "assistant", "uuid": f"{id}-t", "parentUuid": id, "message": call, **shared})
        parent = f"{id}-t"
    return lines


def as_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def as_lines(path: Path, values: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def as_zip(path: Path, **members: object) -> Path:
    """An archive; members are JSON values, or text, or bytes, by their name with `__` for `/`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            data = value if isinstance(value, str | bytes) else json.dumps(value)
            archive.writestr(name.replace("__", "/"), data)
    return path
