"""The table of the tools that the client carries, so that it needs no tool's code to call it."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from steeltrap.tools import Tool
from steeltrap.toolsets import Catalogue

TABLE: Final = Path(__file__).parents[1] / "shared" / "steeltrap" / "client" / "tool_table.py"

_HEAD: Final = '''\
"""Written by docs/generate.py from the tools: change those, then run `make docs`.

A client that calls a server knows the tools by this table and imports none of them.
"""

from collections.abc import Mapping
from typing import Final

from .answers import ToolRow

'''


def table(catalogue: Catalogue) -> str:
    """The text of `client/tool_table.py`."""
    toolsets = "".join(
        f"{name!r}: {{{', '.join(f'{tool.name!r}: {_row(tool)}' for tool in toolset.tools.values())}}},"
        for name, toolset in catalogue.toolsets.items()
    )
    text = f"{_HEAD}TOOLS: Final[Mapping[str, Mapping[str, ToolRow]]] = {{{toolsets}}}\n"
    words = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TABLE), "-"]
    return subprocess.run(words, input=text, cwd=TABLE.parents[3], capture_output=True, text=True, check=True).stdout


def _row(tool: Tool) -> str:
    schema = tool.answer_schema
    fields = tuple(schema.get("required", ()))
    values = [tool.operation, tool.repeats, tool.timeout, schema["type"], *([fields] if fields else [])]
    return f"ToolRow({', '.join(map(repr, values))})"
