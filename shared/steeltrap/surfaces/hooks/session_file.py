"""A session as hooks know it from one event to the next: a file of lines in the data folder, only ever added to.

Losing it doubles nothing that is stored, since messages have ids: more is read again, and offered again. A line that
was not written to its end is passed over.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ...project import project_of
from ...regular_files import append_line, read_regular
from .clients import Asked
from .log import FOLDER

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


def of(data: Path, asked: Asked) -> Session:
    """The session of an event, which goes on by it, or begins: in the project of the folder that it begins in."""
    name = sha256(json.dumps([asked.client, asked.session]).encode()).hexdigest()[:32]
    session = _read(data / FOLDER / f"{name}.jsonl")
    if not session.id:
        project = project_of(asked.folder)
        scope, shown = (NO_PROJECT, None) if project is None else project
        session.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        session.note(id=asked.session, client=asked.client, scope=scope, project=shown)
    if asked.transcript is not None and str(asked.transcript) != session.transcript:
        session.note(transcript=str(asked.transcript), offset=0, line=0)
    if session.ended:
        session.note(ended=False)
    return session


def others(data: Path, than: Session, limit: int) -> list[Session]:
    """The sessions of the same project that did not end, the latest first, without those that were tried in vain. Old
    files are removed."""
    found: list[Session] = []
    for path in _files(data / FOLDER):
        if len(found) == limit:
            break
        try:
            session = _read(path)
        except OSError:
            continue  # no file of ours
        is_open = session.id and session.scope == than.scope and not session.ended and session.tries < _TRIES
        if path != than.path and is_open:
            found.append(session)
    return found


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
