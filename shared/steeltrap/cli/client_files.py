"""The files in which MCP clients keep their servers and hooks: what they say with steeltrap's entries, and without.

A JSON file keeps everything else as it was; a TOML file also its comments, order and form. A JSON file with comments is
read and never written: the user gets the lines to paste. Changes are planned for all files before one is written, and
each is written whole. Not here: which entries a client gets, and the question to the user (`installing`).

JSON with comments is read by code of our own. A library would have to keep the comments when it writes, and json-five
does: but its last release is of June 2024, and it brings `sly` and `regex` along. Libraries that only read comments
(pyjson5, commentjson) would replace one function and still leave the lines to be pasted.
"""

import json
import math
import os
import re
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from ..errors import Conflict, InvalidInput, counted
from ..local_files import read_regular, replace_file
from .installing import NAME, ConfigPart, is_own_server, own_hooks, without_own_hooks


def added_to_json(text: str, part: ConfigPart) -> str:
    """The file's text with the part in it. Raises InvalidInput for a file that is not understood, and Conflict where
    somebody else's server has the name."""
    document = _read_json(text, part)
    root = document or dict(part.defaults)
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
    return _object_text(text, part, root, f"Add this to it by hand, and run the command again:\n{_lines_of(part)}")


def removed_from_json(text: str, part: ConfigPart, before: str | None) -> str:
    """The file's text without the part; what is then empty goes too, unless it was there `before`. Raises
    InvalidInput."""
    root, old = _read_json(text, part), _before(before, part)
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
    entry_name = f"`{'.'.join(part.server[0])}`" if part.server else "the hooks that start `steeltrap hook`"
    return _object_text(text, part, root, f"Take {entry_name} out of it by hand.")


def commands_in(part: ConfigPart) -> list[list[str]]:
    """The commands of steeltrap that a client starts by a file of its settings. Raises InvalidInput for a file that is
    not understood."""
    text = _read(_target(part))
    if text is None:
        return []
    is_toml = part.path.suffix == ".toml"
    root = _loaded(text, part) if is_toml else _read_json(text, part)
    commands = []
    if part.server is not None:
        (section, name), _ = part.server
        servers = root.get(section)
        entry: Any = servers.get(name) if isinstance(servers, dict) else None
        if is_own_server(entry):
            commands.append([entry["command"], *map(str, entry.get("args") or ())])
    if part.hooks:
        events = root.get("hooks")
        lists = [value for value in events.values() if isinstance(value, list)] if isinstance(events, dict) else []
        commands += [shlex.split(hook["command"]) for entries in lists for hook in own_hooks(entries)]
    return commands


def _lines_of(part: ConfigPart) -> str:
    lines: dict[str, Any] = {"hooks": {event: [hook] for event, hook in part.hooks.items()}} if part.hooks else {}
    if part.server is not None:
        (section, name), entry = part.server
        lines[section] = {name: entry}
    return json.dumps(lines, ensure_ascii=False, indent=2)


def _before(before: str | None, part: ConfigPart) -> dict[str, Any]:
    try:
        return {} if before is None else _read_json(before, part)
    except InvalidInput:
        return {}


def _prune(owner: dict[str, Any], key: str, old: Any) -> None:
    if not owner.get(key) and not (isinstance(old, dict) and key in old):
        owner.pop(key, None)


def _read_json(text: str, part: ConfigPart) -> dict[str, Any]:
    if not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        try:
            root = _parsed(text)
        except json.JSONDecodeError:
            root = _parsed(without_comments(text))
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidInput(f"{part.path} is no valid JSON{where}: correct it first. Nothing was changed.") from None
    if not isinstance(root, dict):
        raise InvalidInput(f"{part.path} is no JSON object: correct it first. Nothing was changed.")
    return root


def _parsed(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_once, parse_float=_exact, parse_constant=_exact)


_PIECE: Final = re.compile(r'\\["\\]|//|/\*|\*/|["\\/*,\n]|[^\S\n]+|[^"\\/*,\s]+')


def _has_comments(text: str) -> bool:
    return without_comments(text) != text


def without_comments(text: str) -> str:
    """JSON with comments and trailing commas as plain JSON, line by line."""
    characters: list[str] = []
    inside, comma = "", None
    for piece in _PIECE.findall(text):
        is_comment = inside in ("//", "/*") or (not inside and piece in ("//", "/*"))
        if piece == "\n" and inside == "//":
            inside = ""
        elif not inside:
            inside = piece if piece in ('"', "//", "/*") else ""
            if piece[0] in "}]" and comma is not None:
                characters[comma] = " "
            if piece == ",":
                comma = len(characters)
            elif not is_comment and not piece.isspace():
                comma = None
        elif piece == {'"': '"', "/*": "*/"}.get(inside):
            inside = ""
        characters.append(piece if piece == "\n" or not is_comment else " " * len(piece))
    return "".join(characters)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key that is there twice, one of which would be lost")
    return values


