"""Signatures of AWS (Signature Version 4) for requests to a managed domain or a serverless collection.

https://docs.aws.amazon.com/opensearch-service/latest/developerguide/request-signing.html
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs by `credentials`, as botocore has them, for a managed domain (`es`) or a serverless collection (`aoss`)."""

    region: str
    service: Literal["es", "aoss"]
    credentials: Any = field(repr=False)

    def signed(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers with a signature over all of the request. The query's names must be in order."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        # Serverless collections refuse a signature without it, and domains don't mind.
        hashed = {"x-amz-content-sha256": sha256(body or b"").hexdigest()}
        request = AWSRequest(method=method, url=url, data=body, headers={**headers, **hashed})
        # Frozen, so that key, secret and token are of one moment.
        SigV4Auth(self.credentials.get_frozen_credentials(), self.service, self.region).add_auth(request)
        return dict(request.headers.items())
