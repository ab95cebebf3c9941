"""MCP's resources: the user's memories, which a person attaches to a conversation without a call by the model."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from ..errors import NotFound
from ..invoke import Result
from ..model import JsonObject
from .bounded import MAX_TOKENS, ROOM, bounded
from .http.reply import compact

Run = Callable[[str, JsonObject], Awaitable[Result]]
"""Calls a tool by its full name for whoever makes the request."""

RECENT: Final = "memory://recent"
_MEMORY: Final = "memory://memories/"
_SCOPE: Final = "memory://scopes/"
_PAGE: Final = 50
_SHOWN: Final = 20
"""Memories in a resource that holds several."""
_TITLE: Final = 80
_CUT: Final = f"This is cut to {MAX_TOKENS:,} tokens: read single memories, or call the tools."

TEMPLATES: Final = (
    types.ResourceTemplate(
        name="memory",
        uri_template=f"{_MEMORY}{{id}}",
        description="One memory with all its fields.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        name="scope",
        uri_template=f"{_SCOPE}{{+scope}}",
        description=f"The {_SHOWN} newest memories of a scope and of the scopes below it.",
        mime_type="application/json",
    ),
)


async def list_resources(run: Run, cursor: str | None) -> types.ListResourcesResult:
    """The newest memories together, then each memory, newest first, in pages. A cursor is the number to skip.

    Raises MCPError for a cursor that no page has given.
    """
    offset = _offset(cursor)
    result = await run("core.list", {"limit": _PAGE, "offset": offset})
    if result.error is not None:
        raise MCPError(types.INVALID_REQUEST, result.error.message)
    listed = [_resource(memory) for memory in result.body["memories"]]
    if not offset:
        together = types.Resource(
            name="recent",
            uri=RECENT,
            description=f"The {_SHOWN} memories that were saved last.",
            mime_type="application/json",
        )
        listed.insert(0, together)
    more = offset + _PAGE < result.body["total"]
    return types.ListResourcesResult(resources=listed, next_cursor=str(offset + _PAGE) if more else None)


async def read_resource(run: Run, uri: str) -> types.ReadResourceResult:
    """The content of a resource as JSON. Raises MCPError for an unknown one."""
    if uri == RECENT:
        result = await run("core.list", {"limit": _SHOWN})
    elif uri.startswith(_MEMORY):
        result = await run("core.get", {"id": unquote(uri.removeprefix(_MEMORY))})
    elif uri.startswith(_SCOPE):
        result = await run("core.list", {"limit": _SHOWN, "scope": unquote(uri.removeprefix(_SCOPE))})
    else:
        there = ", ".join([RECENT, *(template.uri_template for template in TEMPLATES)])
        raise MCPError(types.INVALID_PARAMS, f"There is no resource `{uri}`; there are: {there}.", {"uri": uri})
    if result.error is not None:
        # The specification has no code of its own for what is not there.
        code = types.INVALID_PARAMS if isinstance(result.error, NotFound) else types.INVALID_REQUEST
        raise MCPError(code, result.error.message, {"uri": uri})
    body, note = bounded(result.body, ROOM, result.tool, {})
    contents = [types.TextResourceContents(uri=uri, text=compact(body), mime_type="application/json")]
    if note:
        contents.append(types.TextResourceContents(uri=uri, text=_CUT, mime_type="text/plain"))
    return types.ReadResourceResult(contents=list(contents))


def _resource(memory: dict[str, Any]) -> types.Resource:
    content = " ".join(memory["content"].split())
    return types.Resource(
        name=memory["id"],
        title=content if len(content) <= _TITLE else f"{content[: _TITLE - 1]}\u2026",
        uri=f"{_MEMORY}{quote(memory['id'])}",
        mime_type="application/json",
        annotations=types.Annotations(last_modified=memory["updated_at"]),
    )


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > 9 or int(cursor) % _PAGE:
        raise MCPError(types.INVALID_PARAMS, "`cursor` is none that an earlier answer gave: leave it out.")
    return int(cursor)
