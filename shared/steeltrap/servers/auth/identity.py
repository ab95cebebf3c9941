"""The caller of a request: from what the transport authenticated to a `Caller`, limited by OAuth scopes.

A token names its scopes in the claim `scope` (RFC 9068) or `scp` (Entra ID, Okta), as a text with spaces between them
(RFC 6749, section 3.3) or as a list. A scope is compared as a whole, and its case matters: `memory:writer` is not
`memory:write`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from typing import Any, Final, Protocol

from ...errors import IdentityMissing, InsufficientScope, InvalidInput, TokenRefused
from ...model import Caller, JsonObject, Permissions, UserRef
from ...settings import Settings

Scope = Mapping[str, Any]
"""An ASGI scope; `headers` are pairs of bytes, `aws.event` the event that it was made of, if any."""

CONVERSATION_HEADER: Final = "X-Conversation-Id"
UNTRUSTED_HEADER: Final = "X-Untrusted"
SECRET_HEADER: Final = "X-Gateway-Secret"
_POOL_SESSION: Final = "/CognitoIdentityCredentials"
"""How the role ARN of an identity pool ends, the same for everyone in the pool: it tells no two users apart."""
_SCOPE_CLAIMS: Final = ("scope", "scp")


@dataclass(frozen=True, slots=True)
class RequiredScopes:
    """The scopes that a token needs to read, and to read and write. "" is a scope that nobody has; without either,
    every token may do everything."""

    read: str = ""
    write: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (self.read, self.write))))

    def limited(self, permissions: Permissions, claims: Mapping[str, Any], *, flattened: bool) -> Permissions:
        """The caller's permissions, limited to the scopes in its token's claims. `flattened` as for `scopes_of`.

        Raises InsufficientScope for a token that may do nothing, TokenRefused for claims that name no scopes.
        """
        if not self.names:
            return permissions
        granted = scopes_of(claims, flattened=flattened)
        if self.write in granted:
            return permissions
        if self.read in granted:
            return replace(permissions, read_only=True, missing_scope=self.write)
        scope_names = " or ".join(f"`{name}`" for name in self.names)
        raise InsufficientScope(
            f"The token may do nothing here: it needs the scope {scope_names}.", required_scope=" ".join(self.names)
        )


NO_SCOPES: Final = RequiredScopes()


def scopes_of(claims: Mapping[str, Any], *, flattened: bool) -> frozenset[str]:
    """The scopes that a token's claims name. Raises TokenRefused for a claim of another type.

    `flattened` reads claims of a gateway that passes on texts only, where a list is `[one two]`.
    """
    return frozenset(scope for name in _SCOPE_CLAIMS for scope in _scopes(name, claims.get(name), flattened) if scope)


def _scopes(name: str, value: object, flattened: bool) -> list[str]:
    match value:
        case None:
            return []
        case str():
            is_list = flattened and value.startswith("[") and value.endswith("]")
            return (value[1:-1] if is_list else value).split(" ")
        case list() if all(isinstance(scope, str) for scope in value):
            return value
    raise TokenRefused(
        f"The claim `{name}` must be a text of scopes with spaces between them, or a list of them.",
        reason="invalid_token",
    )


class Identity(Protocol):
    """Finds the caller of a request."""

    def caller(self, scope: Scope) -> Caller | None:
        """The caller, None when the request carries no user. It may wait for a file or the network.

        Raises InvalidInput for an ambiguous user, IdentityMissing for a token or key that is not accepted,
        Unavailable when that can't be checked.
        """
        ...


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """The claims of a token that name the caller, and the scopes that limit what it may do."""

    user: str = "sub"
    agent: str = "agent_id"
    conversation: str = "conversation_id"
    tenant: str = "tenant"
    untrusted: str = "untrusted"
    scopes: RequiredScopes = NO_SCOPES

    def caller(self, claims: Mapping[str, Any], scope: Scope, *, flattened: bool = False) -> Caller | None:
        """The caller that the claims name; None if they name no user. `flattened` claims are texts of a gateway.

        A conversation is the user's own to name, so a header serves where no claim does. Raises InsufficientScope, and
        IdentityMissing for a tenant that is no text: as no tenant it would open the memories of somebody else of that
        name.
        """
        user, tenant = _text(claims, self.user), _text(claims, self.tenant)
        if user is None:
            return None
        if tenant is None and claims.get(self.tenant) not in (None, ""):
            raise refused_token(f"The claim `{self.tenant}` must be a text that names the tenant.")
        conversation = _text(claims, self.conversation) or one_header(scope, CONVERSATION_HEADER)
        return Caller(
            UserRef(user, tenant or ""),
            _text(claims, self.agent),
            conversation,
            permissions=self.scopes.limited(trust(claims.get(self.untrusted)), claims, flattened=flattened),
        )


def claim_names(settings: Settings) -> ClaimNames:
    return ClaimNames(
        user=settings.user_claim,
        agent=settings.agent_claim,
        conversation=settings.conversation_claim,
        tenant=settings.tenant_claim,
        untrusted=settings.untrusted_claim,
        scopes=RequiredScopes(settings.read_scope, settings.write_scope),
    )


@dataclass(frozen=True, slots=True)
class LocalUser:
    """Single-user mode: everybody who reaches the server is this user, in a conversation of their choice."""

    user: str
    agent: str

    def caller(self, scope: Scope) -> Caller | None:
        return Caller(UserRef(self.user), self.agent, one_header(scope, CONVERSATION_HEADER))


@dataclass(frozen=True, slots=True)
class TrustedHeaders:
    """Headers that a gateway in front sets after authenticating, and strips from what clients send.

    With a `secret` the gateway must send that too, so that who reaches the server past it names nobody.
    """

    user_header: str = "X-User-Id"
    agent_header: str = "X-Agent-Id"
    conversation_header: str = CONVERSATION_HEADER
    secret: str = field(default="", repr=False)

    def caller(self, scope: Scope) -> Caller:
        if self.secret and not compare_digest((one_header(scope, SECRET_HEADER) or "").encode(), self.secret.encode()):
            raise IdentityMissing(
                f"Call this server through its gateway; the gateway must send the shared secret in the header "
                f"`{SECRET_HEADER}`."
            )
        user = one_header(scope, self.user_header)
        if user is None:
            raise IdentityMissing(
                f"No user is known for this call: the gateway must name one in the header `{self.user_header}`."
            )
        agent = one_header(scope, self.agent_header)
        conversation = one_header(scope, self.conversation_header)
        permissions = trust(one_header(scope, UNTRUSTED_HEADER))
        return Caller(UserRef(user), agent, conversation, permissions=permissions)


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Claims of a token that API Gateway verified, the context that a Lambda authorizer returned, or else who signed
    the request: the identity of a Cognito identity pool, or the IAM principal, whose ARN is the user. Signatures carry
    no scopes, so none is asked of them.
    """

    names: ClaimNames = ClaimNames()

    def caller(self, scope: Scope) -> Caller | None:
        claims, is_signed = _claims(scope.get("aws.event") or {}, self.names.user)
        names = replace(self.names, scopes=NO_SCOPES) if is_signed else self.names
        return names.caller(claims, scope, flattened=True)


