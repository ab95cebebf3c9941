"""A part in a client's JSON file: what the file says with it, and without it."""

import json
import math
import re
from decimal import Decimal
from typing import Any

from ....errors import Conflict, InvalidInput
from .entries import NAME, Part, is_own_server, without_own_hooks


def added(text: str, part: Part) -> str:
    """The file's text with the part in it. Raises InvalidInput for a file that is not understood, and Conflict where
    somebody else's server has the name."""
    there = _read(text, part)
    root = there or dict(part.defaults)
    if part.server is not None:
        (section, name), entry = part.server
        servers = _section(root, section, part)
        if name in servers and not is_own_server(servers[name]):
            raise Conflict(
                f"{part.path} has a server `{NAME}` already that is not `steeltrap mcp`; rename or remove it first. "
                "Nothing was changed."
            )
        servers[name] = {**servers.get(name, {}), **entry}
    if part.hooks:
        events = _section(root, "hooks", part)
        for event, hook in part.hooks.items():
            entries = _entries(events, event, part)
            if hook not in entries:
                events[event] = [*without_own_hooks(entries), hook]
    return _written(text, part, root)


def removed(text: str, part: Part, before: str | None) -> str:
    """The file's text without the part; what is then empty goes too, unless it was there `before`. Raises
    InvalidInput."""
    root, old = _read(text, part), _before(before, part)
    if part.server is not None:
        (section, name), _ = part.server
        servers = _section(root, section, part)
        if is_own_server(servers.get(name)):
            del servers[name]
        _prune(root, section, old)
    if part.hooks:
        events = _section(root, "hooks", part)
        for event in list(events):
            events[event] = without_own_hooks(_entries(events, event, part))
            _prune(events, event, old.get("hooks", {}))
        _prune(root, "hooks", old)
    return _written(text, part, root)


def _before(before: str | None, part: Part) -> dict[str, Any]:
    try:
        return {} if before is None else _read(before, part)
    except InvalidInput:
        return {}


def _prune(owner: dict[str, Any], key: str, old: Any) -> None:
    if not owner.get(key) and not (isinstance(old, dict) and key in old):
        owner.pop(key, None)


def _read(text: str, part: Part) -> dict[str, Any]:
    if not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        root = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=_once, parse_float=_exact, parse_constant=_exact
        )
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        commented = " A comment or a trailing comma is no JSON." if re.search(r"//|/\*|,\s*[}\]]", text) else ""
        raise InvalidInput(
            f"{part.path} is no valid JSON{where}: correct it first.{commented} Nothing was changed."
        ) from None
    if not isinstance(root, dict):
        raise InvalidInput(f"{part.path} is no JSON object: correct it first. Nothing was changed.")
    return root


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key that is there twice, one of which would be lost")
    return found


def _exact(text: str) -> float:
    if not math.isfinite(number := float(text)) or Decimal(text) != Decimal(repr(number)):
        raise ValueError("a number that would be written as another one")
    return number


def _section(root: dict[str, Any], name: str, part: Part) -> dict[str, Any]:
    section = root.setdefault(name, {})
    if not isinstance(section, dict):
        raise InvalidInput(f"`{name}` in {part.path} is no object: correct it first. Nothing was changed.")
    return section


def _entries(events: dict[str, Any], event: str, part: Part) -> list[Any]:
    entries = events.get(event, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"`hooks.{event}` in {part.path} is no list: correct it first. Nothing was changed.")
    return entries


def _written(text: str, part: Part, root: dict[str, Any]) -> str:
    """The text of an object in the file's own indentation; the text itself where it says the same already."""
    if text and root == _read(text, part):
        return text
    indent = re.search(r"\n([ \t]+)\S", text)
    try:
        made = json.dumps(root, ensure_ascii=False, indent=indent[1] if indent else 2) + "\n"
        made.encode()
    except (RecursionError, UnicodeEncodeError):
        raise InvalidInput(
            f"{part.path} is nested too deeply, or has half of a character: correct it first. Nothing was changed."
        ) from None
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark + (made.replace("\n", "\r\n") if "\r\n" in text else made)
