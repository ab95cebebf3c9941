"""Sessions of coding agents: what clients send to a hook and take from it, what a hook notes, and the transcript.

Claude Code: code.claude.com/docs/en/hooks. Codex: codex-rs/hooks/schema/generated in github.com/openai/codex. Cursor:
cursor.com/docs/hooks; that it takes `additional_context` for a prompt too is not on that page.

A session is known from one event to the next by a file of lines in the data folder, only ever added to. Losing it
doubles nothing that is stored, since messages have ids: more is read again, and offered again. A line that was not
written to its end is passed over.

A transcript may be large, damaged or no transcript at all. So it is read line by line, and memory holds one line and
one block of messages, whatever the file has.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, get_args

from ...errors import InvalidInput
from ...local_files import append_line, open_regular, read_regular
from ...model.frozen import frozen
from ...project import project_of
from ...text.schemas import has_more_values
from ...text.transcripts import (
    ClaudeEntry,
    ClaudeTree,
    CodexTurn,
    TranscriptMessage,
    claude_entry,
    cleaned,
    codex_answer_id,
    codex_messages,
    codex_prompt_id,
    cursor_digest,
    cursor_messages,
)
from .command import FOLDER

Client = Literal["claude-code", "codex", "cursor"]
CLIENTS: Final[tuple[str, ...]] = get_args(Client)
_NAMES: Final = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}
"""The events whose answer a client reads, by the name that Claude Code and Codex give them."""
_MAX_ID: Final = 512


@frozen
class HookEvent:
    """A hook's question: which session of which client, where, and what the client says of it.

    `transcript` is the file that the client keeps of the session. `messages` came with the event itself, and
    count where there is no such file. `fresh` says that the model's context no longer has what was added to it, and
    `resumed` that it has all of an earlier session.
    """

    event: str
    client: Client
    session: str
    folder: Path
    prompt: str = ""
    transcript: Path | None = None
    messages: tuple[TranscriptMessage, ...] = ()
    ended: bool = False
    fresh: bool = False
    resumed: bool = False


def read_event(event: str, fields: Mapping[str, Any], *, client: str | None = None, folder: str = ".") -> HookEvent:
    """The question of an event's JSON. `folder` is where the hook runs. Raises InvalidInput."""
    client_name = _client(fields, client)
    session = _text(fields, "session_id") or _text(fields, "conversation_id")
    if not session or len(session) > _MAX_ID:
        raise InvalidInput("the event names no session.")
    name = _text(fields, "hook_event_name").lower()
    transcript = _text(fields, "transcript_path")
    return HookEvent(
        event=event,
        client=client_name,
        session=session,
        folder=_folder(fields, folder),
        prompt=cleaned(_text(fields, "prompt")),
        transcript=Path(os.path.expanduser(transcript)) if transcript else None,
        messages=_messages(fields, client_name),
        ended=event == "session-end" or name == "sessionend",
        fresh=event == "pre-compact" or _text(fields, "source") in ("clear", "compact"),
        resumed=_text(fields, "source") == "resume",
    )


def form(hook: HookEvent, text: str) -> str:
    """The form that the client reads to add a text to its context; nothing for no text, and where it takes none."""
    if not text or hook.event not in _NAMES:
        return ""
    if hook.client == "cursor":
        proceed = {"continue": True} if hook.event == "prompt" else {}
        return json.dumps({**proceed, "additional_context": text})
    return json.dumps({"hookSpecificOutput": {"hookEventName": _NAMES[hook.event], "additionalContext": text}})


def _client(fields: Mapping[str, Any], name: str | None) -> Client:
    for client in get_args(Client):
        if name == client:
            known_client: Client = client
            return known_client
    if name is not None:
        raise InvalidInput(f"there is no client {name}; there are: {', '.join(CLIENTS)}.")
    if "cursor_version" in fields or "workspace_roots" in fields or "generation_id" in fields:
        return "cursor"
    path = _text(fields, "transcript_path")
    # Codex tells turns apart and may keep no file; Claude Code always names one.
    return "codex" if "turn_id" in fields or not path or Path(path).name.startswith("rollout-") else "claude-code"


