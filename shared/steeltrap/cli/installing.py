"""install: which entries each MCP client gets in which of its files, shown before they are written.

Claude Code: code.claude.com/docs/en/mcp and /hooks. Codex: developers.openai.com/codex/mcp and /hooks. Cursor:
cursor.com/docs/context/mcp and /docs/hooks. Gemini CLI: docs/tools/mcp-server.md in google-gemini/gemini-cli. VS Code:
code.visualstudio.com/docs/copilot/reference/mcp-configuration.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .. import settings_file
from ..errors import Unavailable
from . import terminal
from .session import Exit, as_typed, complain, say
from .terminal import confirm

if TYPE_CHECKING:
    from ..settings import Settings, SettingValues

Keys = tuple[str, ...]
NAME: Final = "steeltrap"
SECONDS: Final = 15
"""How long a client waits for a hook. Hooks end sooner by themselves."""
CLIENTS: Final = ("claude-code", "codex", "cursor", "claude-desktop", "vscode", "gemini")

_EVENTS: Final = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "PreCompact": "pre-compact",
}
_HOOKS: Final[Mapping[str, Mapping[str, str]]] = {
    "claude-code": {**_EVENTS, "SessionEnd": "session-end"},
    "codex": _EVENTS,
    "cursor": {
        "sessionStart": "session-start",
        "beforeSubmitPrompt": "prompt",
        "stop": "stop",
        "afterAgentResponse": "stop",
        "preCompact": "pre-compact",
        "sessionEnd": "session-end",
    },
}
_HOOK: Final = re.compile(r"(?:^|[\s/\\\"'])steeltrap(?:\.exe)?[\"']?\s+hook\s")


@dataclass(frozen=True, slots=True)
class ConfigPart:
    """The part of a client's file that is ours: a server, or a hook for each event. `defaults` go into a new file."""

    path: Path
    server: tuple[Keys, dict[str, Any]] | None = None
    hooks: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where clients keep their files."""

    home: Path
    environment: Mapping[str, str]
    platform: str = sys.platform

    def folder(self, variable: str, *otherwise: str) -> Path:
        path = self.environment.get(variable)
        return Path(path).expanduser() if path else self.home.joinpath(*otherwise)

    def application(self, *names: str) -> Path:
        """Where a desktop program keeps its settings."""
        if self.platform == "darwin":
            return self.home.joinpath("Library", "Application Support", *names)
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming").joinpath(*names)
        return self.folder("XDG_CONFIG_HOME", ".config").joinpath(*names)


def parts_of(
    client: str, command: Sequence[str], machine: Machine, *, data: Path | None, hooks: bool
) -> list[ConfigPart]:
    """The parts of one of CLIENTS. `command` starts steeltrap; `data` is a folder of memories of the user's choice."""
    beside = ["--data", str(data)] if data else []
    program, *first = command
    server: dict[str, Any] = {"command": program, "args": [*first, "mcp", *beside]}
    if client == "claude-code":
        own = machine.environment.get("CLAUDE_CONFIG_DIR")
        servers = (Path(own).expanduser() if own else machine.home) / ".claude.json"
        file = machine.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        parts = [
            ConfigPart(servers, (("mcpServers", NAME), {"type": "stdio", **server})),
            ConfigPart(file, hooks=_hooks(client, command, beside)),
        ]
    elif client == "codex":
        folder = machine.folder("CODEX_HOME", ".codex")
        parts = [
            ConfigPart(folder / "config.toml", (("mcp_servers", NAME), server)),
            ConfigPart(folder / "hooks.json", hooks=_hooks(client, command, beside)),
        ]
    elif client == "cursor":
        # Cursor starts servers outside of the folder that it works in.
        server["args"] += ["--project", "${workspaceFolder}"]
        parts = [
            ConfigPart(machine.home / ".cursor" / "mcp.json", (("mcpServers", NAME), server)),
            ConfigPart(machine.home / ".cursor" / "hooks.json", None, _hooks(client, command, beside), {"version": 1}),
        ]
    elif client == "claude-desktop":
        file = machine.application("Claude", "claude_desktop_config.json")
        parts = [ConfigPart(file, (("mcpServers", NAME), server))]
    elif client == "vscode":
        file = machine.application("Code", "User", "mcp.json")
        parts = [ConfigPart(file, (("servers", NAME), {"type": "stdio", **server}))]
    else:
        parts = [ConfigPart(machine.home / ".gemini" / "settings.json", (("mcpServers", NAME), server))]
    return [part for part in parts if part.server or hooks]


