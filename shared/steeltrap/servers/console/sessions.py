"""Sessions of the console: an API key is given once, then named by a signed cookie that expires.

The cookie names the key's id, and the key is looked up at each request: a revoked key ends its sessions. The cookie
opens the console only, never a tool's own path. A session that was signed out has a note in a folder that all servers
share, so that none of them accepts the cookie again. Who signs in again goes on where the session ended.
"""

import hmac
import logging
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple

from ...errors import IdentityMissing, SteeltrapError, TokenRefused, Unavailable
from ...invoke import Door, refusal
from ...model import Caller, later
from ...ports import SharedFolder
from ..auth.api_keys import ApiKeys
from ..auth.identity import Identity, Scope, one_header
from . import changing
from .rendering import Fields, Page, PageRequest, Redirect, Reply, first, own_path, url

_log = logging.getLogger("steeltrap")

HOURS: Final = 12
_LIFE: Final = timedelta(hours=HOURS)
_CLOCKS_APART: Final = timedelta(hours=1)
"""How much two machines may disagree about the time, at most, and accept each other's sessions."""
_BEFORE: Final = "steeltrap-before"
"""The cookie that outlives the session: what was typed while it ended is taken from its holder alone."""
_BEFORE_SECONDS: Final = 30 * 86400
_SECRET_BYTES: Final = 32
_COOKIE: Final = re.compile(r"([0-9a-f]{12})\.([0-9]{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})")
_ID: Final = re.compile(r"[0-9a-f]{32}")
SECRET: Final = "console.secret"
"""The name of the secret that signs the cookies."""


