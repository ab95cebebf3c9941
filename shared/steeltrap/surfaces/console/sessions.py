"""Who looks at the console with an API key: shown once, then named by a signed cookie that expires.

The cookie names the key's id, and the key is read again at each request: a revoked key ends its sessions at once. The
cookie opens the console only, never a tool's own path.
"""

import hmac
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from ...errors import IdentityMissing, TokenRefused, Unavailable
from ...model import Caller
from ..auth.api_keys import ApiKeys
from ..auth.identity import Identity, Scope, one_header

HOURS: Final = 12
_LIFE: Final = timedelta(hours=HOURS)
_SECRET_BYTES: Final = 32


class SignInNeeded(IdentityMissing):
    """Nobody has signed in, or the session has ended."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions of the holders of API keys; as an identity, whoever has the cookie. `identity` finds everybody else:
    a request that carries its own authentication, as a proxy in front adds it."""

    keys: ApiKeys
    identity: Identity
    secret: bytes = field(repr=False)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def begin(self, key: str) -> str | None:
        """The cookie's value for the holder of a key, None for a key that isn't accepted. Raises Unavailable."""
        found = self.keys.find(key)
        if found is None:
            return None
        try:
            self.keys.holder(found.id, {"headers": ()})
        except TokenRefused:
            return None
        ends = int((self.now() + _LIFE).timestamp())
        return f"{found.id}.{ends}.{self._signature(found.id, ends)}"

    def caller(self, scope: Scope) -> Caller | None:
        if one_header(scope, "Authorization") is not None:
            return self.identity.caller(scope)
        cookie = _cookie(scope)
        if cookie is None:
            raise SignInNeeded("Sign in to see your memories.")
        try:
            return self.keys.holder(self._key_id(cookie), scope)
        except TokenRefused:
            raise SignInNeeded("Your session has ended. Sign in again.") from None

    def _key_id(self, cookie: str) -> str:
        id, _, rest = cookie.partition(".")
        ends, _, signature = rest.partition(".")
        if not (ends.isascii() and ends.isdigit() and len(ends) <= 12):
            raise TokenRefused("no cookie of ours", reason="invalid_token")
        expected = self._signature(id, int(ends))
        if not hmac.compare_digest(signature.encode(), expected.encode()) or int(ends) <= self.now().timestamp():
            raise TokenRefused("forged or expired", reason="invalid_token")
        return id

    def _signature(self, id: str, ends: int) -> str:
        return hmac.new(self.secret, f"steeltrap console 1\n{id}\n{ends}".encode(), sha256).hexdigest()


def set_cookie(value: str, *, secure: bool) -> str:
    """The header that begins a session in a browser, or ends it with an empty value."""
    age = HOURS * 3600 if value else 0
    flags = "; Secure" if secure else ""
    return f"{_name(secure)}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{flags}"


def open_secret(folder: Path) -> bytes:
    """What signs the cookies: made once, for the owner alone, shared by all processes over the folder.

    Raises Unavailable where it can't be read or made.
    """
    path = folder / "console.secret"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make_secret(path)
        secret = path.read_bytes()
    except OSError as error:
        raise Unavailable(
            f"The console's secret {path} can't be read or made ({error.strerror}).", retryable=False, part="console"
        ) from None
    if len(secret) < _SECRET_BYTES:
        raise Unavailable(
            f"The console's secret {path} is damaged: delete it and start again; everybody then signs in again.",
            retryable=False,
            part="console",
        )
    return secret


def _make_secret(path: Path) -> None:
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another worker was first: its secret holds
            os.link(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _cookie(scope: Scope) -> str | None:
    # Other programs on the same host may have set any cookies: one that is malformed must not hide ours.
    pairs = [pair.strip().partition("=") for pair in (one_header(scope, "Cookie") or "").split(";")]
    values = {name: value for name, _, value in pairs}
    return values.get(_name(True)) or values.get(_name(False)) or None


def _name(secure: bool) -> str:
    # A browser accepts a `__Host-` cookie only from this very host over TLS, so that no neighbour can set one.
    return "__Host-steeltrap" if secure else "steeltrap"
