"""A server in Codex's TOML file. Only its own lines are touched, so that comments and order stay."""

import json
import re
import tomllib
from typing import Any, Final

from ....errors import Conflict, InvalidInput
from .entries import NAME, Part, is_own_server

_TABLE: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)


def added(text: str, part: Part) -> str:
    """The file's text with the part's server. Raises InvalidInput for a file that is not understood, and Conflict where
    somebody else's server has the name."""
    assert part.server is not None
    (section, name), entry = part.server
    there = _servers(text, part).get(name)
    if there is not None and not is_own_server(there):
        raise Conflict(
            f"{part.path} has a server `{NAME}` already that is not `steeltrap mcp`; rename or remove it first. "
            "Nothing was changed."
        )
    if there is not None and {**there, **entry} == there:
        return text
    if there is not None and there.keys() - entry.keys():
        raise Conflict(
            f"`{section}.{name}` in {part.path} has settings of your own: change its `command` and `args` by hand, or "
            "take it out with --undo first. Nothing was changed."
        )
    kept = removed(text, part, None)
    values = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    lines = [f"[{section}.{name}]", *values]
    between = "" if not kept.strip() else "\n" if kept.endswith("\n") else "\n\n"
    return _checked(kept + between + "\n".join(lines) + "\n", part, entry)


def removed(text: str, part: Part, before: str | None) -> str:
    """The file's text without the part's server and the tables below it. Raises InvalidInput."""
    assert part.server is not None
    (section, name), _ = part.server
    if not is_own_server(_servers(text, part).get(name)):
        return text
    own = re.compile(rf"^[ \t]*\[[ \t]*{section}[ \t]*\.[ \t]*\"?{name}\"?[ \t]*[\].]", re.MULTILINE)
    kept = text
    while found := own.search(kept):
        following = _TABLE.search(kept, found.end())
        start = found.start()
        if following is None:
            start = len(kept[:start].rstrip("\n")) + (1 if kept[:start].strip() else 0)
        kept = kept[:start] + (kept[following.start() :] if following else "")
    return _checked(kept, part, None)


def _servers(text: str, part: Part) -> dict[str, Any]:
    assert part.server is not None
    try:
        servers = tomllib.loads(text).get(part.server[0][0], {})
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{part.path} is no valid TOML: {error}. Correct it first; nothing was changed.") from None
    if not isinstance(servers, dict):
        raise InvalidInput(f"`{part.server[0][0]}` in {part.path} is no table: correct it first. Nothing was changed.")
    return servers


def _checked(text: str, part: Part, entry: dict[str, Any] | None) -> str:
    """The text, if its server is what it should be. Raises InvalidInput where the file is written in another way."""
    assert part.server is not None
    try:
        if _servers(text, part).get(part.server[0][1]) == entry:
            return text
    except InvalidInput:
        pass
    raise InvalidInput(
        f"{part.path} writes its servers in a form that can't be changed here; change `mcp_servers.{NAME}` by hand. "
        "Nothing was changed."
    )
