"""Changes to several memories at once: delete, tag, move, merge, and one undo for all of it.

Each memory is changed on its own, if it is still what the page showed. What changed meanwhile is left and counted. The
page of what was done carries the new versions, so that its undo takes back this and nothing later.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from secrets import token_urlsafe
from typing import Any, Final, NamedTuple

from ...errors import InvalidInput, NotFound, SteeltrapError, Throttled, Unavailable
from ...model import JsonObject
from ...text.limits import check_scope
from ...text.matching import fold_tag
from .rendering import Page, PageRequest, Redirect, Reply, first, memory_url, row, url

MOST: Final = 500
"""Memories that are changed at once."""
_MOST_MERGED: Final = 50
_CHANGED: Final = "changed since the page was opened"


class Choice(NamedTuple):
    """A memory as the page showed it."""

    id: str
    version: int


def choose(request: PageRequest) -> Reply:
    """Do with the chosen memories what the button says, or ask what is missing for it."""
    choices = _choices(request)
    match first(request.form, "do"):
        case "delete":
            return _change_each(request, "deleted", choices, _delete)
        case "tag" | "move" as action:
            return Page(
                template="choose.html", values={"what": action, "chosen": choices, **_tags_of(request, choices)}
            )
        case "tag-now":
            additions, removals = (_names(first(request.form, name)) for name in ("add", "remove"))
            if not additions and not removals:
                raise InvalidInput("Name a tag to add or to take away.")
            return _change_each(request, "tagged", choices, lambda ask, choice: _tag(ask, choice, additions, removals))
        case "move-now":
            scope = check_scope(first(request.form, "scope").strip())
            return _change_each(request, "moved", choices, lambda ask, choice: _move(ask, choice, scope), scope=scope)
        case "merge":
            if not 2 <= len(choices) <= _MOST_MERGED:
                raise InvalidInput(f"Choose 2 to {_MOST_MERGED} memories to merge; {len(choices)} are chosen.")
            return Redirect(url("/console/merge", id=[choice.id for choice in choices]))
        case "undo":
            return _change_each(request, "undone", choices, _undo)
    raise InvalidInput("Say what to do with the chosen memories: delete, tag, move or merge.")


def merge_form(request: PageRequest) -> Page:
    """The memories that were chosen and the text that they would become, to be looked at before they are merged."""
    ids = list(dict.fromkeys(request.query.get("id", ())))[:_MOST_MERGED]
    if len(ids) < 2:
        raise InvalidInput("Choose at least two memories to merge.")
    rows = [row(request.ask("get", id=id), request.zone) for id in ids]
    merged = request.ask("consolidate", ids=ids, dry_run=True)
    return Page(template="merge.html", values={"rows": rows, "merged": merged, "once": token_urlsafe(16)})


def merge(request: PageRequest) -> Reply:
    """Merge them; the same form twice makes one memory."""
    merged = request.ask(
        "consolidate",
        once=first(request.form, "once") or None,
        ids=request.form.get("id", []),
        preserve_originals=first(request.form, "originals") == "keep",
    )
    return Redirect(url(memory_url(merged["id"]), said="merged"))


def _choices(request: PageRequest) -> list[Choice]:
    choices: dict[str, Choice] = {}
    for value in request.form.get("chosen", ()):
        id, _, version = value.rpartition(":")
        if not id or not (version.isascii() and version.isdigit() and len(version) <= 9):
            raise InvalidInput("The form can't be read; open the list again.")
        choices[id] = Choice(id, int(version))
    if not choices:
        raise InvalidInput("Choose at least one memory.")
    if len(choices) > MOST:
        raise InvalidInput(f"At most {MOST} memories are changed at once; {len(choices)} are chosen.")
    return list(choices.values())


def _change_each(
    request: PageRequest,
    action: str,
    choices: list[Choice],
    change: Callable[[Callable[..., Any], Choice], int | None],
    **more: str,
) -> Page:
    """The page of what was done. A change answers the new version, None where nothing was to be done."""
    results: list[Choice] = []
    reasons: Counter[str] = Counter()
    unchanged = 0
    for number, choice in enumerate(choices):
        try:
            version = change(request.ask, choice)
        except SteeltrapError as error:
            if isinstance(error, Throttled | Unavailable):
                reasons[error.message] += len(choices) - number
                break
            reasons[_CHANGED if error.code in ("conflict", NotFound.code) else error.message] += 1
            continue
        unchanged += version is None
        results += [] if version is None else [Choice(choice.id, version)]
    values: JsonObject = {"what": action, "changed": results, "same": unchanged, "left": reasons.most_common()}
    return Page(template="chosen.html", values={"scope": "", **values, **more})


def _delete(ask: Callable[..., Any], choice: Choice) -> int:
    ask("delete", id=choice.id, version=choice.version)
    return choice.version + 1


def _tag(ask: Callable[..., Any], choice: Choice, additions: Iterable[str], removals: Iterable[str]) -> int | None:
    tags = ask("get", id=choice.id).get("tags", [])
    without = {fold_tag(tag) for tag in removals}
    remaining = [tag for tag in tags if fold_tag(tag) not in without]
    folded = {fold_tag(tag) for tag in remaining}
    new_tags = [*remaining, *(tag for tag in additions if fold_tag(tag) not in folded)]
    if new_tags == tags:
        return None
    return int(ask("update", id=choice.id, version=choice.version, tags=new_tags)["version"])


def _move(ask: Callable[..., Any], choice: Choice, scope: str) -> int | None:
    if ask("get", id=choice.id)["scope"] == scope:
        return None
    return int(ask("update", id=choice.id, version=choice.version, scope=scope)["version"])


def _undo(ask: Callable[..., Any], choice: Choice) -> int:
    return int(ask("undo", id=choice.id, version=choice.version)["version"])


def _names(text: str) -> list[str]:
    """The tags of a field, each once."""
    return list({fold_tag(tag): tag for part in text.split(",") if (tag := part.strip())}.values())


def _tags_of(request: PageRequest, choices: Iterable[Choice]) -> JsonObject:
    """The tags that some of the memories have, most frequent first, and the scopes that there are."""
    counts: Counter[str] = Counter()
    for choice in choices:
        memory = request.find("get", id=choice.id) or {}
        counts.update(memory.get("tags", ()))
    scopes = [scope_row["scope"] for scope_row in request.ask("list_scopes")["scopes"]]
    return {"tags": [tag for tag, _ in counts.most_common(20)], "scopes": scopes[:200]}