def trust(untrusted: object) -> Permissions:
    """The trust that a claim or header grants. Raises as `is_true`."""
    return Permissions(untrusted=is_true(untrusted, "is untrusted"))


def is_true(value: object, what: str) -> bool:
    """Whether a claim or header is true; some gateways pass it on as text. `what` completes the refusal.

    Raises IdentityMissing for what is neither true nor false: taken for false, it would trust by mistake.
    """
    text = str(value or "false").strip().lower()
    if text not in ("true", "false"):
        raise refused_token(f"What says whether the caller {what} must be true or false.")
    return text == "true"


AT_ONCE: Final = (LocalUser, TrustedHeaders, Authorizer)
"""Identities that wait for no file or network, so that asking them needs no thread."""


def bearer_token(scope: Scope) -> str | None:
    """The token of `Authorization: Bearer TOKEN` (RFC 6750), None without one. Raises InvalidInput for two headers."""
    kind, _, token = (one_header(scope, "Authorization") or "").strip().partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


def refused_token(sentence: str) -> TokenRefused:
    """A token or key came with the request and is not accepted: `invalid_token` of RFC 6750."""
    return TokenRefused(sentence, reason="invalid_token")


def one_header(scope: Scope, name: str) -> str | None:
    """The value of a header without the spaces around it, which are no part of it (RFC 9110); None when it is missing
    or blank: servers and gateways differ in whether they take them off, and a user must not.

    Raises InvalidInput when it came twice (merged, two users would make a third) or is not UTF-8.
    """
    key_name = name.lower().encode()
    values = [bytes(value) for key, value in scope["headers"] if bytes(key).lower() == key_name]
    if len(values) > 1:
        raise InvalidInput(f"The header `{name}` came {len(values)} times; send it once.")
    try:
        text = values[0].decode() if values else ""
    except UnicodeDecodeError:
        raise InvalidInput(f"The header `{name}` is not valid UTF-8.") from None
    return text.strip(" \t") if text.strip() else None


def _claims(event: Mapping[str, Any], user_claim: str) -> tuple[Mapping[str, Any], bool]:
    """The claims of an authorizer, and whether a signature stands in for a token."""
    context = event.get("requestContext", {})
    authorizer = context.get("authorizer") or {}
    if isinstance(token := authorizer.get("jwt"), Mapping):
        return token.get("claims") or {}, False
    for kind in ("lambda", "claims"):
        if isinstance(claims := authorizer.get(kind), Mapping):
            return claims, False
    if isinstance(principal := authorizer.get("iam"), Mapping):
        pooled = principal.get("cognitoIdentity")
        return {user_claim: _signer(principal, pooled.get("identityId") if isinstance(pooled, Mapping) else None)}, True
    if not authorizer and isinstance(signed := context.get("identity"), Mapping):
        return {user_claim: _signer(signed, signed.get("cognitoIdentityId"))}, True
    # A REST API puts what its Lambda authorizer returned here, beside the principal.
    return {user_claim: authorizer.get("principalId"), **authorizer}, False


def _signer(principal: Mapping[str, Any], pool_identity: object) -> object:
    """The user who signed a request. Raises IdentityMissing for someone of an identity pool who could be anyone."""
    if isinstance(pool_identity, str) and pool_identity.strip():
        return pool_identity
    arn = principal.get("userArn")
    if isinstance(arn, str) and arn.endswith(_POOL_SESSION):
        raise IdentityMissing(
            "The request is signed with credentials of a Cognito identity pool, but carries no identity id, so the "
            "user is unknown. Call through API Gateway, which passes the identity id, or send a token."
        )
    return arn


def _text(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    return value if isinstance(value, str) and value.strip() else None


WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def metadata(base: str, path: str, issuer: str, scopes: Sequence[str] = ()) -> JsonObject:
    """The document of what is served at a path below `base`, whose tokens an issuer gives, with one of the scopes."""
    return {
        "resource": base + path,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "steeltrap",
        **({"scopes_supported": list(scopes)} if scopes else {}),
    }
