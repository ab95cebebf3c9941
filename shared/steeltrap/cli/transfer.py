"""import and export, and imports: the imports that were made, and taking one back (`import --undo`).

An export is a file that is whole, or not there.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TextIO

import typer

from ..errors import Conflict, InvalidInput, SteeltrapError, Unavailable, counted
from ..local_files import is_full, writing_temporary
from ..model import DEFAULT_SCOPE
from ..text.limits import SHORTEST, start_of
from . import terminal
from .session import CliSession, Exit, advise, beyond, complain, opened, say, write_json
from .showing import Reader, field_line, short
from .terminal import on_memory, progress_bar

if TYPE_CHECKING:
    from ..engine.call import Call
    from ..importers.running import Tally


def _export(call: "Call", path: str, *, turns: bool, replace: bool, advance: Callable[[float, int], None]) -> int:
    """Write every memory as lines of JSON; how many there were. `-` is stdout."""
    from ..engine.exporting import export_all

    count = 0
    with _opened(path, replace=replace) as file:
        for record in export_all(call, turns=turns):
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
            count += "content" in record  # others go on with the history of the one before
            if count % 100 == 0:
                advance(count, count)
    return count


@contextmanager
def _opened(path: str, *, replace: bool) -> Iterator[TextIO]:
    file = Path(path).expanduser()
    if path == "-":
        with _straight(nullcontext(sys.stdout)) as output:
            yield output
    elif os.path.isdir(file):
        raise InvalidInput(f"{file} is a folder: name a file in it, such as {file / 'memories.jsonl'}.")
    elif os.path.exists(file) and not os.path.isfile(file):  # a pipe or a device has nothing that could be replaced
        with _straight(open(file, "w", encoding="utf-8", newline="\n")) as output:
            yield output
    elif os.path.lexists(file) and not replace:
        raise Conflict(f"{file} is there already: name another file, or pass --replace to export in its place.")
    else:
        with _replacing(file) as output:
            yield output


def _is_output(path: str) -> bool:
    """Whether a path is this process's own output, as /dev/stdout is."""
    try:
        return os.path.samestat(os.stat(Path(path).expanduser()), os.fstat(sys.stdout.fileno()))
    except OSError:
        return False


@contextmanager
def _straight(opened: AbstractContextManager[TextIO]) -> Iterator[TextIO]:
    try:
        with opened as output:
            yield output
            output.flush()
    except OSError as error:
        if not is_full(error):
            raise  # whoever read the output has gone
        sentence = "The disk that the output goes to is full: free some space there, or export to another disk."
        raise Unavailable(sentence, part="export") from error


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A file beside `path` that takes its place when all is on disk, and is removed when anything fails."""
    try:
        descriptor, part = mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise _failed(error, path.parent) from error
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise _failed(error, path) from error
    finally:
        Path(part).unlink(missing_ok=True)


def _failed(error: OSError, path: Path) -> SteeltrapError:
    if is_full(error):
        sentence = f"The disk of {path} is full: free some space there, or export to another disk."
        return Unavailable(sentence, part="export")
    return InvalidInput(f"{path} can't be written ({error.strerror}).")


@on_memory("data", "user", "agent", "timezone")
def imports(
    memory: CliSession,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this import alone, file by file.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="How many to list.")] = 20,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="How many later ones to skip.")] = 0,
    as_json: terminal.Json = False,
) -> None:
    """List the imports: when, from which file, and what each wrote.

    The latest comes first. `import --undo ID` takes one back. An unfinished import was stopped or killed; the same
    command again goes on.
    """
    if id is not None:
        _check_import_id(id)
    page = memory.ask("core.list_imports", id=id, limit=limit, offset=offset)
    reader = Reader.of(memory)
    if as_json:
        return write_json(page)
    for run in page["imports"]:
        say(f"{run['id'][:8]}  {reader.time(run['started_at'])}  {run['name']}")
        say((f"          {_run_text(run, reader)}", "dim"))
        if id is not None:
            _say_files(run.get("files", ()), run.get("file_count", 0))
    count = len(page["imports"])
    if not page["total"]:
        complain("Nothing was imported yet." if memory.has_folder else memory.nothing_stored())
    elif not count:
        complain(beyond(page["total"]))
    elif offset + count < page["total"]:
        say((f"{count} of {page['total']:,}. More: --offset {offset + count}", "dim"))
    return None


def undo_import(memory: CliSession, id: str, *, as_json: bool) -> None:
    """Take an import back, in as many calls as it takes, and say what was left. Raises SteeltrapError."""
    _check_import_id(id)
    undone = _undone(memory, id)
    while undone.get("more"):
        try:
            further = _undone(memory, id)
        except (KeyboardInterrupt, SteeltrapError):
            complain(f"Stopped with {undone['removed']:,} erased. Run the same command again to continue.")
            raise
        undone = _both(undone, further)
    if as_json:
        return write_json(undone)
    removed = counted(undone["removed"], "memory or message", "memories and messages")
    say(f"Import {undone['id'][:8]} is undone: {removed} erased.")
    if undone["restored"]:
        restored = counted(undone["restored"], "memory has its", "memories have their")
        say(f"{restored} earlier text again.")
    if undone["left_total"]:
        say(f"Changed since, and left ({undone['left_total']:,}):")
        for item in undone["left"]:
            say(f"  {item['id']}  {short(item['content'])}")
    return None


def _check_import_id(typed: str) -> None:
    """Raises InvalidInput for what no id of an import begins with."""
    if not start_of(typed):
        raise InvalidInput(
            f'"{typed[:64]}" is not the id of an import: give at least its first {SHORTEST} characters, as '
            "`steeltrap imports` shows them."
        )


def _both(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The answers of two calls of one undo as one. The second one may have met what the first left, and counted it."""
    counts = {name: first[name] + second[name] for name in ("removed", "restored")}
    remaining = list({each["id"]: each for each in (*first["left"], *second["left"])}.values())
    return {
        **second,
        **counts,
        "left": remaining,
        "left_total": max(len(remaining), first["left_total"], second["left_total"]),
    }