def _folder(fields: Mapping[str, Any], fallback: str) -> Path:
    roots = fields.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return Path(_text(fields, "cwd") or (first if isinstance(first, str) and first else fallback))


def _messages(fields: Mapping[str, Any], client: Client) -> tuple[TranscriptMessage, ...]:
    """The messages in the event's own fields, under ids that the transcript's own agree with, or that replace it."""
    prompt, answered = cleaned(_text(fields, "prompt")), cleaned(_text(fields, "last_assistant_message"))
    messages: list[TranscriptMessage] = []
    if client == "codex" and (turn := _text(fields, "turn_id")):
        messages += [TranscriptMessage(id=codex_prompt_id(turn), role="user", content=prompt)] if prompt else []
        messages += (
            [TranscriptMessage(id=codex_answer_id(turn), role="assistant", content=answered)] if answered else []
        )
    if client == "cursor" and not fields.get("transcript_path") and (turn := _text(fields, "generation_id")):
        answered = cleaned(_text(fields, "text"))
        for role, text in (("user", prompt), ("assistant", answered)):
            messages += [TranscriptMessage(id=f"{turn}-{cursor_digest(text)}", role=role, content=text)] if text else []  # type: ignore[arg-type]
    return tuple(messages)


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


NO_PROJECT: Final = "user/default"
"""The scope of what is said outside of every repository."""
_KEPT_SECONDS: Final = 30 * 86_400
_TRIES: Final = 3
"""How often an earlier session is looked after without any progress. Then its transcript is the reason."""
_MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes of a session's file. One of 100,000 prompts has a tenth of it."""
_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "id": str,
    "client": str,
    "scope": str,
    "project": (str, type(None)),
    "transcript": str,
    "offset": int,
    "line": int,
    "tries": int,
    "ended": bool,
}


@dataclass(slots=True)
class Session:
    """A session so far. `scope` is where its memories are, and `project` the name of its repository, if it is in one.
    `offset` and `line` say up to where its transcript was kept, in bytes and in lines. `tries` counts how often another
    session began to keep the rest of it, and did not get on."""

    path: Path
    id: str = ""
    client: str = ""
    scope: str = ""
    project: str | None = None
    transcript: str | None = None
    offset: int = 0
    line: int = 0
    tries: int = 0
    ended: bool = False
    offered: set[str] = field(default_factory=set)

    def note(self, **change: Any) -> None:
        """Write a change down, then make it here."""
        append_line(str(self.path), json.dumps(change))
        self._take(change)

    def _take(self, change: Mapping[str, Any]) -> None:
        for name, kind in _KINDS.items():
            if name in change and isinstance(change[name], kind):
                setattr(self, name, change[name])
        if change.get("forgot"):
            self.offered.clear()
        if isinstance(offered := change.get("offered"), list):
            self.offered.update(id for id in offered if isinstance(id, str))


def of(data: Path, hook: HookEvent) -> Session:
    """The session of an event, which goes on by it, or begins: in the project of the folder that it begins in."""
    name = sha256(json.dumps([hook.client, hook.session]).encode()).hexdigest()[:32]
    session = _read(data / FOLDER / f"{name}.jsonl")
    if not session.id:
        project = project_of(hook.folder)
        scope, label = (NO_PROJECT, None) if project is None else project
        session.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        session.note(id=hook.session, client=hook.client, scope=scope, project=label)
    if hook.transcript is not None and str(hook.transcript) != session.transcript:
        session.note(transcript=str(hook.transcript), offset=0, line=0)
    if session.ended:
        session.note(ended=False)
    return session


