"""Hooks as clients start them: a process each, with recorded sessions of every client."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from steeltrap.client.in_process import Memory, open_memory
from steeltrap.servers.hooks import server_file

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "sessions"
HOOK = (
    "from steeltrap.servers.hooks import command, server_file; server_file.SERVER_SECONDS = {seconds}; "
    "command.ALL_SECONDS = {all_seconds}; "
    "from steeltrap.cli import main; main()"
)
"""A busy machine is no reason to give up here."""


def repository(folder: Path, remote: str) -> Path:
    """A folder that git would take for a clone."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n')
    return folder


@dataclass
class Computer:
    """A home, a data folder and repositories; hooks run here as a client runs them."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    server_seconds: float = 60
    all_seconds: float = 120

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> list[str]:
        path = self.data / "hooks" / "hooks.log"
        return path.read_text().splitlines() if path.exists() else []

    def command(self, *arguments: str) -> list[str]:
        return [
            sys.executable,
            "-c",
            HOOK.format(seconds=self.server_seconds, all_seconds=self.all_seconds),
            *arguments,
        ]

    def environ(self) -> dict[str, str]:
        path = os.pathsep.join((str(ROOT / "shared"), os.environ.get("PYTHONPATH", "")))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEELTRAP_")}
        own = {"HOME": str(self.home), "STEELTRAP_DATA": str(self.data), "PYTHONPATH": path}
        return inherited | own | self.environment

    def hook(self, event: str, given: Any, *options: str) -> str:
        """The output of a hook. It always ends well and says nothing else."""
        text = given if isinstance(given, str | bytes) else json.dumps(given)
        done = subprocess.run(
            self.command("hook", event, *options),
            input=text if isinstance(text, bytes) else text.encode(),
            env=self.environ(),
            cwd=self.home,
            capture_output=True,
            check=False,
            timeout=150,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def memory(self) -> Memory:
        return open_memory(self.data)


@dataclass
class Recording:
    """A client's recorded sessions, played in a folder of choice."""

    client: str
    said: list[str]
    sessions: dict[str, list[dict[str, Any]]]

    def steps(self, computer: Computer, session: str, folder: Path) -> Iterator[tuple[str, Any]]:
        """The hooks of a session. What the client writes into its transcript between them is written then."""
        id = str(uuid5(NAMESPACE_URL, f"{session} {folder}"))
        prefix = "rollout-2026-03-02T09-00-00-" if self.client == "codex" else ""
        transcript = computer.home / "transcripts" / self.client / f"{prefix}{id}.jsonl"
        transcript.parent.mkdir(parents=True, exist_ok=True)
        if self.client == "codex":
            transcript.touch()

        def filled(value: Any) -> Any:
            text = json.dumps(value).replace("$transcript", str(transcript)).replace("$cwd", str(folder))
            return json.loads(text.replace("$session", id))

        for step in self.sessions[session]:
            if "write" in step:
                with transcript.open("a") as file:
                    file.writelines(json.dumps(filled(line)) + "\n" for line in step["write"])
            else:
                yield step["hook"], filled(step["input"])

    def play(self, computer: Computer, session: str, folder: Path) -> list[str]:
        """The output of each hook of a session."""
        return [computer.hook(event, given) for event, given in self.steps(computer, session, folder)]


def recording(client: str) -> Recording:
    text = json.loads((RECORDED / f"{client}.json").read_text())
    return Recording(text["client"], text["said"], {each["name"]: each["steps"] for each in text["sessions"]})


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    home = tmp_path / "home"
    home.mkdir()
    return Computer(home)


@pytest.fixture
def shop(computer: Computer) -> Path:
    return repository(computer.home / "shop", "git@example.com:acme/shop.git")


@pytest.fixture
def blog(computer: Computer) -> Path:
    return repository(computer.home / "blog", "git@example.com:acme/blog.git")


@pytest.fixture
def server(computer: Computer) -> Iterator[server_file.RunningServer]:
    """`steeltrap serve` over the data folder."""
    with subprocess.Popen(
        computer.command("serve", "--port", "0"), env=computer.environ(), stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            said = []
            for line in process.stderr:
                said.append(line)
                if line.startswith("Ctrl-C"):
                    break
            running = server_file.read(str(computer.data))
            assert running is not None, said
            yield running
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture(params=["claude_code", "codex", "cursor"])
def recorded(request: pytest.FixtureRequest) -> Recording:
    return recording(request.param)
