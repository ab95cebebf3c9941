"""Finds the caller by an OpenID Connect token: a JWT that an issuer signed, checked against its published keys."""

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from ipaddress import ip_address
from math import inf
from typing import Any, Final
from urllib.parse import urlsplit

import jwt

from ...errors import IdentityMissing, InvalidInput, Unavailable
from ...model import Caller, JsonObject
from .identity import ClaimNames, Scope, bearer_token, refused_token

_log = logging.getLogger("steeltrap")

# Public keys only: with HS256 whoever knows the public key could sign.
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS: Final = 30
"""How far the issuer's clock may be off."""

KEYS_SECONDS: Final = 600.0
"""How long fetched keys are used: a key that the issuer withdrew is refused after it."""
PAUSE_SECONDS: Final = 10.0
"""The seconds between two requests to the issuer, at least, whatever keys tokens name."""
_FETCH_SECONDS: Final = 5.0
_WAIT_SECONDS: Final = 1.0
"""How long a token waits while another's key is asked for, where no keys are known."""
_MOST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class OidcTokens:
    """`Authorization: Bearer TOKEN`, where the issuer signed it for one of the audiences and it has not expired."""

    keys: "IssuerKeys"
    audiences: tuple[str, ...]
    names: ClaimNames

    def caller(self, scope: Scope) -> Caller | None:
        token = bearer_token(scope)
        if token is None:
            raise IdentityMissing(
                f"The call has no token. Send `Authorization: Bearer TOKEN`, with a token of {self.keys.issuer}."
            )
        caller = self.names.caller(self._verified(token), scope)
        if caller is None:
            raise refused_token(f"The token names no user: it has no text in the claim `{self.names.user}`.")
        return caller

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = self.keys.key(kid) if kid else None
            if key is None:
                raise refused_token("The token was not signed by a key that its issuer publishes.")
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self.audiences,
                issuer=self.keys.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as error:
            raise _refusal(error) from None
        return claims


class IssuerKeys:
    """The public keys of an issuer, by their id. Safe for threads.

    They are found at `jwks_url`, else as the issuer's `/.well-known/openid-configuration` says. Raises InvalidInput
    for an address that others could answer for.
    """

    def __init__(
        self,
        issuer: str,
        jwks_url: str = "",
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        for url in filter(None, (issuer, jwks_url)):
            if not _is_trustworthy(url):
                raise InvalidInput(
                    f"{url} must begin with https://, or be on this computer, because its keys verify tokens."
                )
        self._jwks_url = jwks_url
        self._monotonic = monotonic
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._until = -inf
        self._again = -inf
        self._answered = True
        self._lock = threading.Lock()

    def key(self, kid: str) -> jwt.PyJWK | None:
        """A key, None when the issuer has none of this id. Raises Unavailable when the issuer does not answer."""
        if (key := self._cached(kid)) is not None:
            return key
        # One asks. The others wait only for the first keys, or those in place of old ones, of an issuer that is well:
        # whoever makes up key ids must not hold up calls that need no issuer.
        waits = self._answered and self._monotonic() >= self._until
        if not self._lock.acquire(timeout=_WAIT_SECONDS if waits else 0):
            raise _unanswered(_WAIT_SECONDS)
        try:
            if self._monotonic() >= self._again and self._cached(kid) is None:
                self._answered = self._ask()
            key = self._cached(kid)
        finally:
            self._lock.release()
        if key is None and not self._answered:
            raise _unanswered(PAUSE_SECONDS)
        return key

    def _cached(self, kid: str) -> jwt.PyJWK | None:
        return self._keys.get(kid) if self._monotonic() < self._until else None

    def _ask(self) -> bool:
        try:
            self._keys = _signing_keys(_fetch(self._jwks_url or self._discovered()))
        except (OSError, HTTPException, ValueError, jwt.PyJWTError) as error:
            _log.error("the keys of %s can't be had: %s", self.issuer, error)
            return False
        else:
            self._until = self._monotonic() + KEYS_SECONDS
            return True
        finally:
            self._again = self._monotonic() + PAUSE_SECONDS

    def _discovered(self) -> str:
        document = _fetch(self.issuer.rstrip("/") + "/.well-known/openid-configuration")
        url = document.get("jwks_uri")
        if document.get("issuer") != self.issuer:
            raise ValueError(f"its openid-configuration names another issuer, {document.get('issuer')!r}")
        if not isinstance(url, str) or not _is_trustworthy(url):
            raise ValueError(f"the URL of its keys, {url!r}, does not begin with https://")
        return url


def _unanswered(seconds: float) -> Unavailable:
    sentence = "The token can't be checked now, since its issuer does not answer; try again."
    return Unavailable(sentence, part="issuer", retry_after=seconds)


def _fetch(url: str) -> JsonObject:
    """The JSON object at an address, which must answer itself. Raises OSError, HTTPException, ValueError."""
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    with urllib.request.build_opener(_NoRedirect()).open(request, timeout=_FETCH_SECONDS) as response:
        document = json.loads(response.read(_MOST_BYTES))
    if not isinstance(document, dict):
        raise ValueError("its answer is not a JSON object")
    return document


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _signing_keys(document: JsonObject) -> Mapping[str, jwt.PyJWK]:
    keys = jwt.PyJWKSet.from_dict(document).keys
    return {key.key_id: key for key in keys if isinstance(key.key_id, str) and key.public_key_use in ("sig", None)}


def _is_trustworthy(url: str) -> bool:
    try:
        parts = urlsplit(url)
        if parts.scheme == "https":
            return bool(parts.hostname)
        is_local = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
        return parts.scheme == "http" and is_local
    except ValueError:
        return False


def _refusal(error: jwt.PyJWTError) -> IdentityMissing:
    match error:
        case jwt.ExpiredSignatureError():
            return refused_token("The token has expired; get a new one.")
        case jwt.ImmatureSignatureError():
            return refused_token("The token is not valid yet; check the clocks.")
        case jwt.InvalidAudienceError():
            return refused_token("The token is for another service: its audience is not this one.")
        case jwt.InvalidIssuerError():
            return refused_token("The token is of another issuer.")
        case jwt.MissingRequiredClaimError(claim=claim):
            return refused_token(f"The token has no claim `{claim}`.")
    return refused_token("The token is not valid.")