def open_sessions(data: Path, than: Session, limit: int) -> list[Session]:
    """The sessions of the same project that did not end, the latest first, without those that failed before. Old files
    are removed."""
    sessions: list[Session] = []
    for path in _files(data / FOLDER):
        if len(sessions) == limit:
            break
        try:
            session = _read(path)
        except OSError:
            continue  # no file of ours
        is_open = session.id and session.scope == than.scope and not session.ended and session.tries < _TRIES
        if path != than.path and is_open:
            sessions.append(session)
    return sessions


def _files(folder: Path) -> Iterator[Path]:
    times: list[tuple[float, Path]] = []
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):
            times.append((path.stat().st_mtime, path))
    for at, path in sorted(times, reverse=True):
        if at < time.time() - _KEPT_SECONDS:
            with suppress(OSError):
                os.unlink(path)
        else:
            yield path


def _read(path: Path) -> Session:
    session = Session(path)
    try:
        lines = read_regular(path, _MAX_BYTES).splitlines()
    except FileNotFoundError:
        return session
    for line in lines:
        with suppress(ValueError, TypeError, RecursionError):
            change = json.loads(line)
            if isinstance(change, dict):
                session._take(change)
    return session


MESSAGES: Final = 400
"""Messages of a block, which are kept in one go."""
BYTES: Final = 1024 * 1024
"""Bytes of the texts of a block, after which it ends."""
MAX_LINE: Final = 16 * 1024 * 1024
"""Longer lines are passed over: a line with images is shorter, and what is said fits a hundredth of it."""
MAX_VALUES: Final = 100_000
"""JSON values of a line that is read: objects take many times the memory of their text."""
AT_ONCE: Final = 32 * 1024 * 1024
"""Bytes of a transcript that are read at an event; the next event reads on. All of them are read before the first
message is kept, and that has to leave a hook most of its time."""
LOOKED_BACK: Final = 128 * 1024 * 1024
"""Bytes before these that are looked through for the parents of lines."""
LINES: Final = 100_000
"""Lines of a transcript that are read at an event."""
_CHUNK: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Block:
    """Some messages, from where the next event reads on, and the end of what was read. The end is further on within a
    turn of Codex."""

    messages: list[TranscriptMessage]
    offset: int
    line: int
    end: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with its number, where it begins, where the next one begins, and its text, None for one that is not
    read."""

    number: int
    begin: int
    end: int
    text: bytes | None


def blocks(session: Session) -> Iterator[Block]:
    """The messages in the transcript of a session since it was read last. Raises OSError.

    A last line without its end is left for the next time: the client is still writing it.
    """
    if session.transcript is None:
        return
    with open_regular(session.transcript) as file:
        size = os.fstat(file.fileno()).st_size
        # A file that has become shorter was written anew.
        offset, line = (session.offset, session.line) if session.offset <= size else (0, 0)
        lines = partial(_lines, file, offset, line, min(size, offset + AT_ONCE))
        if session.client == "codex":
            yield from _of_codex(lines(), offset, line)
        elif session.client == "cursor":
            yield from _in_blocks((each, cursor_messages(_numbered(each))) for each in lines())
        else:
            entry_ids = _main_line_ids(lines(), file, offset)
            yield from _in_blocks((each, _of_claude_code(each, entry_ids)) for each in lines())


def has_more(session: Session, end: int) -> bool:
    """Whether a transcript has a line after what was read up to `end`: it has more than one event reads, so that the
    session is not kept to its end yet. Raises OSError."""
    if session.transcript is None:
        return False
    with open_regular(session.transcript) as file:
        file.seek(end)
        text = file.readline(MAX_LINE)
    return text.endswith(b"\n") or len(text) == MAX_LINE


def _lines(file: BinaryIO, offset: int, number: int, end: int) -> Iterator[_Line]:
    """The lines from an offset on that begin before `end` and are written to their own."""
    file.seek(offset)
    at, last = offset, number + LINES
    while at < end and number < last:
        text = file.readline(MAX_LINE)
        if not text.endswith(b"\n"):
            if len(text) < MAX_LINE:
                return
            length, is_whole = _rest_of_line(file, end - at)
            at, begin = at + len(text) + length, at
            # Where the rest is too long, the next time begins in the middle of it and finds no JSON there.
            yield _Line(number, begin, at, None)
            if not is_whole:
                return
        else:
            at, begin = at + len(text), at
            yield _Line(number, begin, at, None if has_more_values(text, MAX_VALUES) else text)
        number += 1


def _rest_of_line(file: BinaryIO, limit: int) -> tuple[int, bool]:
    """Pass over the rest of a line: how long it was, and whether its end was reached within about `limit` bytes."""
    length = 0
    while length < limit and (text := file.readline(_CHUNK)):
        length += len(text)
        if text.endswith(b"\n"):
            return length, True
    return length, False


def _in_blocks(read: Iterable[tuple[_Line, Iterable[TranscriptMessage]]]) -> Iterator[Block]:
    messages: list[TranscriptMessage] = []
    size = 0
    last: _Line | None = None
    for last, lines_said in read:
        for each in lines_said:
            messages.append(each)
            size += len(each.content)
        if len(messages) >= MESSAGES or size >= BYTES:
            yield Block(messages, last.end, last.number + 1, last.end)
            messages, size = [], 0
    if last is not None:
        yield Block(messages, last.end, last.number + 1, last.end)


def _of_codex(lines: Iterable[_Line], offset: int, number: int) -> Iterator[Block]:
    """A turn of Codex is read again from its start, because its lines don't name it."""
    turn = CodexTurn(begins_at=number)
    starts = {number: offset}

    def read() -> Iterator[tuple[_Line, list[TranscriptMessage]]]:
        for line in lines:
            begins_at = turn.begins_at
            messages = list(codex_messages(_numbered(line), turn))
            if turn.begins_at != begins_at:
                starts.clear()
                starts[turn.begins_at] = line.begin
            yield line, messages

    for block in _in_blocks(read()):
        begins_at = turn.begins_at if turn.id is not None else block.line
        yield Block(block.messages, starts.get(begins_at, block.offset), begins_at, block.end)


