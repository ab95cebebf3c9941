"""OAuth 2.0 protected resource metadata (RFC 9728), which MCP's authorization asks for: where it is, what it says.

A client that is refused without a token reads it to learn who gives one. It needs no framework.
"""

from typing import Final

from ...model import JsonObject

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def metadata(base: str, path: str, issuer: str) -> JsonObject:
    """The document of what is served at a path below `base`, whose tokens an issuer gives."""
    return {
        "resource": base + path,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "steeltrap",
    }
