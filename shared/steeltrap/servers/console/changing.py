"""Pages that change memories: write, edit, pin, delete, restore, undo, and forget.

Every change but undo names what it wants and may come twice: a double click does it once. A form that was opened
before somebody else's change never overwrites that: it shows both texts.

Several memories are deleted, tagged, moved or merged at once, with one undo for all of it. Each is changed on its own,
if it is still what the page showed. What changed meanwhile is left and counted. The page of what was done carries the
new versions, so that its undo takes back this and nothing later.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from secrets import token_urlsafe
from typing import Any, Final, NamedTuple

from ...errors import InvalidInput, NotFound, SteeltrapError, Throttled, Unavailable
from ...model import JsonObject
from ...record import moves_past_end
from ...text.limits import check_scope
from ...text.matching import fold_tag
from .reading import difference
from .rendering import (
    Page,
    PageRequest,
    Redirect,
    Reply,
    day_of,
    end_of_day,
    first,
    memory_url,
    own_path,
    row,
    url,
    when,
)

_TEXTS: Final = ("content", "tags", "scope", "category", "context")
_DAYS: Final = ("happened", "expires")
_EMPTIED: Final = {
    "happened": "occurred_at",
    "expires": "expires_at",
    "category": "category",
    "context": "context",
}
"""The fields that have no value any more where the form's are empty."""
MOST: Final = 500
"""Memories that are changed at once."""
_MOST_MERGED: Final = 50
_CHANGED: Final = "changed since the page was opened"


def new_form(request: PageRequest) -> Page:
    values = {"kept": _form(request), "once": token_urlsafe(16), "error": "", "id": "", "version": 1}
    return Page(template="edit.html", values=values)


def create(request: PageRequest) -> Reply:
    """Save what the form says; the same form twice is one memory."""
    form = {name: value for name, value in _fields(request).items() if value not in ("", [], False)}
    try:
        answer = request.ask("save", once=first(request.form, "once") or None, **_arguments(request, form))
    except SteeltrapError as error:
        if not error.fixable:
            raise
        values = {**new_form(request).values, "error": error.message}
        return Page(template="edit.html", values=values, status=400)
    return Redirect(url(memory_url(answer["id"]), said="saved"))


def edit_form(request: PageRequest) -> Page:
    """The form with what is stored, or with what somebody typed before they had to sign in again."""
    memory = request.ask("get", id=request.id)
    form = _form(request) if request.form else _stored(request, memory)
    version = _version(request) or memory["version"]
    values = {"kept": form, "id": memory["id"], "version": version, "error": "", "once": ""}
    return Page(template="edit.html", values=values)


def edit(request: PageRequest) -> Reply:
    """Write what differs from what is stored, if nobody else changed the memory since the form was opened."""
    version = _version(request)
    if version is None:
        raise InvalidInput("The form has no version; open the memory again.")
    memory = request.ask("get", id=request.id)
    fields = _fields(request)
    current_fields = _comparable(request, memory)
    changes = {name: value for name, value in fields.items() if value != current_fields[name]}
    if not changes:
        return Redirect(url(memory_url(memory["id"]), said="saved"))
    if memory["version"] != version:
        return _both_texts(request, memory)
    without_end = _is_past_end(memory, changes.get("happened"))
    try:
        arguments = _arguments(request, changes)
        if without_end:
            # The form has no field for another end: the whole event moves.
            arguments["clear"] = [*arguments.get("clear", ()), "occurred_until"]
        request.ask("update", id=memory["id"], version=version, **arguments)
    except SteeltrapError as error:
        if error.code == "conflict":
            return _both_texts(request, request.ask("get", id=request.id))
        if not error.fixable or error.code == "not_found":
            raise
        values = {"kept": _form(request), "id": memory["id"], "version": version, "error": error.message, "once": ""}
        return Page(template="edit.html", values=values, status=400)
    return Redirect(url(memory_url(memory["id"]), said="saved-without-end" if without_end else "saved"))


