"""Finds the caller by an API key: a random secret, shown once. A shared folder keeps its digest, one file per key.

A key is looked up at each call, so that a revoked one is refused at once, or within a minute where the folder is in a
bucket. A folder may be mounted by what runs the server. A plain SHA-256 is right here: slow, salted hashes protect what
people choose, and nobody guesses 256 random bits.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Final

from ...errors import IdentityMissing, NotFound, Unavailable
from ...model import EVERYTHING, Caller, JsonObject, Permissions, UserRef
from ...model.frozen import frozen
from ...ports import SharedFolder
from .identity import CONVERSATION_HEADER, Identity, Scope, bearer_token, one_header, refused_token

_log = logging.getLogger("steeltrap")

PREFIX: Final = "stk_"
"""The beginning of every key, so that scanners for leaked secrets know one."""
_KEY: Final = re.compile(PREFIX + r"([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
_HOW: Final = "whoever runs this server makes one with `steeltrap keys add`"
_ID: Final = re.compile(r"[0-9a-f]{12}")
_FILE: Final = re.compile(r"([0-9a-f]{12})\.json")


@frozen
class ApiKey:
    """An API key's record; not the key, which nobody can make of it. No `expires_at` means never."""

    id: str
    sha256: str
    user_id: str
    tenant: str = ""
    agent_id: str | None = None
    name: str = ""
    created_at: str = ""
    expires_at: str = ""
    permissions: Permissions = EVERYTHING

    def has_expired(self, now: datetime) -> bool:
        return bool(self.expires_at) and datetime.fromisoformat(self.expires_at) <= now


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """The keys in a folder; as an identity, `Authorization: Bearer KEY` with one of them.

    A folder that doesn't answer is Unavailable: no key is unknown because of that.
    """

    folder: SharedFolder
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def caller(self, scope: Scope) -> Caller | None:
        token = bearer_token(scope)
        if token is None:
            raise IdentityMissing(f"The call has no API key. Send `Authorization: Bearer KEY`; {_HOW}.")
        key = self.find(token)
        if key is None:
            raise refused_token(f"The API key is unknown or revoked. Send another one; {_HOW}.")
        return self._caller(key, scope)

    def holder(self, id: str, scope: Scope) -> Caller:
        """The caller of a key by its id, for a surface that saw the key before. Raises TokenRefused, Unavailable."""
        key = self._read(id) if _ID.fullmatch(id) else None
        if key is None:
            raise refused_token("The API key is unknown or revoked.")
        return self._caller(key, scope)

    def _caller(self, key: ApiKey, scope: Scope) -> Caller:
        with _translated():
            expired = key.has_expired(self.now())
        if expired:
            raise refused_token(f"The API key expired at {key.expires_at}. Send another one; {_HOW}.")
        conversation = one_header(scope, CONVERSATION_HEADER)
        return Caller(UserRef(key.user_id, key.tenant), key.agent_id, conversation, permissions=key.permissions)

    def find(self, secret: str) -> ApiKey | None:
        """The key of a secret. Raises Unavailable when the folder can't be read."""
        match = _KEY.fullmatch(secret)
        if match is None:
            return None
        key = self._read(match[1])
        with _translated():
            return key if key and compare_digest(key.sha256, _digest(secret)) else None

    def add(self, caller: Caller, name: str, now: datetime, expires: datetime | None = None) -> tuple[ApiKey, str]:
        """A new key for a caller and what they may do, and its secret, which is kept nowhere. Raises Unavailable."""
        for _ in range(3):
            id = token_hex(6)
            secret = f"{PREFIX}{id}_{token_urlsafe(32)}"
            key = ApiKey(
                id=id,
                sha256=_digest(secret),
                user_id=caller.user.user_id,
                tenant=caller.user.tenant,
                agent_id=caller.agent_id,
                name=name,
                created_at=now.isoformat(timespec="seconds"),
                expires_at="" if expires is None else expires.isoformat(timespec="seconds"),
                permissions=caller.permissions,
            )
            content = json.dumps(_record(key), ensure_ascii=False).encode()
            # A service may have made what it says was there.
            if self.folder.create(_file(id), content) or self.folder.read(_file(id)) == [content]:
                return key, secret
        raise Unavailable("The key can't be made; try again.", part="keys")

    def ids(self) -> list[str]:
        """The ids of all keys. Raises Unavailable."""
        return [match[1] for match in map(_FILE.fullmatch, self.folder.write_times()) if match]

    def all(self) -> list[ApiKey]:
        """Every key, oldest first. Raises Unavailable when one can't be read."""
        contents = self.folder.read(*map(_file, self.ids()))
        keys = [_key(content) for content in contents if content is not None]
        return sorted(keys, key=lambda key: (key.created_at, key.id))

    def revoke(self, id: str) -> None:
        """Remove a key, so that it is refused. Raises NotFound, Unavailable."""
        if not _ID.fullmatch(id) or self.folder.read(_file(id)) == [None]:
            raise NotFound(f"No API key `{id}`; `steeltrap keys list` shows the ids.", id=id)
        self.folder.remove(_file(id))

    def _read(self, id: str) -> ApiKey | None:
        [content] = self.folder.read(_file(id))
        return None if content is None else _key(content)


def _file(id: str) -> str:
    return f"{id}.json"


def _record(key: ApiKey) -> JsonObject:
    """A key's record as its file has it, which versions without scopes of tokens read, too."""
    fields = asdict(key)
    del fields["permissions"]["missing_scope"]
    return fields


def _key(content: bytes) -> ApiKey:
    with _translated():
        fields = json.loads(content)
        allowed = fields.pop("permissions", {})
        toolsets = tuple(allowed.pop("toolsets", ()))
        return ApiKey(**fields, permissions=Permissions(**allowed, toolsets=toolsets))


def is_api_key(scope: Scope) -> bool:
    """Whether the bearer token of a request is meant as an API key."""
    return (bearer_token(scope) or "").startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class KeysOrTokens:
    """API keys for those who have one, tokens for the others."""

    keys: ApiKeys
    tokens: Identity

    def caller(self, scope: Scope) -> Caller | None:
        if bearer_token(scope) is None:
            raise IdentityMissing(
                "The call has neither an API key nor a token. Send `Authorization: Bearer ...` with a token of "
                f"the issuer, or with an API key; {_HOW}."
            )
        return (self.keys if is_api_key(scope) else self.tokens).caller(scope)


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, AttributeError) as error:
        _log.error("an API key is damaged: %s", error)
        raise Unavailable(
            "The server can't read its API keys; the log says why.", retryable=False, part="keys"
        ) from None