class SignInNeeded(IdentityMissing):
    """Nobody has signed in, or the session has ended."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions of the holders of API keys; as an identity, whoever has the cookie. `identity` finds everybody else:
    a request that carries its own authentication, as a proxy in front adds it."""

    keys: ApiKeys
    identity: Identity
    secret: bytes = field(repr=False)
    ended: SharedFolder
    """A note for each session that was signed out before its time, under its id: when it would have ended."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def begin(self, key: str) -> str | None:
        """The cookie's value for the holder of a key, None for a key that isn't accepted. Raises Unavailable."""
        api_key = self.keys.find(key)
        if api_key is None:
            return None
        try:
            self.keys.holder(api_key.id, {"headers": ()})
        except TokenRefused:
            return None
        session = _Session(api_key.id, int(later(self.now(), _LIFE).timestamp()), secrets.token_hex(16))
        return f"{session}.{self._signature(session)}"

    def caller(self, scope: Scope) -> Caller | None:
        if one_header(scope, "Authorization") is not None:
            return self.identity.caller(scope)
        cookies = _cookies(scope, _name(True), _name(False))
        for session in self._signed(cookies):
            if not self._has_ended(session):
                with suppress(TokenRefused):
                    return self.keys.holder(session.key, scope)
        raise SignInNeeded("Your session has ended. Sign in again." if cookies else "Sign in to see your memories.")

    def was_known(self, scope: Scope) -> bool:
        """Whether a request has the cookie of a session, which may have ended."""
        return bool(self._signed(_cookies(scope, _name(True), _name(False), _BEFORE)))

    def end(self, scope: Scope) -> None:
        """End the sessions whose cookies a request has, for every server. Raises Unavailable."""
        try:
            for session in self._signed(_cookies(scope, _name(True), _name(False))):
                if not self.ended.create(session.id, str(session.ends).encode()) and not self._has_note(session):
                    raise Unavailable("Another request is at work on it; try again.", part="store")
        except Unavailable as error:
            raise Unavailable(
                f"The session could not be ended, so you are still signed in. {error.message}",
                retryable=error.can_retry,
                part="console",
            ) from None
        try:
            self._forget_old()
        except Unavailable as error:
            _log.warning("notes of sessions that are over stay: %s", error.message)

    def _signed(self, cookies: Iterable[str]) -> list["_Session"]:
        """The sessions of the cookies that were made here, whether or not they have ended."""
        sessions = map(_session, cookies)
        return [
            session
            for session, signature in filter(None, sessions)
            if hmac.compare_digest(signature.encode(), self._signature(session).encode())
        ]

    def _has_ended(self, session: "_Session") -> bool:
        seconds_left = session.ends - self.now().timestamp()
        # One that a machine made whose clock was far ahead would last too long.
        if not 0 < seconds_left <= (_LIFE + _CLOCKS_APART).total_seconds():
            return True
        return self._has_note(session)

    def _has_note(self, session: "_Session") -> bool:
        return self.ended.read(session.id) != [None]

    def _forget_old(self) -> None:
        """Remove the notes of sessions whose time is over by now.

        By the folder's clock, not by this machine's: if that were ahead, sessions would go on that were signed out.
        """
        times = {name: at for name, at in self.ended.write_times().items() if _ID.fullmatch(name)}
        now = max(times.values(), default=datetime.min)
        old = [name for name, at in times.items() if now - at > 2 * _LIFE]
        for name, ends in zip(old, self.ended.read(*old), strict=True):
            if ends is not None and not (ends.isdigit() and int(ends) > now.timestamp()):
                self.ended.remove(name)

    def _signature(self, session: "_Session") -> str:
        return hmac.new(self.secret, f"steeltrap console 2\n{session}".encode(), sha256).hexdigest()


class _Session(NamedTuple):
    """The content of a cookie: the key's id, when it ends, and the session's own id."""

    key: str
    ends: int
    id: str

    def __str__(self) -> str:
        return f"{self.key}.{self.ends}.{self.id}"


def _session(cookie: str) -> tuple[_Session, str] | None:
    """The content of a cookie, and its signature; None for what is none of ours."""
    match = _COOKIE.fullmatch(cookie)
    return (_Session(match[1], int(match[2]), match[3]), match[4]) if match else None


def set_cookies(value: str, *, secure: bool) -> tuple[str, str]:
    """The headers that begin a session in a browser, or end it with an empty value."""
    age = HOURS * 3600 if value else 0
    flags = "; Secure" if secure else ""
    before = _BEFORE_SECONDS if value else 0
    return (
        f"{_name(secure)}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{flags}",
        f"{_BEFORE}={value}; Path=/console; Max-Age={before}; HttpOnly; SameSite=Strict{flags}",
    )


def open_secret(folder: SharedFolder) -> bytes:
    """The secret that signs the cookies: made once, shared by all servers over the folder.

    Raises Unavailable where it can't be read or made.
    """
    [secret] = folder.read(SECRET)
    if secret is None:
        folder.create(SECRET, secrets.token_bytes(_SECRET_BYTES))
        [secret] = folder.read(SECRET)  # another server's, if it was first
    if secret is None:
        raise Unavailable("The console's secret can't be made; try again.", part="console")
    if len(secret) < _SECRET_BYTES:
        raise Unavailable(
            f"The console's secret {folder.place}/{SECRET} is damaged: delete it and start again; everybody then signs "
            "in again.",
            retryable=False,
            part="console",
        )
    return secret


def _cookies(scope: Scope, *names: str) -> list[str]:
    """The values of all cookies of these names: another program on the same host may have set some of them."""
    headers = (bytes(value).decode("latin-1") for name, value in scope["headers"] if bytes(name).lower() == b"cookie")
    pairs = [pair.strip().partition("=") for header in headers for pair in header.split(";")]
    return [value for name, _, value in pairs if name in names and value]


def _name(secure: bool) -> str:
    # A browser accepts a `__Host-` cookie only from this very host over TLS, so that no neighbour can set one.
    return "__Host-steeltrap" if secure else "steeltrap"


_RESUMED: Final = re.compile(r"/console/(?:new|memories/([^/]+)/edit)")
_KEPT: Final = ("content", "tags", "scope", "category", "context", "happened", "expires", "pinned", "version", "once")


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
    fields = {name: form[name] for name in _KEPT if name in form}
    request = PageRequest(door=door, caller=caller, id=resumed[1] or "", form=fields)
    return cookie, changing.edit_form(request) if resumed[1] else changing.new_form(request)


def _again(form: Fields, error: str) -> Page:
    fields = {name: first(form, name) for name in _KEPT if name in form}
    values = {
        "error": error,
        "next": own_path(first(form, "next") or "/"),
        "resume": first(form, "resume"),
        "kept": fields,
    }
    return Page(template="sign_in.html", values=values, status=403)
