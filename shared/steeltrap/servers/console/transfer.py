"""Import by dropping a file, the pages of earlier imports with their undo, and export.

Import and export take long, so both answer in parts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from datetime import tzinfo
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ... import telemetry
from ...errors import SteeltrapError, Unavailable
from ...importers import Filing, Flaw, parts, survey
from ...importers.running import Tally, close, recorded, run
from ...invoke import refusal
from ...model import DEFAULT_SCOPE, Caller, JsonObject
from ...ports import Deadline
from ...text.dates import day_text
from ..asgi.admission import Admission
from ..http import FAULT, compact
from .answering import SECURITY, Console, check_origin, refused, respond, timezone_of
from .rendering import Page, PageRequest, number_of, row, url, when
from .uploads import Upload, receive

LINES: Final = "application/x-ndjson"
_BLOCK_SECONDS: Final = 600.0
_IMPORT_SECONDS: Final = 3600.0
_TOLD_EVERY: Final = 0.2
_SHOWN_FLAWS: Final = 100
_SHOWN_FILES: Final = 100
_PAGE: Final = 200


class _Stopped(Exception):
    """Whoever brought the file is gone. What was written stays, and the same import again goes on after it."""


@dataclass(slots=True)
class Progress:
    """How far an import is: `share` of the `stage` from 0 to 1, and at the end what it did."""

    name: str
    deadline: Deadline
    scope: str = DEFAULT_SCOPE
    stage: str = "Reading"
    share: float = 0.0
    stopped: bool = False
    formats: list[str] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    error: str = ""

    def as_values(self) -> dict[str, Any]:
        return {"stage": self.stage, "share": round(self.share, 3), "seen": self.tally.count}

    def check(self) -> None:
        """Raises what ends the import: nobody waits for it, or it has taken too long."""
        if self.stopped:
            raise _Stopped
        if not self.deadline.before():
            raise Unavailable(
                f"The import took longer than {self.deadline.seconds / 60:g} minutes and was stopped. What was written "
                "stays; import the same file again to go on.",
                part="deadline",
            )

    def advance(self, size: float, at: float, _: int) -> None:
        self.check()
        self.share = at / size if size else 1.0

    def report(self, flaw: Flaw) -> None:
        if len(self.flaws) < _SHOWN_FLAWS:
            self.flaws.append(flaw)

    def page(self) -> Page:
        """The page of what was done, or where it ended."""
        tally = self.tally
        result = {
            "name": self.name,
            "formats": self.formats,
            "files": tally.by_file()[:_SHOWN_FILES],
            "more_files": max(0, len(tally.files) - _SHOWN_FILES),
            "found": tally.found,
            "written": tally.written,
            "skipped": tally.skipped,
            "failed": tally.failed,
            "episodes": tally.episodes,
            "left_out": dict(tally.left_out),
            "kept": list(tally.metadata_names),
            "flaws": [asdict(flaw) for flaw in self.flaws],
            "error": self.error,
            "import_id": tally.import_id,
        }
        return Page(template="transfer.html", part="imported.html", values={"result": result})


def transfer_page(request: PageRequest) -> Page:
    return Page(template="transfer.html", values={"result": None})


async def import_(console: Console, admission: Admission, request: Request) -> Response:
    """Import the file of a form. Progress comes in lines of JSON for who asks for them, else a page at the end.

    The user's turn lasts until the thread that imports it has ended, whether or not anybody still waits for it.
    """
    try:
        check_origin(request)
        async with admission.import_turn(request.scope) as turn:
            if (why := refusal(turn.caller.permissions, console.door.catalogue.tool("core.import"))) is not None:
                raise why
            upload = await turn.run(partial(_begin, console, turn.caller))
            try:
                await receive(request, upload)
                deadline = Deadline.after(_IMPORT_SECONDS, console.door.clock)
                progress = Progress(upload.name, deadline, scope=upload.scope)
                async with turn.place() as place:
                    zone = PageRequest(door=console.door, caller=turn.caller, timezone=timezone_of(request)).zone
                    working = place.start(partial(_run, console, turn.caller, upload, progress, zone))
            except BaseException:
                upload.close()
                raise
    except SteeltrapError as error:
        return refused(console, request, error)
    if LINES in request.headers.get("Accept", ""):
        return _ProgressLines(console, working, progress)
    while not working.done() and not progress.stopped:
        await asyncio.wait({working}, timeout=_TOLD_EVERY)
        progress.stopped = await request.is_disconnected()
    return respond(console, request, progress.page(), writes=True)


def _begin(console: Console, caller: Caller) -> Upload:
    """A place for the file of an import, which counts as a call. Raises Throttled over the quota, and Unavailable."""
    if (quota := console.door.call_for(caller, seconds=_BLOCK_SECONDS).quota) is not None:
        quota.count_call()
    return console.uploads.begin()


async def export(console: Console, admission: Admission, request: Request) -> Response:
    """All memories as a file of records, one per line. What fails halfway ends the download as broken."""
    try:
        async with admission.turn(request.scope) as turn:
            page_request = PageRequest(door=console.door, caller=turn.caller, timezone=timezone_of(request))
            page = await turn.run(partial(_export_page, page_request, None))
    except SteeltrapError as error:
        return refused(console, request, error)

    async def lines() -> AsyncIterator[str]:
        text, following = page
        while True:
            yield text
            if following is None:
                return
            async with admission.turn(request.scope) as turn:
                text, following = await turn.run(partial(_export_page, page_request, following))

    name = f"steeltrap-{day_text(page_request.now, page_request.zone)}.jsonl"
    headers = {**SECURITY, "Cache-Control": "no-store", "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines(), headers=headers, media_type=LINES)


def _export_page(request: PageRequest, after: str | None) -> tuple[str, str | None]:
    """The lines of a page, made in its thread, and where the next one begins."""
    page = request.ask("export", limit=_PAGE, after=after)
    return "".join(f"{compact(record)}\n" for record in page["records"]), page.get("next")


class _ProgressLines(StreamingResponse):
    """Lines that say how far an import is, and a last one with what to show. Stops it when the client leaves."""

    def __init__(self, console: Console, working: "asyncio.Future[None]", progress: Progress) -> None:
        super().__init__(_lines(console, working, progress), headers=SECURITY, media_type=LINES)
        self._progress = progress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._progress.stopped = True


async def _lines(console: Console, working: "asyncio.Future[None]", progress: Progress) -> AsyncIterator[str]:
    while not working.done():
        await asyncio.wait({working}, timeout=_TOLD_EVERY)
        yield compact(progress.as_values()) + "\n"
    html = console.rendering.render("imported.html", progress.page().values)
    yield compact({"stage": "Done", "share": 1.0, "seen": progress.tally.count, "html": html}) + "\n"


def _run(console: Console, caller: Caller, upload: Upload, progress: Progress, zone: tzinfo | None) -> None:
    """Import an upload, and remove it. Failures are noted."""
    new_call: Callable[[], Any] = partial(console.door.call_for, caller, seconds=_BLOCK_SECONDS)
    filing = Filing(scope=progress.scope, zone=zone)
    try:
        surveyed = survey(upload.path, filing, going_on=progress.check)
        progress.formats = surveyed.formats
        progress.tally.note_files(surveyed)
        with recorded(new_call, progress.name, surveyed.formats, progress.tally) as call_of_import:
            run(
                call_of_import,
                parts(surveyed, filing),
                tally=progress.tally,
                restore=False,
                report=progress.report,
                advance=partial(progress.advance, surveyed.size),
            )
            progress.stage = "Summarising conversations"
            count = len(progress.tally.conversations)
            close(call_of_import, tally=progress.tally, advance=partial(progress.advance, count))
    except _Stopped:
        pass
    except SteeltrapError as error:
        progress.error = error.message.replace(f"{upload.folder}/", "")
    except Exception as fault:
        telemetry.log_fault("the console's import", fault)
        progress.error = FAULT
    finally:
        upload.close()


_RUNS: Final = 20
"""Imports on a page."""
_ROWS: Final = 25
"""Memories on the page of an import."""


def imports_page(request: PageRequest) -> Page:
    """The imports, the latest first, a page at a time."""
    offset = number_of(request.query, "offset")
    page = request.ask("list_imports", limit=_RUNS, offset=offset)
    following = offset + _RUNS
    values = {
        "runs": [_import_values(request, run) for run in page["imports"]],
        "total": page["total"],
        "more": url("/console/imports", offset=following) if following < page["total"] else "",
    }
    return Page(template="imports.html", values=values)


def import_page(request: PageRequest) -> Page:
    """One import: what became of each file, and the memories that it brought. Raises NotFound."""
    [run] = request.ask("list_imports", id=request.id)["imports"]
    offset = number_of(request.query, "offset")
    answer = request.latest(import_id=run["id"], limit=_ROWS, offset=offset)
    following = offset + _ROWS
    values: JsonObject = {
        "run": _import_values(request, run),
        "files": run.get("files", []),
        "more_files": max(0, run.get("file_count", 0) - len(run.get("files", ()))),
        "rows": [row(memory, request.zone) for memory in answer["memories"]],
        "total": answer["total"],
        "more": url(_path(run), offset=following) if following < answer["total"] else "",
        "grouped": False,
        "chooses": False,
        "words": [],
        "last_day": "",
    }
    return Page(template="import.html", part="rows.html", values=values)


def undo_import_form(request: PageRequest) -> Page:
    """The page that says what an undo takes back, and the button that does it."""
    return Page(template="undo_import.html", values={"id": request.id, "undone": None})


def undo_import(request: PageRequest) -> Page:
    """Take an import back, and show what was left because it was changed since."""
    undone: JsonObject = request.ask("undo_import", id=request.id)
    return Page(template="undo_import.html", values={"id": request.id, "undone": {"more": False, **undone}})


def _import_values(request: PageRequest, run: JsonObject) -> dict[str, Any]:
    ended = run.get("undone_at") or run.get("finished_at")
    return {
        **{"formats": [], "episodes": 0, "kept": 0, "found": 0},
        **run,
        "began": when(run["started_at"], request.zone),
        "ended": when(ended, request.zone) if ended else "",
        "path": _path(run),
    }


def _path(run: JsonObject) -> str:
    return f"/console/imports/{quote(run['id'], safe='')}"
