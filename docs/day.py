"""Plays sessions of Claude Code against `steeltrap hook`, and prints what was said and what the hooks added.

`python docs/day.py` makes two repositories in the home folder, writes the transcript of each session of
`day.json` as Claude Code does, and starts the hooks as it does, with the JSON that it gives them.
"""

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

DAY = Path(__file__).parent / "day.json"


def main() -> None:
    for session in json.loads(DAY.read_text()):
        print(f"# {session['says']}")
        play(session, repository(Path.home() / session["folder"]))
        print()


def play(session: dict[str, Any], folder: Path) -> None:
    """One session: its hooks in order, and between them what is written to its transcript."""
    id = str(uuid5(NAMESPACE_URL, session["says"]))
    transcript = Path.home() / ".claude" / "projects" / f"-{folder.name}" / f"{id}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    about = {"session_id": id, "transcript_path": str(transcript), "cwd": str(folder), "permission_mode": "default"}

    def hook(event: str, name: str, **given: str) -> None:
        asked = json.dumps({**about, "hook_event_name": name, **given})
        command = ["steeltrap", "hook", event, "--client", "claude-code"]
        printed = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
        if printed:
            print(f"[{event} adds]\n{json.loads(printed)['hookSpecificOutput']['additionalContext']}")

    hook("session-start", "SessionStart", source="startup")
    for number, turn in enumerate(session["turns"]):
        print(f"user: {turn['user']}")
        hook("prompt", "UserPromptSubmit", prompt=turn["user"])
        print(f"assistant: {turn['assistant']}")
        with transcript.open("a") as file:
            for role in ("user", "assistant"):
                said = {"uuid": str(uuid5(NAMESPACE_URL, f"{id} {number} {role}")), "type": role, "sessionId": id}
                message = {"role": role, "content": turn[role]}
                file.write(json.dumps({**said, "message": message, "timestamp": session["time"]}) + "\n")
        hook("stop", "Stop", last_assistant_message=turn["assistant"])
    hook("session-end", "SessionEnd", reason="prompt_input_exit")


def repository(folder: Path) -> Path:
    """A folder that git takes for a clone."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = git@example.com:acme/{folder.name}.git\n')
    return folder


if __name__ == "__main__":
    main()