def _undone(memory: CliSession, id: str) -> dict[str, Any]:
    result = memory.door.invoke("core.undo_import", {"id": id}, memory.caller)
    if result.error is not None:
        raise result.error
    body: dict[str, Any] = result.body
    return body


def _run_text(run: dict[str, Any], reader: Reader) -> str:
    counts = [f"{run['found']:,} found"] if run.get("found") else []
    counts += [f"{run['written']:,} written", f"{run['skipped']:,} already there", f"{run['failed']:,} failed"]
    counts += [f"{run['updated']:,} updated"] if run.get("updated") else []
    counts += [f"{episodes:,} episode{'s' if episodes > 1 else ''}"] if (episodes := run.get("episodes")) else []
    counts += [f"{run['kept']:,} changed since and kept"] if run.get("kept") else []
    state = "" if run["state"] == "complete" else run["state"]
    if "undone_at" in run:
        state = f"undone {reader.time(run['undone_at'])}" + ("" if run.get("kept") else ": nothing of it is left")
    words = [", ".join(run.get("formats", ())), state, ", ".join(counts)]
    return "; ".join(word for word in words if word)


Split = Literal["sections", "bullets", "lines"]

_SHOWN_FLAWS = 200
_PREVIEWED = ("occurred_at", "occurred_until", "expires_at", "scope", "context", "category", "tags", "metadata")
_BLOCK_SECONDS = 600.0
_BLOCK_BYTES = 1024 * 1024
_EXPORT_SECONDS = 24 * 3600.0


