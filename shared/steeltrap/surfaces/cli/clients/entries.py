"""Which entries each client gets in which of its files.

Claude Code: code.claude.com/docs/en/mcp and /hooks. Codex: developers.openai.com/codex/mcp and /hooks. Cursor:
cursor.com/docs/context/mcp and /docs/hooks. Gemini CLI: docs/tools/mcp-server.md in google-gemini/gemini-cli. VS Code:
code.visualstudio.com/docs/copilot/reference/mcp-configuration.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

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
class Part:
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
        named = self.environment.get(variable)
        return Path(named).expanduser() if named else self.home.joinpath(*otherwise)

    def application(self, *names: str) -> Path:
        """Where a desktop program keeps its settings."""
        if self.platform == "darwin":
            return self.home.joinpath("Library", "Application Support", *names)
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming").joinpath(*names)
        return self.folder("XDG_CONFIG_HOME", ".config").joinpath(*names)


def parts_of(client: str, command: Sequence[str], machine: Machine, *, data: Path | None, hooks: bool) -> list[Part]:
    """The parts of one of CLIENTS. `command` starts steeltrap; `data` is a folder of memories of the user's choice."""
    beside = ["--data", str(data)] if data else []
    program, *first = command
    server: dict[str, Any] = {"command": program, "args": [*first, "mcp", *beside]}
    if client == "claude-code":
        own = machine.environment.get("CLAUDE_CONFIG_DIR")
        servers = (Path(own).expanduser() if own else machine.home) / ".claude.json"
        file = machine.folder("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
        parts = [
            Part(servers, (("mcpServers", NAME), {"type": "stdio", **server})),
            Part(file, hooks=_hooks(client, command, beside)),
        ]
    elif client == "codex":
        folder = machine.folder("CODEX_HOME", ".codex")
        parts = [
            Part(folder / "config.toml", (("mcp_servers", NAME), server)),
            Part(folder / "hooks.json", hooks=_hooks(client, command, beside)),
        ]
    elif client == "cursor":
        # Cursor starts servers outside of the folder that it works in.
        server["args"] += ["--project", "${workspaceFolder}"]
        parts = [
            Part(machine.home / ".cursor" / "mcp.json", (("mcpServers", NAME), server)),
            Part(machine.home / ".cursor" / "hooks.json", None, _hooks(client, command, beside), {"version": 1}),
        ]
    elif client == "claude-desktop":
        file = machine.application("Claude", "claude_desktop_config.json")
        parts = [Part(file, (("mcpServers", NAME), server))]
    elif client == "vscode":
        file = machine.application("Code", "User", "mcp.json")
        parts = [Part(file, (("servers", NAME), {"type": "stdio", **server}))]
    else:
        parts = [Part(machine.home / ".gemini" / "settings.json", (("mcpServers", NAME), server))]
    return [part for part in parts if part.server or hooks]


def _hooks(client: str, command: Sequence[str], beside: Sequence[str]) -> dict[str, dict[str, Any]]:
    made = {}
    for name, event in _HOOKS[client].items():
        words = [*command, "hook", event, "--client", client, *beside]
        text = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
        hook = {"command": text, "timeout": SECONDS}
        made[name] = hook if client == "cursor" else {"hooks": [{"type": "command", **hook}]}
    return made


def is_own_server(entry: Any) -> bool:
    """Whether a server's entry starts `steeltrap mcp`."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    words = [entry["command"], *(word for word in entry.get("args") or () if isinstance(word, str))]
    names = [re.split(r"[/\\]", word)[-1].removesuffix(".exe") for word in words]
    return "mcp" in names and NAME in names[: names.index("mcp")]


def without_own_hooks(entries: Sequence[Any]) -> list[Any]:
    """The hooks of an event without those that start `steeltrap hook`, and without the groups that held only those."""
    kept = []
    for entry in entries:
        group = entry.get("hooks") if isinstance(entry, dict) else None
        if isinstance(group, list):
            others = [hook for hook in group if not _is_own_hook(hook)]
            if len(others) == len(group):
                kept.append(entry)
            elif others:
                kept.append({**entry, "hooks": others})
        elif not _is_own_hook(entry):
            kept.append(entry)
    return kept


def _is_own_hook(hook: Any) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and bool(_HOOK.search(hook["command"]))
