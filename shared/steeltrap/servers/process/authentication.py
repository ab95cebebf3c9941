"""How `steeltrap serve` knows who calls: from its options and the settings to an identity."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ...errors import InvalidInput

if TYPE_CHECKING:
    from ...settings import Settings
    from ..asgi.middleware import ProtectedResource
    from ..auth.api_keys import ApiKeys
    from ..auth.identity import Identity
    from ..auth.oidc import OidcTokens

_SECRET_CHARACTERS: Final = 16


class Auth(StrEnum):
    """How callers authenticate."""

    LOCAL = "local"
    HEADERS = "headers"
    OIDC = "oidc"
    KEYS = "keys"
    BOTH = "oidc+keys"


@dataclass(frozen=True, slots=True)
class Authentication:
    """An identity, whose memories it serves in words, and an example of a header that names a user.

    `local` says that nobody is asked who they are. `resource` tells clients where they get a token. With `keys`, who
    has one of them signs in to the console with it.
    """

    identity: "Identity"
    users_text: str
    header: str = ""
    local: bool = False
    resource: "ProtectedResource | None" = None
    keys: "ApiKeys | None" = None


def authentication(settings: "Settings", auth: Auth | None, headers: dict[str, str | None]) -> Authentication:
    """The identity that the options say, else the settings, else `headers` where the user's is named. Raises
    InvalidInput."""
    given_headers = {name: header for name, header in headers.items() if header}
    unsaid = auth is None and "auth" not in settings.explicit
    method = Auth.HEADERS if unsaid and "user_header" in given_headers else auth or Auth(settings.auth)
    if given_headers and method is not Auth.HEADERS:
        option = f"--{next(iter(given_headers)).replace('_', '-')}"
        reason = "" if unsaid else f", not {'STEELTRAP_AUTH=' if auth is None else '--auth '}{method}"
        raise InvalidInput(f"{option} needs --auth headers{reason}.")
    match method:
        case Auth.LOCAL:
            from ..auth.identity import LocalUser

            return Authentication(LocalUser(settings.user, settings.agent), f"user {settings.user}", local=True)
        case Auth.HEADERS:
            from ..auth.identity import TrustedHeaders

            trusted = TrustedHeaders(**given_headers, secret=checked_secret("GATEWAY_SECRET", settings.gateway_secret))
            return Authentication(trusted, f"the users that {trusted.user_header} names", f"{trusted.user_header}: ana")
        case Auth.KEYS:
            keys = api_keys(settings)
            users_text = f"the users of the {len(keys.ids())} API keys in {keys.folder.place}"
            return Authentication(keys, users_text, "Authorization: Bearer $KEY", keys=keys)
    return _with_tokens(settings, with_keys=method is Auth.BOTH)


def checked_secret(name: str, secret: str) -> str:
    """A secret of the settings, which may be unset. Raises InvalidInput for one that could be guessed or not sent."""
    if secret and not (
        len(secret) >= _SECRET_CHARACTERS and secret.isascii() and secret.isprintable() and " " not in secret
    ):
        raise InvalidInput(
            f"STEELTRAP_{name} must have at least {_SECRET_CHARACTERS} characters, all of them "
            "printable ASCII and not spaces. Create one with `openssl rand -hex 32`."
        )
    return secret


def api_keys(settings: "Settings") -> "ApiKeys":
    """The API keys in the folder that the settings name."""
    from ...runtime.local import open_keys_folder
    from ..auth.api_keys import ApiKeys

    return ApiKeys(open_keys_folder(settings))


def _with_tokens(settings: "Settings", *, with_keys: bool) -> Authentication:
    from ..asgi.middleware import ProtectedResource
    from ..auth.api_keys import KeysOrTokens

    tokens = _tokens(settings)
    resource = ProtectedResource(settings.oidc_issuer, settings.public_url, tokens.names.scopes.names)
    keys = api_keys(settings) if with_keys else None
    return Authentication(
        tokens if keys is None else KeysOrTokens(keys, tokens),
        f"the users of {settings.oidc_issuer}" + (" and of the API keys" if with_keys else ""),
        "Authorization: Bearer $TOKEN",
        resource=resource,
        keys=keys,
    )


def _tokens(settings: "Settings") -> "OidcTokens":
    from ..auth.identity import claim_names
    from ..auth.oidc import IssuerKeys, OidcTokens

    audiences = tuple(filter(None, map(str.strip, settings.oidc_audience.split(","))))
    for name, value in (("ISSUER", settings.oidc_issuer), ("AUDIENCE", audiences)):
        if not value:
            raise InvalidInput(
                f"STEELTRAP_OIDC_{name} is not set. Set STEELTRAP_OIDC_ISSUER and STEELTRAP_OIDC_AUDIENCE to use OIDC."
            )
    keys = IssuerKeys(settings.oidc_issuer, settings.oidc_jwks_url)
    return OidcTokens(keys, audiences, claim_names(settings))