def import_(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            parser=terminal.path_typed,
            help="A file, a ZIP archive as downloaded, or a folder; `-` reads stdin.",
        ),
    ] = None,
    undo: Annotated[
        str | None,
        typer.Option("--undo", metavar="ID", help="Take back the import of this id, as `steeltrap imports` shows it."),
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="What the file is, if it isn't recognised.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN",
            help="The column of a table (CSV, or text with tabs) that holds a field: content, occurred_at, tags, "
            "context, category, scope or metadata.NAME. COLUMN is its name in the header, or its number; can be "
            "repeated.",
        ),
    ] = None,
    split: Annotated[
        Split | None,
        typer.Option(
            "--split", help="What becomes one memory of a Markdown file. Default: a section, or a short file."
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            help="The scope to file it under. Default: user/default, and for transcripts from a git repository the "
            "repository's own. An export of steeltrap keeps its own scopes.",
        ),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="A tag for everything imported; can be repeated.")
    ] = None,
    look_around: Annotated[
        bool, typer.Option("--look-around", help="Compute links and surprise for imported memories; slower.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing: show the first five as they would be stored.")
    ] = False,
    yes: terminal.NoQuestion = False,
    as_json: terminal.Json = False,
    data: terminal.Data = None,
    user: terminal.User = None,
    agent: terminal.Agent = None,
    timezone: terminal.Timezone = None,
) -> None:
    """Import what other tools remember: chats, notes, memories, tables.

    Takes exports of ChatGPT and Claude.ai, Claude Code's transcripts, memories of mem0, server-memory and
    mcp-memory-service, Markdown, CSV, text, messages as JSON, and `steeltrap export`. The format is recognised by
    the content. Chats become episodes at once, which recall finds. Re-running is safe: it adds only what is new, also
    after an interruption. What can't be imported is listed by line, and the exit code is 6, with `--dry-run`
    too; nothing else is affected.
    """
    from .. import importers
    from ..importers import running

    if undo is not None and path is not None:
        raise InvalidInput(f"`--undo` takes back an import, and {path} would be another one: give one of them.")
    if undo is not None:
        with opened(data=data, user=user, agent=agent) as memory:
            return undo_import(memory, undo, as_json=as_json)
    if path is None:
        raise InvalidInput("Name the file to import: `steeltrap import PATH`. `--undo ID` takes an import back.")
    if format is not None:
        importers.check_format(format)
    tally = running.Tally()
    listed: list[dict[str, str]] = []
    secrets: set[tuple[str, int]] = set()

    listed_count = 0

    def report(flaw: importers.Flaw) -> None:
        nonlocal listed_count
        if len(listed) < _SHOWN_FLAWS:
            listed_count += flaw.count
            listed.append({"where": flaw.where, "message": flaw.sentence})
            complain(f"{flaw.where}: {flaw.sentence}")

    with (
        _named_or_piped(path) as (source, place),
        opened(data=data, user=user, agent=agent, timezone=timezone) as memory,
    ):
        filing = importers.Filing(
            scope=scope or DEFAULT_SCOPE,
            by_project=scope is None,
            tags=tuple(tag or ()),
            zone=memory.settings.zone,
            columns=importers.checked_columns(columns or ()),
            split=split,
            place=place,
        )
        surveyed = importers.survey(source, filing, format)
        tally.note_files(surveyed)

        if dry_run:
            preview = running.preview(lambda: memory.call(_BLOCK_SECONDS), surveyed, filing)
            return _show_preview(preview, Reader.of(memory), as_json=as_json)

        def new_call() -> "Call":
            call = memory.call(_BLOCK_SECONDS)
            call.redacted = secrets
            return call

        try:
            with running.recorded(new_call, source.name, surveyed.formats, tally) as call_of_import:
                with progress_bar(f"Importing {source.name}", surveyed.size) as advance:
                    running.run(
                        call_of_import,
                        importers.parts(surveyed, filing),
                        tally=tally,
                        look_around=look_around,
                        report=report,
                        advance=advance,
                    )
                with progress_bar("Summarising conversations", len(tally.conversations)) as advance:
                    running.close(call_of_import, tally=tally, advance=advance)
        except (KeyboardInterrupt, SteeltrapError):
            if tally.count:
                complain(f"Stopped with {tally.written:,} written. Run the same command again to continue.")
            raise
    if tally.failed > listed_count:
        complain(f"... and {tally.failed - listed_count:,} more that could not be imported.")
    if as_json:
        write_json(_as_json(tally, surveyed.formats, listed, secrets))
    else:
        _tell(tally, secrets)
    if tally.failed:
        raise typer.Exit(Exit.PARTIAL)
    return None


@contextmanager
def _named_or_piped(path: Path) -> Iterator[tuple[Path, str]]:
    """The path to import, and what stands for its place: of stdin, a copy that is removed, and its digest.

    Formats need a file: an archive's directory is at its end, and most are read twice.
    """
    if str(path) != "-":
        yield path.expanduser(), ""
        return
    with writing_temporary():
        folder = TemporaryDirectory(prefix="steeltrap-")  # only its owner can enter it
    with folder as name:
        copy, digest = Path(name) / "stdin", sha256()
        with writing_temporary(), copy.open("wb") as file:
            while block := sys.stdin.buffer.read(_BLOCK_BYTES):
                digest.update(block)
                file.write(block)
        yield copy, f"stdin {digest.hexdigest()}"


def _show_preview(preview: Mapping[str, Any], reader: Reader, *, as_json: bool) -> None:
    if as_json:
        write_json(preview)
    else:
        _say_preview(preview, reader)
    if preview["failed"]:
        raise typer.Exit(Exit.PARTIAL)


def _say_preview(preview: Mapping[str, Any], reader: Reader) -> None:
    """Print what an import would write, and what it would leave out."""
    counts = f"{preview['written']:,} would be written, {preview['skipped']:,} already there"
    say(f"{preview['found']:,} found: {counts}, {preview['failed']:,} can't be. Nothing was written.")
    for item in preview["first"]:
        whole = item["content"] if "content" in item else " / ".join(item["begins"])
        say(short(whole))
        about = [item["where"], *(counted(item["messages"], "message", "messages") for _ in item.get("begins", ())[:1])]
        about += [field_line(name, item[name], reader) for name in _PREVIEWED if item.get(name)]
        say((f"      {'  '.join(about)}", "dim"))
    if (more := preview["items"] - len(preview["first"])) > 0:
        say((f"... and {more:,} more like these.", "dim"))
    if preview["kept_as_metadata"]:
        say((f"Kept as metadata: {', '.join(preview['kept_as_metadata'])}.", "dim"))
    _say_files(preview["files"], preview["file_count"], written_label="would be written")
    for flaw in preview["errors"]:
        complain(f"{flaw['where']}: {flaw['message']}")
    if (more := preview["failed"] - len(preview["errors"])) > 0:
        complain(f"... and {more:,} more that could not be imported.")


