"""Added to opensearch-py: deadlines, our errors, no log; and requests signed as AWS wants them."""

import hmac
import json
import logging
import ssl
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import quote

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import CredentialRetrievalError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from urllib3 import exceptions

from asking import send_to_index
from contracts.entries import SECONDS
from contracts.index_contract import document, search
from spaces import in_time
from steeltrap.errors import Internal, InvalidInput, Throttled, TooLarge, Unavailable
from steeltrap.runtime import SystemClock
from steeltrap.stores.opensearch import Indices, OpenSearchIndex, connect_index
from steeltrap.stores.opensearch.client import MAPPED


class Server(ThreadingHTTPServer):
    """Answers each request with the next of its answers: a status and a body, or None to hang up."""

    daemon_threads = True

    def __init__(self, *answers: tuple[int, str] | None) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.callers: list[Any] = []
        self.released = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        server = self.server
        assert isinstance(server, Server)
        server.asked.append((self.path, dict(self.headers)))
        server.callers.append(self.client_address)
        answer = server.answers.pop(0) if server.answers else (200, "{}")
        if answer is None:
            self.close_connection = True
            return
        status, body = answer
        if status == 0:
            server.released.wait(30)
            return
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if 300 <= status < 400:
            self.send_header("location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def serving() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def serve(*answers: tuple[int, str] | None) -> Server:
        servers.append(Server(*answers))
        Thread(target=servers[-1].serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return servers[-1]

    yield serve
    for server in servers:
        server.released.set()
        server.shutdown()
        server.server_close()


_REASON = json.dumps({"error": {"type": "some_exception", "reason": "a secret", "root_cause": []}, "status": 1})


@pytest.mark.parametrize(
    ("status", "error", "can_retry"),
    [
        (400, Internal, False),
        (401, Unavailable, True),
        (403, Unavailable, True),
        (404, Unavailable, True),
        (408, Throttled, True),
        (413, TooLarge, False),
        (429, Throttled, True),
        (500, Unavailable, True),
        (502, Unavailable, True),
        (503, Unavailable, True),
    ],
)
def test_a_refusal_becomes_an_error_without_its_reason(
    serving: Callable[..., Server], status: int, error: type[Exception], can_retry: bool
) -> None:
    server = serving((status, _REASON))
    client = connect_index(server.url)
    with pytest.raises(error) as raised:
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS)
    client.close()
    assert raised.value.can_retry is can_retry
    assert raised.value.details["status"] == status
    assert raised.value.details["reason"] == "some_exception"
    assert "secret" not in "".join(traceback.format_exception(raised.value))
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", ["", "<html>", "[]", "null", '"a secret"', '{"error": "a secret"}', '{"error": []}'])
def test_a_refusal_in_whatever_form_is_told_by_its_status(serving: Callable[..., Server], body: str) -> None:
    client = connect_index(serving((503, body)).url)
    with pytest.raises(Unavailable, match="status 503") as raised:
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS)
    client.close()
    assert "secret" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("answer", ["{}", '{"items": []}', '{"items": {"index": {"status": 201}}}'])
def test_a_write_that_is_answered_in_part_was_not_heard_of(serving: Callable[..., Server], answer: str) -> None:
    client = connect_index(serving((404, "{}"), (200, answer)).url)
    index = OpenSearchIndex(client, Indices(client, "x", SystemClock()))
    with pytest.raises(Unavailable):
        index.write([document("heron")], deadline=in_time(SECONDS))
    client.close()


@pytest.mark.parametrize("answer", ["{}", '{"responses": []}', '{"responses": [{"status": 200}]}'])
def test_a_search_that_is_answered_in_part_is_unavailable(serving: Callable[..., Server], answer: str) -> None:
    client = connect_index(serving((200, answer)).url)
    with pytest.raises(Unavailable):
        search(OpenSearchIndex(client, Indices(client, "x", SystemClock())), "heron")
    client.close()


