"""OAuth scopes: which of them a server asks of a token, and what a caller may do with those that it has.

A token names its scopes in the claim `scope` (RFC 9068) or `scp` (Entra ID, Okta), as a text with spaces between them
(RFC 6749, section 3.3) or as a list. A scope is compared as a whole, and its case matters: `memory:writer` is not
`memory:write`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ...errors import InsufficientScope, TokenRefused
from ...model import Permissions

CLAIMS: Final = ("scope", "scp")


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
    return frozenset(scope for name in CLAIMS for scope in _scopes(name, claims.get(name), flattened) if scope)


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
