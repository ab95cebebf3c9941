"""An issuer of tokens: its metadata and keys over HTTP, and tokens signed as told."""

import hmac
import json
import time
from base64 import urlsafe_b64encode
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm

AUDIENCE = "steeltrap-e2e"
KEY_ID = "one"


class Issuer:
    """Signs with one key, and serves its public half at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, user: str, *, key: Any = None, algorithm: str = "RS256", seconds: int = 600, **claims: Any) -> str:
        """A token of a user that is good for so many seconds; claims may say otherwise than the issuer would."""
        now = int(time.time())
        told = {"iss": self.url, "aud": AUDIENCE, "sub": user, "iat": now, "exp": now + seconds, **claims}
        return jwt.encode(told, self.key if key is None else key, algorithm=algorithm, headers={"kid": KEY_ID})

    def signed_with_public_key(self, user: str) -> str:
        """A token whose secret anybody knows: PyJWT would not sign it, so it is made by hand."""
        public = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        header = _encoded({"alg": "HS256", "typ": "JWT", "kid": KEY_ID})
        signed = f"{header}.{self.token(user).split('.')[1]}"
        return f"{signed}.{urlsafe_b64encode(hmac.digest(public, signed.encode(), 'sha256')).rstrip(b'=').decode()}"

    def answer(self, path: str) -> tuple[int, bytes]:
        key = {**RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": KEY_ID, "alg": "RS256"}
        about = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return 200, json.dumps({"keys": [key]} if path == "/keys" else about).encode()


def _encoded(part: dict[str, str]) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