def _hooks(client: str, command: Sequence[str], beside: Sequence[str]) -> dict[str, dict[str, Any]]:
    hooks = {}
    for name, event in _HOOKS[client].items():
        words = [*command, "hook", event, "--client", client, *beside]
        text = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
        hook = {"command": text, "timeout": SECONDS}
        hooks[name] = hook if client == "cursor" else {"hooks": [{"type": "command", **hook}]}
    return hooks


def commands_of(client: str, machine: Machine) -> list[list[str]]:
    """The commands of steeltrap that a client starts, as its settings say now. Raises InvalidInput for a file that is
    not understood."""
    from .client_files import commands_in

    parts = parts_of(client, [NAME], machine, data=None, hooks=True)
    return [command for part in parts for command in commands_in(part)]


def is_own_server(entry: Any) -> bool:
    """Whether a server's entry starts `steeltrap mcp`."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    words = [entry["command"], *(word for word in entry.get("args") or () if isinstance(word, str))]
    names = [re.split(r"[/\\]", word)[-1].removesuffix(".exe") for word in words]
    return "mcp" in names and NAME in names[: names.index("mcp")]


def own_hooks(entries: Sequence[Any]) -> list[dict[str, Any]]:
    """The hooks of an event that start `steeltrap hook`."""
    groups = [entry.get("hooks") if isinstance(entry, dict) else None for entry in entries]
    each = [group if isinstance(group, list) else [entry] for entry, group in zip(entries, groups, strict=True)]
    return [hook for hooks in each for hook in hooks if _is_own_hook(hook)]


def without_own_hooks(entries: Sequence[Any]) -> list[Any]:
    """The hooks of an event without those that start `steeltrap hook`, and without the groups that held only those."""
    entries_kept = []
    for entry in entries:
        group = entry.get("hooks") if isinstance(entry, dict) else None
        if isinstance(group, list):
            others = [hook for hook in group if not _is_own_hook(hook)]
            if len(others) == len(group):
                entries_kept.append(entry)
            elif others:
                entries_kept.append({**entry, "hooks": others})
        elif not _is_own_hook(entry):
            entries_kept.append(entry)
    return entries_kept


def _is_own_hook(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and bool(_HOOK.search(hook["command"]))


Client = StrEnum("Client", {name: name for name in CLIENTS})  # type: ignore[misc]
_AFTERWARDS: Final = {
    "claude-code": "Start Claude Code again.",
    "codex": "Start Codex again. It asks you to trust the hooks: run /hooks.",
    "cursor": "Start Cursor again.",
    "claude-desktop": "Quit Claude Desktop and start it again.",
    "vscode": "VS Code asks you to trust the server when it first starts it.",
    "gemini": "Start Gemini CLI again.",
}


def install(
    client: Annotated[Client, typer.Argument(help="The client to connect.")],
    undo: Annotated[bool, typer.Option("--undo", help="Take out what install put in.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="Also the hooks, where the client has any.")] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask for confirmation.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show the whole change, with the lines around it.")
    ] = False,
    data: terminal.Data = None,
) -> None:
    """Connect Claude Code, Codex, Cursor or another client.

    It gets the MCP server; Claude Code, Codex and Cursor get hooks, too. The command says what will be stored, shows
    the change to the client's own settings, and asks before it writes. Settings that your environment has are kept in
    the data folder, so that the client has them too. The file as it was is kept beside it, with the ending
    .before-steeltrap.
    """
    from ..settings import gather, settings_of
    from . import client_files

    gathered = gather(data=data and data.expanduser())
    settings = settings_of(gathered)
    folder = Path(os.path.abspath(settings.data)) if "data" in gathered.by_name else None
    command = _command()
    parts = parts_of(client, command, Machine(Path.home(), os.environ), data=folder, hooks=hooks or undo)
    planned = client_files.to_undo(parts) if undo else client_files.to_install(parts)
    carried = {} if undo else _to_carry(gathered, settings)
    if not planned and not carried:
        say(f"Nothing to change: {client} has {'nothing' if undo else 'everything'} of steeltrap.")
        return
    if not undo:
        say(as_typed(introduction(client, settings, hooks=any(part.hooks for part in parts))))
    for change in planned:
        say(change.diff(whole=verbose))
    if carried:
        _show_carried(carried, settings)
    if dry_run:
        return
    if not yes:
        confirm("Write it?", otherwise="Nothing was changed")
    client_files.write(planned)
    if carried:
        settings_file.write(settings.data, settings_file.changed(settings_file.text_in(settings.data), carried))
    for change in planned:
        backup = f" {change.backup} has it as it was." if change.backup else ""
        say(f"{'Removed' if change.new is None else 'Written'}: {change.path}.{backup}")
    if undo:
        say("The memories that are stored stay.")
        return
    _try_server(parts)
    say(as_typed(f"{_AFTERWARDS[client]} `steeltrap install {client} --undo` takes it back."))


def introduction(client: str, settings: "Settings", *, hooks: bool) -> str:
    """One paragraph before the question: what will be stored where, and how to stop it."""
    secrets = {
        "refuse": "Text with keys, tokens or passwords in it is not stored.",
        "off": "Keys, tokens and passwords in them are stored too, because STEELTRAP_SECRETS is off.",
    }.get(settings.secrets or "", "Keys, tokens, passwords and card numbers in them become placeholders.")
    stored = (
        "your prompts and the agent's answers are stored, and what fits is added to later prompts"
        if hooks
        else "the agent can store and search memories; prompts and answers are not stored by themselves"
    )
    places = {"sqlite": f"in {settings.data}, on this machine", "aws": "in your AWS account"}
    where = places.get(settings.store_kind, f"in {settings.place}")
    off = " `steeltrap config set hooks off` stops storing;" if hooks else ""
    return (
        f"With this, {stored}. Memories are {where}. {secrets}{off} "
        f"`steeltrap install {client} --undo` disconnects it; `steeltrap list` and `steeltrap delete` show and delete "
        "what is stored."
    )


def _to_carry(gathered: "SettingValues", settings: "Settings") -> dict[str, Any]:
    """The settings of the environment alone, which a client would not have, as their file is to have them."""
    stored, values = settings_file.read(settings.data), settings.as_json()
    defaults = type(settings)().as_json()
    return {
        name: values[name]
        for name, variable in gathered.by_name.items()
        if variable.source == "environment"
        and name != "data"
        and (name in stored or values[name] != defaults[name])
        and stored.get(name) != settings_file.as_text(values[name])
    }


def _show_carried(carried: Mapping[str, Any], settings: "Settings") -> None:
    from .configuration import printable_value

    say(f"From your environment, kept in {settings_file.path_in(settings.data)} for every program that opens it:")
    for name in carried:
        say(f"+{name} = {printable_value(settings, name)}")


_TRIAL_SECONDS: Final = 30


def _try_server(parts: Sequence[ConfigPart]) -> None:
    """Start the client's new entry once, as the client will; leaves the command where it doesn't answer."""
    for part in parts:
        if part.server is not None:
            fault = server_fault([part.server[1]["command"], *part.server[1]["args"]])
            if fault is not None:
                complain(f"It is written, but the server does not start: {fault} Run `steeltrap doctor`.")
                raise typer.Exit(Exit.OTHER)
            say("Started it once: it answers.")


def server_fault(command: Sequence[str]) -> str | None:
    """Why the MCP server that a command starts doesn't answer, in a sentence; None where it does."""
    from ..settings import PREFIX

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "install", "version": "1"}}
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(PREFIX)
    }  # as clients have it
    question = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    try:
        process = subprocess.run(
            command,
            input=json.dumps(question).encode() + b"\n",
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
            env=environment,
        )
    except OSError as error:
        return f"{command[0]}: {error.strerror}."
    except subprocess.TimeoutExpired:
        return f"it did not answer within {_TRIAL_SECONDS} s."
    if b'"serverInfo"' in process.stdout:
        return None
    lines = process.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with {process.returncode} and said nothing."


def _command() -> list[str]:
    """The command that starts steeltrap from any folder, without a shell's PATH. Raises Unavailable."""
    folder = Path(sys.executable).parent
    if "archive-v0" in folder.parts or "builds-v0" in folder.parts:  # `uvx` made it, and its cache may be emptied
        uvx = shutil.which("uvx")
        if uvx:
            return [uvx, "steeltrap"]
    command = shutil.which("steeltrap", path=str(folder)) or shutil.which("steeltrap")
    if command is None:
        raise Unavailable("The command `steeltrap` is not beside this Python: install steeltrap again.")
    return [os.path.abspath(command)]
