"""Which path is which tool, and what a request must look like: the HTTP rules that need no framework."""

from collections.abc import Mapping

from ...errors import NotFound
from ...tools import Catalogue, Tool


def paths(tool: Tool) -> tuple[str, ...]:
    """The paths at which a tool is called by POST, the derived one first."""
    return (f"/v1/{tool.toolset}/{tool.name}", *tool.paths)


def tools_by_path(catalogue: Catalogue) -> Mapping[str, Tool]:
    return {path: tool for tool in catalogue.tools() for path in paths(tool)}


def mcp_paths(catalogue: Catalogue) -> tuple[str, ...]:
    """The paths of MCP: one for the default toolset, and one for each."""
    return ("/mcp", *(f"/mcp/{name}" for name in catalogue.toolsets))


def tool_at(catalogue: Catalogue, path: str) -> Tool | None:
    """The tool that is called at a path. A derived path names its toolset, and no other is looked at."""
    match path.split("/"):
        case ["", "v1", toolset, name] if toolset in catalogue.toolsets and name in catalogue.toolsets[toolset].tools:
            return catalogue.toolsets[toolset].tools[name]
    return tools_by_path(catalogue).get(path)


def unknown_path(catalogue: Catalogue, path: str) -> NotFound:
    """The refusal of a path where nothing is: the toolsets or tools that there are."""
    match path.split("/"):
        case ["", "v1", toolset, name]:
            try:
                catalogue.tool(f"{toolset}.{name}")
            except NotFound as error:
                return error
        case ["", "v1" | "mcp", toolset, *_] if toolset not in catalogue.toolsets:
            return NotFound(f"No toolset `{toolset}`; there are: {', '.join(catalogue.toolsets)}.")
    return NotFound("Nothing is at this path; call a tool with POST /v1/{toolset}/{tool}.")


def is_json(media_type: str | None) -> bool:
    """Whether a Content-Type header says JSON in UTF-8.

    No form or image of a web page can send that one without asking the server first.
    """
    media, _, parameters = (media_type or "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    return media.strip().lower() == "application/json" and charset in ("", "utf-8", "utf8")