def _is_past_end(memory: JsonObject, happened: str | None) -> bool:
    """Whether a new time lies after the stored end. What is no time is refused by the update."""
    try:
        return moves_past_end(memory, happened)
    except ValueError:
        return False


def pin(request: PageRequest) -> Reply:
    """Pin or unpin, as the form wants it."""
    request.ask("update", id=request.id, pinned=first(request.form, "pinned") == "true")
    return Redirect(_back(request, memory_url(request.id)))


def delete(request: PageRequest) -> Reply:
    """Put a memory in the trash, if it is still what the page showed."""
    memory = request.find("get", id=request.id)
    if memory is None:
        request.ask("history", id=request.id, limit=1)  # NotFound where it isn't in the trash either
        return _deleted(request)
    try:
        request.ask("delete", id=request.id, version=_version(request))
    except SteeltrapError as error:
        if error.code != "conflict":
            raise
        return Redirect(url(memory_url(request.id), said="changed-meanwhile"))
    return _deleted(request)


def restore(request: PageRequest) -> Reply:
    """Take a memory out of the trash; one that is out already stays as it is."""
    if request.find("get", id=request.id) is None:
        _undo(request, _version(request))
    return Redirect(url(memory_url(request.id), said="restored"))


def undo(request: PageRequest) -> Reply:
    """Undo the last change, of the version that the page showed: a second click doesn't go back one more."""
    is_undone = _undo(request, _version(request))
    return Redirect(url(memory_url(request.id), said="undone" if is_undone else "changed-meanwhile"))


def forget_form(request: PageRequest) -> Page:
    memory = request.find("get", id=request.id)
    if memory is None:
        memory = request.ask("history", id=request.id, limit=1000)["revisions"][-1]["memory"]
    return Page(template="forget.html", values={"memory": memory})


def forget(request: PageRequest) -> Reply:
    """Erase a memory for good, and show the receipt."""
    receipt = request.ask("forget", id=request.id)
    values = {"receipt": receipt, "time": when(receipt["forgotten_at"], request.zone)}
    return Page(template="receipt.html", values=values)


def _undo(request: PageRequest, version: int | None) -> bool:
    try:
        request.ask("undo", id=request.id, version=version)
    except SteeltrapError as error:
        if error.code != "conflict" or "version" not in error.details:
            raise
        return False
    return True


def _both_texts(request: PageRequest, memory: JsonObject) -> Page:
    """The text that is stored by now, that of the form, and a form that may overwrite it knowingly."""
    form = _form(request)
    values = {
        "memory": memory,
        "kept": form,
        "id": memory["id"],
        "version": memory["version"],
        "error": "",
        "once": "",
        "by": memory.get("updated_by") or memory.get("agent_id") or "",
        "time": when(memory["updated_at"], request.zone),
        "pieces": difference(memory["content"], form["content"]),
    }
    return Page(template="conflict.html", values=values, status=409)


def _fields(request: PageRequest) -> dict[str, Any]:
    form = _form(request)
    tags = [tag for part in form.pop("tags").split(",") if (tag := part.strip())]
    return {**form, "tags": tags, "pinned": form["pinned"] == "true"}


def _form(request: PageRequest) -> dict[str, str]:
    """The text of the form, with line ends as they are stored: a browser sends others."""
    return {name: first(request.form, name).replace("\r\n", "\n") for name in (*_TEXTS, *_DAYS, "pinned")}


def _stored(request: PageRequest, memory: JsonObject) -> dict[str, str]:
    values = {name: memory.get(name) or "" for name in _TEXTS}
    days = {"happened": memory.get("occurred_at"), "expires": memory.get("expires_at")}
    return {
        **values,
        "tags": ", ".join(memory.get("tags", ())),
        **{name: day_of(at, request.zone) if at else "" for name, at in days.items()},
        "pinned": "true" if memory.get("pinned") else "",
    }