def _exact(text: str) -> float:
    if not math.isfinite(number := float(text)) or Decimal(text) != Decimal(repr(number)):
        raise ValueError("a number that would be written as another one")
    return number


def _section(root: dict[str, Any], name: str, part: ConfigPart) -> dict[str, Any]:
    section = root.setdefault(name, {})
    if not isinstance(section, dict):
        raise InvalidInput(f"`{name}` in {part.path} is no object: correct it first. Nothing was changed.")
    return section


def _entries(events: dict[str, Any], event: str, part: ConfigPart) -> list[Any]:
    entries = events.get(event, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"`hooks.{event}` in {part.path} is no list: correct it first. Nothing was changed.")
    return entries


def _object_text(text: str, part: ConfigPart, root: dict[str, Any], by_hand: str) -> str:
    """The text of an object in the file's own indentation; the text itself where it says the same already. Raises
    InvalidInput for a file with comments, which would be lost, and says what to do `by_hand`."""
    if text and root == _read_json(text, part):
        return text
    if _has_comments(text):
        raise InvalidInput(f"{part.path} has comments, which would be lost. Nothing was changed. {by_hand}")
    indent = re.search(r"\n([ \t]+)\S", text)
    try:
        new_text = json.dumps(root, ensure_ascii=False, indent=indent[1] if indent else 2) + "\n"
        new_text.encode()
    except (RecursionError, UnicodeEncodeError):
        raise InvalidInput(
            f"{part.path} is nested too deeply, or has half of a character: correct it first. Nothing was changed."
        ) from None
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark + (new_text.replace("\n", "\r\n") if "\r\n" in text else new_text)


def added_to_toml(text: str, part: ConfigPart) -> str:
    """The file's text with the part's server. Raises InvalidInput for a file that is not understood, and Conflict where
    somebody else's server has the name."""
    assert part.server is not None
    (section, name), entry = part.server
    current = _servers(_loaded(text, part), part).get(name)
    if current is not None and not is_own_server(current):
        raise Conflict(
            f"{part.path} has a server `{NAME}` already that is not `steeltrap mcp`; rename or remove it first. "
            "Nothing was changed."
        )
    if current is not None and {**current, **entry} == current:
        return text
    if current is not None and current.keys() - entry.keys():
        raise Conflict(
            f"`{section}.{name}` in {part.path} has settings of your own: change its `command` and `args` by hand, or "
            "take it out with --undo first. Nothing was changed."
        )
    rest = removed_from_toml(text, part, None)
    values = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    lines = [f"[{section}.{name}]", *values]
    between = "" if not rest.strip() else "\n" if rest.endswith("\n") else "\n\n"
    new = between + "\n".join(lines) + "\n"
    return _checked(rest + (new.replace("\n", "\r\n") if "\r\n" in rest else new), rest, part, entry)


def removed_from_toml(text: str, part: ConfigPart, before: str | None) -> str:
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


def _loaded(text: str, part: ConfigPart) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{part.path} is no valid TOML: {error}. Correct it first; nothing was changed.") from None
    except RecursionError:
        raise InvalidInput(f"{part.path} is nested too deeply. Correct it first; nothing was changed.") from None


