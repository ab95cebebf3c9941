"""A command's session with the memories, the lines that it prints, and how it ends.

Knows no library that reads a command line: loading one takes as long as a search. `terminal` has what needs one."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidInput, OverQuota, SteeltrapError, counted

if TYPE_CHECKING:
    from rich.console import Console

    from ..engine.call import Call
    from ..invoke import Door
    from ..model import Caller
    from ..settings import Settings


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    OTHER = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    PARTIAL = 6
    QUOTA = 7
    INTERRUPTED = 130


_CODES: Final = {
    "invalid_input": Exit.USAGE,
    "too_large": Exit.USAGE,
    "identity_missing": Exit.USAGE,
    "not_found": Exit.NOT_FOUND,
    "conflict": Exit.CONFLICT,
    "unavailable": Exit.UNAVAILABLE,
    "throttled": Exit.UNAVAILABLE,
}


def exit_code(error: SteeltrapError) -> Exit:
    return Exit.QUOTA if isinstance(error, OverQuota) else _CODES.get(error.code, Exit.OTHER)


Styled = tuple[str, str]
"""Words and the style that rich prints them in."""


def write_json(value: Any) -> None:
    """One line of JSON on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    sys.stderr.write(printable(as_typed(sentence)) + "\n")


def as_typed(sentence: str) -> str:
    """A sentence whose commands can be typed in this shell: as this one was, where `steeltrap` isn't on the PATH."""
    if "`steeltrap " not in sentence or Path(sys.argv[0]).name != "steeltrap":
        return sentence
    import shlex
    from shutil import which

    return sentence if which("steeltrap") else sentence.replace("`steeltrap ", f"`{shlex.quote(sys.argv[0])} ")


def advise(sentence: str) -> None:
    """A line that says what one may do next."""
    say((as_typed(sentence), "dim"))


def say(*parts: str | Styled, error: bool = False) -> None:
    """A line for people, printed as it is: no markup in it has a meaning, no control sequence gets through."""
    stream = sys.stderr if error else sys.stdout
    styled = [(part, "") if isinstance(part, str) else part for part in parts]
    if not stream.isatty():
        # Nobody sees styles in a pipe, and loading rich would cost a tenth of the time a command may take.
        stream.write("".join(printable(words) for words, _ in styled) + "\n")
        return
    from rich.text import Text

    rich_console(error=error).print(Text.assemble(*((printable(words), style) for words, style in styled)))


@cache
def rich_console(*, error: bool = False) -> "Console":
    """The terminal that stdout, or stderr, is."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, markup=False, emoji=False)


_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)), "�")


def printable(content: str) -> str:
    """Without control characters: a stored escape sequence must not drive the reader's terminal."""
    return content.translate(_CONTROLS)


def beyond(total: int) -> str:
    """The sentence for a page after the last one."""
    return f"There {'is' if total == 1 else 'are'} only {total:,}; use a smaller --offset."


