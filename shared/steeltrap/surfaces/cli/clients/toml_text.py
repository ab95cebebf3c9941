"""A server in Codex's TOML file. Comments, order and the form of everything else stay."""

import json
import tomllib
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from ....errors import Conflict, InvalidInput
from .entries import NAME, Part, is_own_server


def added(text: str, part: Part) -> str:
    """The file's text with the part's server. Raises InvalidInput for a file that is not understood, and Conflict where
    somebody else's server has the name."""
    assert part.server is not None
    (section, name), entry = part.server
    there = _servers(_loaded(text, part), part).get(name)
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
    new = between + "\n".join(lines) + "\n"
    return _checked(kept + (new.replace("\n", "\r\n") if "\r\n" in kept else new), kept, part, entry)


def removed(text: str, part: Part, before: str | None) -> str:
    """The file's text without the part's server and the tables below it. Raises InvalidInput."""
    assert part.server is not None
    (section, name), _ = part.server
    if not is_own_server(_servers(_loaded(text, part), part).get(name)):
        return text
    try:
        document: Any = tomlkit.parse(text)
        if not isinstance(document[section][name], Table):
            raise _in_another_form(part)
        del document[section][name]
        if not document[section]:
            del document[section]
        new = tomlkit.dumps(document)
    except (TOMLKitError, ValueError, LookupError, TypeError, RecursionError):
        raise _in_another_form(part) from None
    if not new.strip():
        new = ""
    return _checked(new, text, part, None)


def _loaded(text: str, part: Part) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{part.path} is no valid TOML: {error}. Correct it first; nothing was changed.") from None
    except RecursionError:
        raise InvalidInput(f"{part.path} is nested too deeply. Correct it first; nothing was changed.") from None


def _servers(loaded: dict[str, Any], part: Part) -> dict[str, Any]:
    assert part.server is not None
    servers = loaded.get(part.server[0][0], {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"`{part.server[0][0]}` in {part.path} is no table: correct it first. Nothing was changed.")
    return servers


def _checked(text: str, old: str, part: Part, entry: dict[str, Any] | None) -> str:
    """The text, if it says what the old one does, and of the server what it should. Raises InvalidInput where the file
    is written in another way."""
    assert part.server is not None
    (section, name), _ = part.server
    wanted = _loaded(old, part)
    servers = dict(_servers(wanted, part))
    servers.pop(name, None)
    wanted[section] = servers if entry is None else {**servers, name: entry}
    try:
        found = _loaded(text, part)
    except InvalidInput:
        found = {}
    if {section: {}, **found} != wanted:
        raise _in_another_form(part)
    return text


def _in_another_form(part: Part) -> InvalidInput:
    return InvalidInput(
        f"{part.path} writes its servers in a form that can't be changed here; change `mcp_servers.{NAME}` by hand. "
        "Nothing was changed."
    )
