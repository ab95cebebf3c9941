"""Signing in with an API key, and going on where a session ended."""

import re
from typing import Final

from ...errors import SteeltrapError
from ...invoke import Door, refusal
from . import changing
from .asked import Asked, Fields, Page, Redirect, Reply, first, own_path, url
from .sessions import Sessions

_RESUMED: Final = re.compile(r"/console/(?:new|memories/([^/]+)/edit)")
_KEPT: Final = ("content", "tags", "scope", "category", "context", "version", "once")


def resumes(path: str) -> bool:
    """Whether a form of this path is gone on with after signing in."""
    return _RESUMED.fullmatch(path) is not None


def page(query: Fields, error: str = "", status: int = 200) -> Page:
    """The form. `next` is where to go on."""
    values = {"error": error, "next": own_path(first(query, "next") or "/"), "resume": "", "kept": {}}
    return Page(template="sign_in.html", values=values, status=status)


def needed(path: str, query: str, error: SteeltrapError, form: Fields | None) -> Page:
    """The form in place of a page that only somebody known may see. What was typed into a form is kept in it."""
    resume = path if form and resumes(path) else ""
    values = {
        "error": error.message,
        "next": "/" if form else own_path(url(path) + (f"?{query}" if query else "")),
        "resume": resume,
        "kept": {name: first(form, name) for name in _KEPT} if form and resume else {},
    }
    return Page(template="sign_in.html", values=values, status=401)


def sign_in(door: Door, sessions: Sessions, form: Fields) -> tuple[str | None, Reply]:
    """The cookie for the holder of the key in a form, and what they see next."""
    cookie = sessions.begin(first(form, "key").strip())
    if cookie is None:
        return None, _again(form, "This API key is unknown, expired or revoked.")
    caller = sessions.caller({"headers": [(b"cookie", f"steeltrap={cookie}".encode())]})
    assert caller is not None
    if (why := refusal(caller.permissions, door.catalogue.tool("core.list"))) is not None:
        return None, _again(form, why.message)
    resumed = _RESUMED.fullmatch(first(form, "resume"))
    if resumed is None:
        return cookie, Redirect(own_path(first(form, "next") or "/"))
    kept = {name: form[name] for name in _KEPT if name in form}
    asked = Asked(door=door, caller=caller, id=resumed[1] or "", form=kept)
    return cookie, changing.edit_form(asked) if resumed[1] else changing.new_form(asked)


def _again(form: Fields, error: str) -> Page:
    kept = {name: first(form, name) for name in _KEPT if name in form}
    values = {
        "error": error,
        "next": own_path(first(form, "next") or "/"),
        "resume": first(form, "resume"),
        "kept": kept,
    }
    return Page(template="sign_in.html", values=values, status=403)
