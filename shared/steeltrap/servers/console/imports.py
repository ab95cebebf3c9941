"""Pages of imports: their list, one with what it found in each file and the memories that it brought, and its undo."""

from typing import Any, Final
from urllib.parse import quote

from ...model import JsonObject
from .rendering import Page, PageRequest, number_of, row, url, when

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
        "runs": [_run(request, run) for run in page["imports"]],
        "total": page["total"],
        "more": url("/console/imports", offset=following) if following < page["total"] else "",
    }
    return Page(template="imports.html", values=values)


def import_page(request: PageRequest) -> Page:
    """One import: what became of each file, and the memories that it brought. Raises NotFound."""
    [run] = request.ask("list_imports", id=request.id)["imports"]
    offset = number_of(request.query, "offset")
    answer = request.ask(
        "list", import_id=run["id"], order="happened", limit=_ROWS, offset=offset, include_superseded=True
    )
    following = offset + _ROWS
    values: JsonObject = {
        "run": _run(request, run),
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


def _run(request: PageRequest, run: JsonObject) -> dict[str, Any]:
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
