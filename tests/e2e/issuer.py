"""An issuer of tokens: its metadata and keys over HTTP, and tokens signed as told."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

AUDIENCE = "recollect-e2e"
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

    def answer(self, path: str) -> Any:
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        return {"keys": [{**RSAAlgorithm.to_jwk(self.key.public_key(), as_dict=True), "kid": KEY_ID, "alg": "RS256"}]}


@contextmanager
def serving() -> Iterator[Issuer]:
    """An issuer on a free port of the loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(issuer.answer(self.path)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