def _servers(loaded: dict[str, Any], part: ConfigPart) -> dict[str, Any]:
    assert part.server is not None
    servers = loaded.get(part.server[0][0], {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"`{part.server[0][0]}` in {part.path} is no table: correct it first. Nothing was changed.")
    return servers


def _checked(text: str, old: str, part: ConfigPart, entry: dict[str, Any] | None) -> str:
    """The new text, if it differs from the old one only in our server's entry and that entry is as expected. Raises
    InvalidInput where the file is written in another way."""
    assert part.server is not None
    (section, name), _ = part.server
    expected = _loaded(old, part)
    servers = dict(_servers(expected, part))
    servers.pop(name, None)
    expected[section] = servers if entry is None else {**servers, name: entry}
    try:
        values = _loaded(text, part)
    except InvalidInput:
        values = {}
    if {section: {}, **values} != expected:
        raise _in_another_form(part)
    return text


def _in_another_form(part: ConfigPart) -> InvalidInput:
    return InvalidInput(
        f"{part.path} writes its servers in a form that can't be changed here; change `mcp_servers.{NAME}` by hand. "
        "Nothing was changed."
    )


_LINES: Final = 24
_WIDTH: Final = 160
_BACKUP: Final = ".before-steeltrap"
_NEW_FOLDER: Final = ".made-by-steeltrap"
"""An empty file in a folder that install made, so that --undo takes away no folder of the user's."""
_MAX_BYTES: Final = 64 * 1024 * 1024
"""Claude Code also keeps a history in its file."""


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file, None without one, and its text after the change; None takes the file away. `backup` is where
    the old text is kept, or None where it is not, because it has parts of steeltrap in it. `done_with` is a backup that
    the file is now equal to."""

    path: Path
    old: str | None
    new: str | None
    backup: Path | None = None
    done_with: Path | None = None

    def diff(self, *, whole: bool = False) -> str:
        """The change as a unified diff; if not the `whole`, its first lines without what stays around them."""
        old, new = ((text or "").splitlines() for text in (self.old, self.new))
        lines = list(unified_diff(old, new, str(self.path), str(self.path), lineterm="", n=3 if whole else 0))
        if not whole:
            lines = [line[:_WIDTH] for line in lines if line[1:].strip(" \t{}[],") and not line.startswith("@@ ")]
        visible = lines if whole else lines[:_LINES]
        hidden_count = len(lines) - len(visible)
        return "\n".join(
            [
                *visible,
                *(
                    [f"... and {counted(hidden_count, 'more line', 'more lines')}; --verbose shows all."]
                    if hidden_count
                    else []
                ),
            ]
        )


def to_install(parts: Sequence[ConfigPart]) -> list[Change]:
    """The changes after which each part is there. Raises InvalidInput and Conflict."""
    changes = []
    for part in parts:
        path = _target(part)
        old = _read(path)
        new = _added(old or "", part)
        if new != old:
            is_first = old is not None and _removed(old, part, old) == old
            changes.append(Change(path, old, new, _beside(path) if is_first else None))
    return changes


def to_undo(parts: Sequence[ConfigPart]) -> list[Change]:
    """The changes after which no part is there: a file that was not edited since is again what it was before.
    Raises InvalidInput."""
    changes = []
    for part in parts:
        path = _target(part)
        old, before = _read(path), _read(_beside(path))
        if old is None:
            continue
        new: str | None = _removed(old, part, before)
        if new == old:
            continue
        if _added(before or "", part) == old:
            new = before
        elif before is None and not (new or "").strip("{} \t\r\n"):
            new = None
        # The backup of a file that was edited since may still be wanted.
        changes.append(Change(path, old, new, done_with=_beside(path) if new == before else None))
    return changes


def write(changes: Sequence[Change]) -> None:
    """Write the changes, each file at once. Raises InvalidInput for a file that is read-only, Conflict for one that
    changed in the meantime, and OSError."""
    for change in changes:
        if change.old is not None and not change.path.stat().st_mode & 0o222:
            raise InvalidInput(f"{change.path} is read-only: make it writable first. Nothing was changed.")
    for change in changes:
        if _read(change.path) != change.old:
            raise Conflict(f"{change.path} was changed in the meantime; run the command again.")
        if change.backup is not None and change.old is not None:
            _replace(change.backup, change.old, change.path)
        if change.new is None:
            change.path.unlink()
        else:
            _replace(change.path, change.new, change.path)
        if change.done_with is not None:
            change.done_with.unlink(missing_ok=True)
    # Afterwards: a folder that has another of the files is not empty yet.
    for change in changes:
        if change.new is None:
            _remove_new_folders(change.path.parent)


def _target(part: ConfigPart) -> Path:
    """The file itself, where the path is a link to it."""
    return Path(os.path.realpath(part.path))


def _beside(path: Path) -> Path:
    return path.with_name(path.name + _BACKUP)


def _added(text: str, part: ConfigPart) -> str:
    return (added_to_toml if part.path.suffix == ".toml" else added_to_json)(text, part)


def _removed(text: str, part: ConfigPart, before: str | None) -> str:
    return (removed_from_toml if part.path.suffix == ".toml" else removed_from_json)(text, part, before)


def _read(path: Path) -> str | None:
    try:
        return read_regular(path, _MAX_BYTES).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path} can't be read ({error.strerror}). Nothing was changed.") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no UTF-8 text: correct it first. Nothing was changed.") from None


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        (folder / _NEW_FOLDER).touch()


def _remove_new_folders(folder: Path) -> None:
    """Take away a folder that install made, and those above it, as far as nothing else is in them."""
    while (mark := folder / _NEW_FOLDER).exists():
        mark.unlink()
        if any(folder.iterdir()):
            return
        folder.rmdir()
        folder = folder.parent


def _replace(path: Path, text: str, like: Path) -> None:
    _make_folder(path.parent)
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    replace_file(path, text, mode)