def test_requests_in_turn_share_a_connection_and_are_not_logged(
    serving: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    server = serving((200, "{}"), (200, "{}"), (404, "{}"), (503, _REASON), None, None)
    client = connect_index(server.url)
    with caplog.at_level(logging.DEBUG, "opensearch"), caplog.at_level(logging.DEBUG, "opensearchpy.trace"):
        for _ in range(2):
            send_to_index(client, "POST", "/_msearch", b'"a secret"\n')
        for _ in range(3):
            with pytest.raises(Unavailable):
                send_to_index(client, "POST", "/_msearch", b'"a secret"\n')
    client.close()
    assert len(set(server.callers[:4])) == 1
    told = [record for record in caplog.records if record.name.startswith("opensearch")]
    assert told == []


def test_a_cluster_over_https_is_asked_only_if_this_machine_trusts_its_certificate(
    serving: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serving((200, '{"at": 1}'))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_self_signed(tmp_path / "own.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http://", "https://")
    stranger = connect_index(url)
    with pytest.raises(Unavailable, match="check its certificate"):
        send_to_index(stranger, "POST", "/_msearch", b"{}\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    trusting = connect_index(url)
    assert send_to_index(trusting, "POST", "/_msearch", b"{}\n") == {"at": 1}
    for client in (stranger, trusting):
        client.close()


def _self_signed(file: Path) -> Path:
    """A certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    own = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(pem)
    file.write_bytes(own)
    return file


def test_a_redirect_is_not_followed(serving: Callable[..., Server]) -> None:
    server = serving((307, "{}"))
    client = connect_index(server.url)
    with pytest.raises(Internal) as raised:
        send_to_index(client, "POST", "/_msearch", b"{}\n")
    client.close()
    assert raised.value.details["status"] == 307
    assert len(server.asked) == 1


def test_a_server_that_does_not_answer_is_left_after_the_timeout(serving: Callable[..., Server]) -> None:
    client = connect_index(serving((0, "")).url)
    with pytest.raises(Unavailable, match="in time"):
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=0.05)
    client.close()


_WHOLE_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{" + 98 * b" " + b"}"
_SLOW_HEADERS = _WHOLE_ANSWER.replace(b"OK\r\n", b"OK\r\nX-Slow: " + 98 * b"x" + b"\r\n")


@pytest.mark.parametrize(("answer", "at_once"), [(_WHOLE_ANSWER, 45), (_SLOW_HEADERS, 20)], ids=["body", "headers"])
def test_an_answer_that_drips_is_left_at_the_deadline(answer: bytes, at_once: int) -> None:
    with _dripping(answer, at_once) as url:
        client = connect_index(url)
        assert send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS) == {}
        with pytest.raises(Unavailable, match="in time"):
            send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=0.3)
        client.close()


@contextmanager
def _dripping(answer: bytes, at_once: int) -> Iterator[str]:
    """A server whose answer comes byte by byte, more than a second long in all, after a part that comes at once."""
    released = Event()

    class Dripping(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.wfile.write(answer[:at_once])
            for each in answer[at_once:]:
                released.wait(0.02)
                try:
                    self.wfile.write(bytes([each]))
                except OSError:
                    return  # nobody waits any more

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Dripping)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_time_left_is_no_request(serving: Callable[..., Server]) -> None:
    server = serving()
    client = connect_index(server.url)
    with pytest.raises(Unavailable):
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=0)
    client.close()
    assert server.asked == []


@pytest.mark.parametrize("answer", ["<html>", "null", "[]", '"heron"', "1"])
def test_what_is_no_json_object_is_unavailable(serving: Callable[..., Server], answer: str) -> None:
    client = connect_index(serving((200, answer)).url)
    with pytest.raises(Unavailable):
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS)
    client.close()


def test_a_connection_that_the_other_end_closed_is_replaced_once(serving: Callable[..., Server]) -> None:
    server = serving((200, "{}"), None, (200, '{"at": 3}'))
    client = connect_index(server.url)
    send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS)
    assert send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS) == {"at": 3}
    server.answers = [None, None]
    with pytest.raises(Unavailable):
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS)
    client.close()


def test_every_exception_of_the_client_has_crossed() -> None:
    own = [each for each in vars(exceptions).values() if getattr(each, "__module__", "") == exceptions.__name__]
    kinds = [each for each in own if issubclass(each, Exception) and not issubclass(each, Warning)]
    unplaced = {each.__name__ for each in kinds if not any(nearest in MAPPED for nearest in each.__mro__)}
    # HTTPError is the root: placing it would place whatever comes.
    assert unplaced == {"HTTPError"}


@pytest.mark.parametrize("broken", [[(200, "{"), None], [(200, "")], [(200, "\x00")]])
def test_half_an_answer_is_unavailable(serving: Callable[..., Server], broken: list[tuple[int, str] | None]) -> None:
    client = connect_index(serving(*broken).url)
    with pytest.raises(Unavailable) as raised:
        send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS)
    client.close()
    assert raised.value.can_retry


@pytest.mark.parametrize("url", ["", "localhost:9200", "ftp://localhost", "http://", "http://[", "http://x:port"])
def test_what_is_no_url_is_refused_by_the_settings_name(url: str) -> None:
    with pytest.raises(InvalidInput, match="STEELTRAP_OPENSEARCH_URL"):
        connect_index(url)


def test_the_url_may_have_a_path_a_name_and_a_password(serving: Callable[..., Server]) -> None:
    server = serving()
    client = connect_index(server.url.replace("http://", "http://ana:p%40ss@") + "/search/")
    send_to_index(client, "POST", "/_msearch", b"{}\n", timeout=SECONDS, params={"b": "a b", "a": "1,2"})
    client.close()
    [(path, headers)] = server.asked
    assert path == "/search/_msearch?b=a+b&a=1%2C2"
    assert headers["authorization"] == f"Basic {b64encode(b'ana:p@ss').decode()}"


@pytest.mark.parametrize("path", ["/_msearch", "/memories-*/_alias"])
def test_requests_are_signed_for_a_region(serving: Callable[..., Server], path: str) -> None:
    server = serving()
    keys = Credentials("AKIAEXAMPLE", "not a real one", "a token")
    client = connect_index(server.url, region="eu-central-1", credentials=keys)
    send_to_index(client, "POST", path, b"heron\n", timeout=SECONDS, params={"filter_path": "a,b", "a": "b c"})
    client.close()
    [(target, headers)] = server.asked
    sent = {name.lower(): value for name, value in headers.items()}
    assert sent["x-amz-security-token"] == "a token"
    assert sent["x-amz-content-sha256"] == sha256(b"heron\n").hexdigest()
    assert "/eu-central-1/es/aws4_request" in sent["authorization"]
    assert sent["authorization"].endswith(_signature("not a real one", "eu-central-1", target, sent))


def test_what_keeps_a_request_from_being_signed_is_named(serving: Callable[..., Server]) -> None:
    class Expired:
        def get_frozen_credentials(self) -> Any:
            raise CredentialRetrievalError(provider="a secret", error_msg="a secret")

    server = serving()
    client = connect_index(server.url, region="eu-central-1", credentials=Expired())
    with pytest.raises(Unavailable, match="fix the credentials"):
        send_to_index(client, "POST", "/_msearch", b"{}\n")
    client.close()
    assert server.asked == []


def _signature(secret: str, region: str, target: str, sent: dict[str, str]) -> str:
    """Signature Version 4 as AWS computes it of a POST that came.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    path, _, query = target.partition("?")
    names = sent["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    headers = "".join(f"{name}:{sent[name]}\n" for name in names.split(";"))
    pairs = "&".join(sorted(query.split("&")))
    asked = f"POST\n{quote(path)}\n{pairs}\n{headers}\n{names}\n{sent['x-amz-content-sha256']}"
    at = sent["x-amz-date"]
    day = at[:8]
    to_sign = f"AWS4-HMAC-SHA256\n{at}\n{day}/{region}/es/aws4_request\n{sha256(asked.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in (day, region, "es", "aws4_request", to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()
