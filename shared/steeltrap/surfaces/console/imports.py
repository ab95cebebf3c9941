"""The imports that were made, and the page that takes one back."""

from typing import Any, Final
from urllib.parse import quote

from ...model import JsonObject
from .asked import Asked, Page, first, url
from .rows import when

_RUNS: Final = 20
"""Imports on a page."""


def imports_page(asked: Asked) -> Page:
    """The imports, the latest first, a page at a time."""
    given = first(asked.query, "offset")
    offset = int(given) if given.isascii() and given.isdigit() and len(given) <= 9 else 0
    page = asked.ask("list_imports", limit=_RUNS, offset=offset)
    following = offset + _RUNS
    values = {
        "runs": [_shown(asked, run) for run in page["imports"]],
        "total": page["total"],
        "more": url("/console/imports", offset=following) if following < page["total"] else "",
    }
    return Page(template="imports.html", values=values)


def undo_form(asked: Asked) -> Page:
    """The page that says what an undo takes back, and the button that does it."""
    return Page(template="undo_import.html", values={"id": asked.id, "undone": None})


def undo(asked: Asked) -> Page:
    """Take an import back, and show what was left because it was changed since."""
    undone: JsonObject = asked.ask("undo_import", id=asked.id)
    return Page(template="undo_import.html", values={"id": asked.id, "undone": {"more": False, **undone}})


def _shown(asked: Asked, run: JsonObject) -> dict[str, Any]:
    ended = run.get("undone_at") or run.get("finished_at")
    return {
        **{"formats": [], "episodes": 0, "kept": 0},
        **run,
        "began": when(run["started_at"], asked.zone),
        "ended": when(ended, asked.zone) if ended else "",
        "path": f"/console/imports/{quote(run['id'], safe='')}/undo",
    }
