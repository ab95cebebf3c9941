"""The toolsets, each thin over the one engine: names, input models, limits, wording, rendering.

Here: what a client sees of a tool. Not here: what it does (`engine`), AWS, HTTP, SQL. `invoke` and the servers read the
catalogue; importing it needs no environment and no store, and a toolset is imported at its first use.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ..errors import NotFound, unknown_name

if TYPE_CHECKING:
    from ..tools import Tool, Toolset

_OUR_OWN: Final = ("agent", "core", "files")
_NAMES: Final = (*_OUR_OWN, "notes", "categories", "records", "associative", "episodic")


class _Toolsets(Mapping[str, "Toolset"]):
    """The toolsets by name, each imported when it is first asked for: a function's first call waits for one of them."""

    def __init__(self) -> None:
        self._imported: dict[str, Toolset] = {}

    def __getitem__(self, name: str) -> "Toolset":
        if (known := self._imported.get(name)) is not None:
            return known
        if name not in _NAMES:
            raise KeyError(name)
        path = f"{__name__}.{name}" if name in _OUR_OWN else f"{__name__}.dialects.{name}"
        __import__(path)  # waits where another thread is importing it
        toolset: Toolset = getattr(sys.modules[path], name.upper())
        self._imported[name] = toolset
        return toolset

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


class Catalogue:
    """Every toolset by name, and the way to find a tool."""

    def __init__(self, toolsets: Mapping[str, "Toolset"]) -> None:
        self.toolsets = toolsets

    def toolset(self, name: str) -> "Toolset":
        """The toolset of a name. Raises NotFound, which lists the existing ones."""
        if name not in self.toolsets:
            raise unknown_name("toolset", name, self.toolsets)
        return self.toolsets[name]

    def tool(self, full_name: str) -> "Tool":
        """The tool of a name such as `core.save`. Raises NotFound, which lists the existing ones."""
        toolset, _, name = full_name.partition(".")
        if not name and toolset not in self.toolsets:
            tools_named = [tool.full_name for tool in self.tools() if tool.name == toolset]
            if tools_named:
                raise NotFound(f"No tool `{toolset}`; did you mean {' or '.join(f'`{each}`' for each in tools_named)}?")
        tools = self.toolset(toolset).tools
        if name not in tools:
            raise unknown_name("tool", name, tools, of=f" in `{toolset}`")
        return tools[name]

    def tools(self) -> "list[Tool]":
        return [tool for toolset in self.toolsets.values() for tool in toolset.tools.values()]


CATALOGUE = Catalogue(_Toolsets())