def read_stdin() -> str:
    """The text that is piped in, without the newlines at its end, as a shell's `$(...)` has it. Raises InvalidInput."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput("The text is not valid UTF-8; send it encoded as UTF-8.") from None


READ_SECONDS: Final = 15.0
"""As long as a tool that reads may take (`tools.READ_SECONDS`)."""


@dataclass(frozen=True, slots=True)
class CliSession:
    """A door, who asks through it, and the settings that opened it."""

    door: "Door"
    caller: "Caller"
    settings: "Settings"

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The body that a tool answers; arguments that are None are left out. Raises its SteeltrapError.

        Secrets in what a command saves are replaced, whatever the tool does for programs.
        """
        fields = {name: value for name, value in arguments.items() if value is not None}
        result = self.door.invoke(tool, fields, self.caller, secrets="redact")
        if result.error is not None:
            raise result.error
        outcome = result.outcome
        says_so = tool == "core.search"  # its answer has the outcome
        if outcome is not None and (outcome.kind == "redacted" or (outcome.kind == "offline" and not says_so)):
            complain(outcome.message)
        return result.body

    @property
    def has_folder(self) -> bool:
        """Whether the data folder is there, which the first save makes. A store elsewhere needs none."""
        return self.settings.store_kind != "sqlite" or self.settings.data.exists()

    def nothing_stored(self) -> str:
        """The sentence for an empty store, which names a folder that may have been misspelt."""
        if not self.has_folder:
            return f"Nothing is stored yet: there is no folder {self.settings.data}."
        # Not by their tools, whose models take as long to load as a search.
        from ..engine.reading import list_deleted, statistics

        call = self.call(READ_SECONDS)
        deleted_count, superseded_count = list_deleted(call, limit=1).total, statistics(call)["superseded"]
        stored = "Nothing is stored"
        if superseded_count:
            only = counted(superseded_count, "superseded memory is", "superseded memories are")
            stored = f"Only {only} stored (`steeltrap list --superseded`)"
        if deleted_count:
            deleted = counted(deleted_count, "deleted memory", "deleted memories")
            return f"{stored}; {deleted} can be restored: `steeltrap trash`."
        return f"{stored}." if superseded_count else f"{stored} yet."

    def call(self, seconds: float) -> "Call":
        """A call of the engine's verbs that has this long."""
        return self.door.call_for(self.caller, seconds=seconds)


@contextmanager
def opened(
    *,
    data: Path | None = None,
    user: str | None = None,
    agent: str | None = None,
    conversation: str | None = None,
    timezone: str | None = None,
    embedder: str | None = None,
    as_set: bool = False,
) -> Iterator[CliSession]:
    """A door over the data folder, closed at the end. Raises SteeltrapError.

    It uses this `embedder`, else the one in the settings. If they name none, `as_set` uses the default one, even if
    another one made the folder's vectors.
    """
    from ..model import Caller, UserRef
    from ..runtime import local as runtime
    from ..servers.process.logs import log_to_stderr
    from ..settings import read_settings

    folder = data and data.expanduser()
    settings = read_settings(data=folder, user=user, agent=agent, timezone=timezone, embedder=embedder)
    log_to_stderr(settings.log, format=settings.log_format)
    door = runtime.open_door(settings, embedder=runtime.open_embedder(settings) if as_set else None)
    try:
        yield CliSession(door, Caller(UserRef(settings.user), settings.agent, conversation), settings)
    finally:
        door.store.close()


@contextmanager
def explained() -> Iterator[None]:
    """The one place where a failure becomes a sentence and an exit code. Raises SystemExit."""
    try:
        yield
    except SteeltrapError as error:
        complain(error.message)
        raise SystemExit(exit_code(error)) from None
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "steeltrap"):
            raise  # ours are always there: this is a fault to be seen
        complain(_how_to_install(package))
        raise SystemExit(Exit.UNAVAILABLE) from None
    except BrokenPipeError:
        raise  # whoever read the output has gone
    except OSError as error:
        complain(_told(error))
        raise SystemExit(Exit.OTHER) from None
    except KeyboardInterrupt:
        raise SystemExit(Exit.INTERRUPTED) from None


def _told(error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None and _is_nowhere():
        return "The current folder was removed: change to another one, or give full paths."
    return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."


def _is_nowhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


_EXTRAS: Final = {
    **dict.fromkeys(("boto3", "botocore", "opensearchpy"), "aws"),
    **dict.fromkeys(("onnxruntime", "tokenizers"), "onnx"),
    **dict.fromkeys(("obstore", "backports"), "bucket"),
    **dict.fromkeys(
        ("fastapi", "uvicorn", "httptools", "prometheus_client", "jwt", "jinja2", "markdown_it", "nh3"), "server"
    ),
}


def _how_to_install(package: str) -> str:
    from ..installation import install_line, line_of

    if package == "awslambdaric":
        return f"The package {package} is not installed: run `pip install --group bench` in the project's folder."
    if (extra := _EXTRAS.get(package)) is None:
        return f"The package {package} is not installed: run `{line_of([package])}`."
    return f"This needs the extra `{extra}`, whose package {package} is not installed: run `{install_line(extra)}`."
