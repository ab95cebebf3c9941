"""How the console answers: who may change something, pages and their headers, and what a failure looks like."""

from dataclasses import field
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from ...errors import AccessDenied, IdentityMissing, InvalidInput, SteeltrapError
from ...invoke import Door
from ...model import Caller, UserRef
from ...model.frozen import frozen
from ...text.dates import zone_of
from ..asgi.admission import Bodies
from ..auth.identity import one_header
from ..http import STATUS, error_headers
from . import sessions as signing
from .rendering import Fields, Page, Rendering
from .sessions import Sessions, SignInNeeded
from .uploads import Uploads

SECURITY: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PRIVATE: Final = {"Cache-Control": "no-store", "Vary": "HX-Request, Cookie"}
TIMEZONE_COOKIE: Final = "steeltrap-timezone"
_MOST_OF_STRANGERS: Final = 16 * 1024 * 1024
"""Bytes of all forms together of those who have not signed in."""
_MOST_FIELDS: Final = 1200


@frozen
class Console:
    """How the console knows who looks at it: by `sessions`, else as every other caller of the server.

    `public_url` is the address that browsers use, "" if unknown.
    `strangers` reads the forms of those who have not signed in.
    """

    door: Door
    sessions: Sessions | None = None
    public_url: str = ""
    rendering: Rendering = field(default_factory=Rendering)
    strangers: Bodies = field(default_factory=lambda: Bodies(_MOST_OF_STRANGERS))
    uploads: Uploads = field(default_factory=Uploads)

    def is_secure(self, request: Request) -> bool:
        return self.public_url.startswith("https://") or request.url.scheme == "https"


def check_origin(request: Request) -> None:
    """Raises AccessDenied for a change that no page of the console asked for.

    A foreign `Origin` never comes here (`asgi.middleware`); browsers send one with every POST.
    """
    site = one_header(request.scope, "Sec-Fetch-Site") or "same-origin"
    if one_header(request.scope, "Origin") is None or site != "same-origin":
        raise AccessDenied(
            "Only the console's own pages may change something here. Programs call /v1/{toolset}/{tool}."
        )


def fields(encoded: bytes) -> Fields:
    """The fields of a query or a form. Raises InvalidInput."""
    try:
        text = encoded.decode("ascii")
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidInput("The form or the address can't be read: send it URL-encoded, in UTF-8.") from None


def is_fragment(request: Request) -> bool:
    """Whether htmx asks for a part of a page; when it restores a page of the history, it needs all of it."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def timezone_of(request: Request) -> str | None:
    """The zone that the browser is in, as the console's script notes in a cookie; None for none that is known."""
    name = request.cookies.get(TIMEZONE_COOKIE, "")
    return name if name and zone_of(name) is not None else None


def respond(
    console: Console,
    request: Request,
    page: Page,
    *,
    writes: bool = True,
    is_known: bool = True,
    caller: Caller | None = None,
    notice: str = "",
) -> Response:
    """A page, or the part of it that htmx asked for. `caller` is who looks at it, where that is known. `notice` says
    that the page may be old."""
    part = page.part if page.part is not None and is_fragment(request) else page.template
    common = {
        "theme": request.cookies.get("steeltrap-theme", ""),
        "timezone": timezone_of(request) or "",
        "here": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
        "path": request.url.path,
        "writes": writes,
        "known": is_known,
        "who": _user(caller),
        "sessions": console.sessions is not None,
        "notice": notice,
        "degraded": "",
    }
    html = console.rendering.render(part, {**common, **page.values})
    headers = {**SECURITY, **PRIVATE, **page.headers}
    return Response(html, page.status, headers, media_type="text/html")


def _user(caller: Caller | None) -> dict[str, str] | None:
    """The user who looks, and what tells them apart; None for this computer's own."""
    if caller is None or (caller.user == UserRef("local") and not caller.user.tenant):
        return None
    details = {"tenant": caller.user.tenant, "agent": caller.agent_id or ""}
    description = ", ".join(f"{name} {value}" for name, value in details.items() if value)
    return {
        "user": caller.user.user_id,
        "details": f"{description}; read only" if caller.permissions.read_only else description,
    }


def refused(console: Console, request: Request, error: SteeltrapError, form: Fields | None = None) -> Response:
    """The page for a failure; where somebody must sign in first, that page."""
    headers = {name: value for name, value in error_headers(error).items() if name != "WWW-Authenticate"}
    if isinstance(error, SignInNeeded):
        if is_fragment(request):
            return Response(status_code=401, headers={**SECURITY, **PRIVATE, "HX-Redirect": "/console/sign-in"})
        return respond(
            console, request, signing.needed(request.url.path, request.url.query, error, form), is_known=False
        )
    values = {
        "title": error.code.replace("_", " ").capitalize(),
        "message": error.message,
        "proxy": isinstance(error, IdentityMissing),
        "retry": error.can_retry,
        "kept": "\n".join((form or {}).get("content", ())),
    }
    page = Page(
        template="error.html", part="error_part.html", values=values, status=STATUS[error.code], headers=headers
    )
    return respond(console, request, page, is_known=not isinstance(error, IdentityMissing))
