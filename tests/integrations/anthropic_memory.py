"""Anthropic's memory tool, as the story sees it: a file per memory, found by looking through all files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from integrations.seams import Seam
from steeltrap.integrations.anthropic import SteeltrapAsyncMemoryTool, SteeltrapMemoryTool


@dataclass(frozen=True)
class Files:
    """`call` runs a command."""

    call: Callable[[dict[str, Any]], Any]
    numbers: Any = field(default_factory=count)

    def save(self, text: str) -> str:
        path = f"/memories/facts/{next(self.numbers)}.md"
        self.call({"command": "create", "path": path, "file_text": text})
        return path

    def find(self, query: str) -> list[str]:
        listed = self.call({"command": "view", "path": "/memories"}).splitlines()[1:]
        paths = [line.partition("\t")[2] for line in listed]
        return [self._text(path) for path in paths if path.endswith(".md")]

    def correct(self, key: str, text: str) -> None:
        self.call({"command": "str_replace", "path": key, "old_str": self._text(key), "new_str": text})

    def forget(self, key: str) -> None:
        self.call({"command": "delete", "path": key})

    def _text(self, path: str) -> str:
        lines = self.call({"command": "view", "path": path}).splitlines()[1:]
        return "\n".join(line.partition("\t")[2] for line in lines)


def open_tool(seam: Seam, user: str) -> Files:
    return Files(SteeltrapMemoryTool(seam.client(user)).call)


def open_tool_in_loop(seam: Seam, user: str) -> Files:
    tool = SteeltrapAsyncMemoryTool(seam.client(user))
    return Files(lambda command: seam.run(tool.call(command)))