def _numbered(line: _Line) -> list[tuple[int, bytes]]:
    return [] if line.text is None else [(line.number, line.text)]


def _of_claude_code(line: _Line, entry_ids: set[str]) -> Iterator[TranscriptMessage]:
    entry = _entry(line)
    if entry is not None and entry.message is not None and not entry.is_sidechain and entry.id in entry_ids:
        entry_ids.remove(entry.id)  # a file may repeat a line
        yield entry.message


def _main_line_ids(lines: Iterable[_Line], file: BinaryIO, offset: int) -> set[str]:
    """The lines of Claude Code that the user did not go back from, which only the whole tree tells."""
    tree = ClaudeTree()
    for line in lines:
        if (entry := _entry(line)) is not None:
            tree.add(entry)
    return tree.main_line_ids(_is_before(file, offset))


def _is_before(file: BinaryIO, offset: int) -> Callable[[str], bool]:
    """Whether the part before an offset has a line of an id. It is looked through from its end, so that the usual
    parent, which is the last line there, is found at once."""
    chunks = LOOKED_BACK // _CHUNK  # of all searches, so that thousands of missing lines cost no more

    @cache
    def is_before(id: str) -> bool:
        nonlocal chunks
        marks = (f'"uuid":"{id}"'.encode(), f'"uuid": "{id}"'.encode())
        end = offset
        while id and end > 0 and chunks > 0:
            begin = max(0, end - _CHUNK)
            file.seek(begin)
            text = file.read(end - begin + max(map(len, marks)))
            if any(mark in text for mark in marks):
                return True
            end, chunks = begin, chunks - 1
        return False

    return is_before


def _entry(line: _Line) -> ClaudeEntry | None:
    try:
        return None if line.text is None else claude_entry(line.text)
    except ValueError:
        return None