def _comparable(request: PageRequest, memory: JsonObject) -> dict[str, Any]:
    """The stored text as a form that changes nothing sends it."""
    values = {name: value.replace("\r\n", "\n") for name, value in _stored(request, memory).items()}
    return {**values, "tags": memory.get("tags", []), "pinned": bool(memory.get("pinned"))}


def _arguments(request: PageRequest, fields: dict[str, Any]) -> dict[str, Any]:
    """The arguments of save and update for what a form says. Raises InvalidInput."""
    arguments = {name: value for name, value in fields.items() if name not in _DAYS}
    empty = [field for name, field in _EMPTIED.items() if fields.get(name) == ""]
    if "occurred_at" in empty:
        empty.append("occurred_until")
    if empty:
        arguments = {name: value for name, value in arguments.items() if name not in empty} | {"clear": empty}
    if happened := fields.get("happened"):
        arguments["occurred_at"] = happened
    if expires := fields.get("expires"):
        lifetime = end_of_day(request, expires) - request.now
        if lifetime <= timedelta(0):
            raise InvalidInput("A memory can't expire on a day that is over; choose today or a later day.")
        arguments["ttl_seconds"] = int(lifetime.total_seconds())
    return arguments


def _version(request: PageRequest) -> int | None:
    version = first(request.form, "version")
    return int(version) if version.isascii() and version.isdigit() and len(version) <= 9 else None


def _deleted(request: PageRequest) -> Redirect:
    return Redirect(url("/", said="deleted", about=request.id))


def _back(request: PageRequest, usually: str) -> str:
    back = first(request.form, "back")
    return own_path(back) if back else usually


class Choice(NamedTuple):
    """A memory as the page showed it."""

    id: str
    version: int


def choose(request: PageRequest) -> Reply:
    """Do with the chosen memories what the button says, or ask what is missing for it."""
    choices = _choices(request)
    match first(request.form, "do"):
        case "delete":
            return _change_each(request, "deleted", choices, _delete_one)
        case "tag" | "move" as action:
            return Page(
                template="choose.html", values={"what": action, "chosen": choices, **_tags_of(request, choices)}
            )
        case "tag-now":
            additions, removals = (_names(first(request.form, name)) for name in ("add", "remove"))
            if not additions and not removals:
                raise InvalidInput("Name a tag to add or to take away.")
            return _change_each(
                request, "tagged", choices, lambda ask, choice: _tag_one(ask, choice, additions, removals)
            )
        case "move-now":
            scope = check_scope(first(request.form, "scope").strip())
            return _change_each(
                request, "moved", choices, lambda ask, choice: _move_one(ask, choice, scope), scope=scope
            )
        case "merge":
            if not 2 <= len(choices) <= _MOST_MERGED:
                raise InvalidInput(f"Choose 2 to {_MOST_MERGED} memories to merge; {len(choices)} are chosen.")
            return Redirect(url("/console/merge", id=[choice.id for choice in choices]))
        case "undo":
            return _change_each(request, "undone", choices, _undo_one)
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


def _delete_one(ask: Callable[..., Any], choice: Choice) -> int:
    ask("delete", id=choice.id, version=choice.version)
    return choice.version + 1


def _tag_one(ask: Callable[..., Any], choice: Choice, additions: Iterable[str], removals: Iterable[str]) -> int | None:
    tags = ask("get", id=choice.id).get("tags", [])
    without = {fold_tag(tag) for tag in removals}
    remaining = [tag for tag in tags if fold_tag(tag) not in without]
    folded = {fold_tag(tag) for tag in remaining}
    new_tags = [*remaining, *(tag for tag in additions if fold_tag(tag) not in folded)]
    if new_tags == tags:
        return None
    return int(ask("update", id=choice.id, version=choice.version, tags=new_tags)["version"])


def _move_one(ask: Callable[..., Any], choice: Choice, scope: str) -> int | None:
    if ask("get", id=choice.id)["scope"] == scope:
        return None
    return int(ask("update", id=choice.id, version=choice.version, scope=scope)["version"])


def _undo_one(ask: Callable[..., Any], choice: Choice) -> int:
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
