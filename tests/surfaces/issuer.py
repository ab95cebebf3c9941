"""An OpenID Connect issuer of this computer: it publishes its keys over HTTP and signs what a test wants signed."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeVar

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "https://memory.example"


@cache
def private_key(kid: str) -> Any:
    """The private key of an id, made once: its kind is what the id begins with."""
    if kid.startswith("ec"):
        return ec.generate_private_key(ec.SECP256R1())
    if kid.startswith("ed"):
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=1024 if kid.startswith("weak") else 2048)


def public_jwk(kid: str, **more: Any) -> dict[str, Any]:
    """The public half as a JSON Web Key."""
    algorithm = {"ec": ECAlgorithm, "ed": OKPAlgorithm}.get(kid[:2], RSAAlgorithm)
    return {**algorithm.to_jwk(private_key(kid).public_key(), as_dict=True), "kid": kid, "use": "sig", **more}


class Issuer:
    """Its documents can be changed, and whether it answers; `asked` has the paths of all requests.

    `is_asked` is set when one comes while it does not answer.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.document: Any = {"issuer": url, "jwks_uri": f"{url}/jwks"}
        self.keys: Any = {"keys": [public_jwk("rsa-1"), public_jwk("ec-1"), public_jwk("ed-1")]}
        self.status = 200
        self.asked: list[str] = []
        self.answering = threading.Event()
        self.answering.set()
        self.is_asked = threading.Event()

    def token(self, kid: str | None = "rsa-1", algorithm: str = "RS256", **claims: Any) -> str:
        """A token that is valid for a minute; a claim that is None is left out."""
        given = {"iss": self.url, "aud": AUDIENCE, "sub": "ana", "exp": int(time.time()) + 60, **claims}
        kept = {name: value for name, value in given.items() if value is not None}
        headers = {} if kid is None else {"kid": kid}
        return jwt.encode(kept, private_key(kid or "rsa-1"), algorithm=algorithm, headers=headers)

    def answer(self, path: str) -> tuple[int, bytes]:
        """The status and body of a request, when it answers."""
        self.asked.append(path)
        if not self.answering.is_set():
            self.is_asked.set()
            self.answering.wait(10)
        found = self.keys if path == "/jwks" else self.document
        return self.status, found if isinstance(found, bytes) else json.dumps(found).encode()


class Answering(Protocol):
    """The request handler of an issuer's server."""

    def answer(self, path: str) -> tuple[int, bytes]: ...


def issuing() -> AbstractContextManager[Issuer]:
    """An issuer on a free port, until the block ends."""
    return published(Issuer)


Kind = TypeVar("Kind", bound=Answering)


@contextmanager
def published(issuer_at: Callable[[str], Kind]) -> Iterator[Kind]:
    """An issuer made for the address of a free port; it answers there until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = issuer.answer(self.path)
            self.send_response(status)
            self.send_header("Location", f"{url}/jwks")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    issuer = issuer_at(url)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
