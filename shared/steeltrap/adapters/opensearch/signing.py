"""Signatures of AWS (Signature Version 4) for requests to a managed domain.

https://docs.aws.amazon.com/opensearch-service/latest/developerguide/request-signing.html
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

SERVICE: Final = "es"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs requests to a managed domain with `credentials`, as botocore has them."""

    region: str
    credentials: Any = field(repr=False)

    def signed(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers with a signature over all of the request. The query's names must be in order."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        # As opensearch-py signs.
        hashed = {"x-amz-content-sha256": sha256(body or b"").hexdigest()}
        request = AWSRequest(method=method, url=url, data=body, headers={**headers, **hashed})
        # Frozen, so that key, secret and token are of one moment.
        SigV4Auth(self.credentials.get_frozen_credentials(), SERVICE, self.region).add_auth(request)
        return dict(request.headers.items())
