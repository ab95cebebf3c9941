"""The form of what each client sends to a hook, and the form in which it takes what a hook adds.

Claude Code: code.claude.com/docs/en/hooks. Codex: codex-rs/hooks/schema/generated in github.com/openai/codex. Cursor:
cursor.com/docs/hooks; that it takes `additional_context` for a prompt too is not on that page.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ...errors import InvalidInput
from ...model.frozen import frozen
from ...text.transcripts import codex, cursor
from ...text.transcripts.messages import Said, cleaned

Client = Literal["claude-code", "codex", "cursor"]
CLIENTS: Final[tuple[str, ...]] = get_args(Client)
_NAMES: Final = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
"""The events whose answer a client reads, by the name that Claude Code and Codex give them."""
_MAX_ID: Final = 512


@frozen
class Asked:
    """A hook's question: which session of which client, where, and what the client says of it.

    `transcript` is the file that the client keeps of the session. `said` are messages that came with the event itself,
    and count where there is no such file. `fresh` says that the model's context no longer has what was added to it.
    """

    event: str
    client: Client
    session: str
    folder: Path
    prompt: str = ""
    transcript: Path | None = None
    said: tuple[Said, ...] = ()
    ended: bool = False
    fresh: bool = False


def read(event: str, given: Mapping[str, Any], *, client: str | None = None, folder: str = ".") -> Asked:
    """The question of an event's JSON. `folder` is where the hook runs. Raises InvalidInput."""
    known = _client(given, client)
    session = _text(given, "session_id") or _text(given, "conversation_id")
    if not session or len(session) > _MAX_ID:
        raise InvalidInput("the event names no session.")
    name = _text(given, "hook_event_name").lower()
    transcript = _text(given, "transcript_path")
    return Asked(
        event=event,
        client=known,
        session=session,
        folder=_folder(given, folder),
        prompt=cleaned(_text(given, "prompt")),
        transcript=Path(os.path.expanduser(transcript)) if transcript else None,
        said=_said(given, known),
        ended=event == "session-end" or name == "sessionend",
        fresh=event == "pre-compact" or _text(given, "source") in ("clear", "compact"),
    )


def form(asked: Asked, text: str) -> str:
    """The form that the client reads to add a text to its context; nothing for no text, and where it takes none."""
    if not text or asked.event not in _NAMES:
        return ""
    if asked.client == "cursor":
        proceed = {"continue": True} if asked.event == "prompt" else {}
        return json.dumps({**proceed, "additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": _NAMES[asked.event], "additionalContext": text}})


def _client(given: Mapping[str, Any], named: str | None) -> Client:
    for client in get_args(Client):
        if named == client:
            known: Client = client
            return known
    if named is not None:
        raise InvalidInput(f"there is no client {named}; there are: {', '.join(CLIENTS)}.")
    if "cursor_version" in given or "workspace_roots" in given or "generation_id" in given:
        return "cursor"
    path = _text(given, "transcript_path")
    # Codex tells turns apart and may keep no file; Claude Code always names one.
    return "codex" if "turn_id" in given or not path or Path(path).name.startswith("rollout-") else "claude-code"


def _folder(given: Mapping[str, Any], fallback: str) -> Path:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return Path(_text(given, "cwd") or (first if isinstance(first, str) and first else fallback))


def _said(given: Mapping[str, Any], client: Client) -> tuple[Said, ...]:
    """The messages in the event's own fields, under ids that the transcript's own agree with, or that replace it."""
    asked, answered = cleaned(_text(given, "prompt")), cleaned(_text(given, "last_assistant_message"))
    said: list[Said] = []
    if client == "codex" and (turn := _text(given, "turn_id")):
        said += [Said(id=codex.asked(turn), role="user", content=asked)] if asked else []
        said += [Said(id=codex.answered(turn), role="assistant", content=answered)] if answered else []
    if client == "cursor" and not given.get("transcript_path") and (turn := _text(given, "generation_id")):
        answered = cleaned(_text(given, "text"))
        for role, text in (("user", asked), ("assistant", answered)):
            said += [Said(id=f"{turn}-{cursor.digest(text)}", role=role, content=text)] if text else []  # type: ignore[arg-type]
    return tuple(said)


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""