_ONE_FILE: Final = {"files of other formats": "a format that import doesn't take", "symbolic links": "a symbolic link"}
"""The words for a whole file that is left out."""
_FILES: Final = 40
"""Files of a summary that a terminal shows, those with something to say first."""


def _say_files(files: Sequence[Mapping[str, Any]], total: int, *, written_label: str = "written") -> None:
    """Print a line per file: its name, what it is, and what became of what was found in it."""
    listed = list(files)
    if len(listed) > _FILES:
        listed = sorted(files, key=lambda file: not (file["failed"] or file.get("left_out")))[:_FILES]
    width = min(32, max((len(file["name"]) for file in listed), default=0))
    for file in listed:
        say((f"  {file['name']:{width}}  {_of_file(file, written_label)}", "dim"))
    if total > len(listed):
        say((f"  ... and {counted(total - len(listed), 'more file', 'more files')}.", "dim"))


def _of_file(file: Mapping[str, Any], written_label: str) -> str:
    left_out = file.get("left_out", {})
    if not file["found"] and left_out and "format" not in file:
        return f"left out: {', '.join(_ONE_FILE.get(kind, kind) for kind in left_out)}"
    if not file["found"] and file["failed"]:
        return "can't be imported"
    counts = [(file["found"], "found"), (file["written"], written_label), (file["skipped"], "already there")]
    counts.append((file["failed"], "failed"))
    parts = [f"{count:,} {kind}" for count, kind in counts if count]
    parts += [f"{kind} left out: {count:,}" for kind, count in left_out.items()]
    sentence = ", ".join(parts) or "nothing found"
    return ": ".join(filter(None, (file.get("format", ""), sentence)))


def _as_json(
    tally: "Tally", formats: list[str], listed: list[dict[str, str]], secrets: set[tuple[str, int]]
) -> dict[str, Any]:
    return {
        "import": tally.import_id,
        "formats": formats,
        "found": tally.found,
        "written": tally.written,
        "skipped": tally.skipped,
        "failed": tally.failed,
        "episodes": tally.episodes,
        "left_out": dict(sorted(tally.left_out.items())),
        "files": tally.by_file(),
        "kept_as_metadata": list(tally.metadata_names),
        "secrets": dict(sorted(Counter(kind for kind, _ in secrets).items())),
        "errors": listed,
    }


def _tell(tally: "Tally", secrets: set[tuple[str, int]]) -> None:
    from ..engine.secrets import redaction_notice

    counts = f"{tally.written:,} written, {tally.skipped:,} already there, {tally.failed:,} failed"
    say(f"{tally.found:,} found: {counts}.")
    _say_files(tally.by_file(), len(tally.files))
    if tally.episodes:
        say(f"Episodes made: {tally.episodes:,}. recall finds them; recall --turns finds single messages too.")
    if replaced := redaction_notice(secrets):
        say(replaced)
    if tally.metadata_names:
        say((f"Kept as metadata: {', '.join(tally.metadata_names)}.", "dim"))
    if tally.written:
        advise(f"To take it back: `steeltrap import --undo {tally.import_id[:8]}`.")


@on_memory("data", "user", "agent")
def export(
    memory: CliSession,
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file to write, one record per line; `-` is stdout.")],
    turns: Annotated[bool, typer.Option("--turns/--no-turns", help="Include conversation turns.")] = True,
    replace: Annotated[bool, typer.Option("--replace", help="Export in place of a file that is there.")] = False,
) -> None:
    """Export all memories, with their history, to a file.

    `import` restores each of them as it was. Left out are the trash, how often a memory was read, reviews, and sessions
    without memories: `backup` has all. A file that is there already is kept, unless `--replace` is given.
    """
    from ..engine.exporting import count

    call = memory.call(_EXPORT_SECONDS)
    path = "-" if _is_output(path) else path
    with progress_bar("Exporting", count(call, turns=turns)) as advance:
        memories = _export(call, path, turns=turns, replace=replace, advance=advance)
    if not memory.has_folder:
        complain(memory.nothing_stored())
    if path != "-":
        say(f"{counted(memories, 'memory is', 'memories are')} in {path}.")
