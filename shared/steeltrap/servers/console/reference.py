"""The page about the HTTP API, /docs: how to call it, and each tool with its arguments, from the catalogue.

Anybody may read it, as anybody may read /openapi.json: it shows no memory. It needs no script, and nothing from
elsewhere.
"""

import json
import shlex
from functools import cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ...errors import SteeltrapError
from ...text.schemas import describe
from ...tools import Tool, Toolset
from ...toolsets import CATALOGUE
from ..http import STATUS
from .answering import Console, refused, respond
from .rendering import Page

_FIRST: Final = "core"


def reference_routes(console: Console) -> list[BaseRoute]:
    """The routes of the page, with one address per toolset."""

    def answer(request: Request) -> Response:
        try:
            address = console.public_url.rstrip("/") or str(request.base_url).rstrip("/")
            page = reference_page(request.path_params.get("toolset", _FIRST), address)
            return respond(console, request, page, is_known=False)
        except SteeltrapError as error:
            return refused(console, request, error)

    return [Route(path, answer, methods=["GET", "HEAD"]) for path in ("/docs", "/docs/{toolset}")]


def reference_page(name: str, address: str) -> Page:
    """The page of a toolset of the server at an address. Raises NotFound."""
    toolset = CATALOGUE.toolset(name)
    values = {"toolsets": list(CATALOGUE.toolsets), "toolset": toolset, "tools": _tools(name), "codes": STATUS}
    values["address"] = address
    return Page(template="reference.html", values=values)


@cache
def _tools(name: str) -> list[dict[str, Any]]:
    toolset = CATALOGUE.toolset(name)
    return [_tool(toolset, tool) for tool in toolset.tools.values()]


def _tool(toolset: Toolset, tool: Tool) -> dict[str, Any]:
    required = tool.input_schema.get("required", ())
    fields = tool.input_schema.get("properties", {})
    return {
        "name": tool.name,
        "path": f"/v1/{toolset.name}/{tool.name}",
        "access": tool.access,
        "paragraphs": tool.description.split("\n\n"),
        "arguments": [
            {
                "name": name,
                "takes": describe(field),
                "required": name in required,
                "meaning": field.get("description", ""),
            }
            for name, field in fields.items()
        ],
        "example": shlex.quote(json.dumps(tool.examples[0] if tool.examples else {}, ensure_ascii=False)),
    }
