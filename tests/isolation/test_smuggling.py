"""A request is never hidden in another: what a gateway and the server could read differently is refused."""

import json

import pytest

from faults.connecting import HEAD, SECOND, App, everything, serving, statuses

AMBIGUOUS = {
    "length and chunks": HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 0\r\nContent-Length: 4\r\n\r\n",
    "the same length twice": HEAD + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": HEAD + b"Content-Length: 0, 0\r\n\r\n",
    "a length with a sign": HEAD + b"Content-Length: +0\r\n\r\n",
    "an empty length": HEAD + b"Content-Length:\r\n\r\n",
    "line feeds alone": b"POST /first HTTP/1.1\nHost: a\nContent-Length: 0\n\n",
    "a line feed after the first line": b"POST /first HTTP/1.1\nHost: a\r\nContent-Length: 0\r\n\r\n",
    "a line feed after a header": b"POST /first HTTP/1.1\r\nHost: a\nContent-Length: 0\r\n\r\n",
    "a line feed after the head": b"POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\n",
    "a carriage return in a header": HEAD + b"X: 1\rContent-Length: 0\r\n\r\n",
    "a folded header": HEAD + b"X: 1\r\n Content-Length: 4\r\n\r\n",
    "folded chunks": HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": HEAD + b"Content-Length : 0\r\n\r\n",
    "a space before the name": HEAD + b" Content-Length: 0\r\n\r\n",
    "an unknown coding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n",
    "identity": HEAD + b"Transfer-Encoding: identity\r\n\r\n",
    "chunks last of two": HEAD + b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    "chunks first of two": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "chunks twice": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an empty coding": HEAD + b"Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
    "chunks of HTTP/1.0": b"POST /first HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a line feed after a chunk's size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
    "a line feed after a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n",
    "a line feed in a chunk's extension": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\n",
    "a space after a chunk's size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n",
    "a chunk's size with a prefix": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
    "a chunk's size without end": HEAD + b"Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\nx\r\n0\r\n\r\n",
    "a length in a trailer": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 4\r\n\r\n",
    "no host": b"POST /first HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    "two hosts": HEAD + b"Host: b\r\nContent-Length: 0\r\n\r\n",
    "no version": b"GET /first\r\n\r\n",
    "another version": b"GET /first HTTP/2.0\r\nHost: a\r\n\r\n",
    "a tunnel": b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a NUL": HEAD + b"X: a\0b\r\n\r\n",
    "no colon": HEAD + b"X\r\n\r\n",
}


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_what_two_servers_could_read_differently_is_refused_and_hides_no_second_request(loop):
    app = App()
    with serving(app, loop=loop) as it:
        answers = {name: everything(it.connect(first + SECOND)) for name, first in AMBIGUOUS.items()}
    assert {name: statuses(got) for name, got in answers.items()} == {name: [400] for name in AMBIGUOUS}
    assert app.seen == []
    head, _, body = answers["two hosts"].partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    assert json.loads(body)["code"] == "invalid_input"


def test_a_request_is_answered_before_what_follows_it_is_refused():
    app = App()
    with serving(app) as it:
        got = everything(it.connect(HEAD + b"Content-Length: 0\r\n\r\n" + AMBIGUOUS["two hosts"] + SECOND))
    assert statuses(got) == [200]
    assert app.paths == ["/first"]


def test_a_trailer_is_no_header_of_this_request_nor_of_the_next():
    app = App()
    chunks = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-User: ana\r\n\r\n"
    with serving(app) as it:
        client = it.connect(chunks + b"GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert statuses(everything(client)) == [200, 200]
    assert [(path, headers.get("x-user"), body) for path, headers, body in app.seen] == [
        ("/first", None, b"x"),
        ("/second", None, b""),
    ]


@pytest.mark.parametrize("coding", ["length", "chunks"])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_offer_of_http_2_is_ignored_and_its_body_is_no_second_request(coding, at_once):
    app = App()
    offer = HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    body = {
        "length": b"Content-Length: %d\r\n\r\n%s" % (len(SECOND), SECOND),
        "chunks": b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(SECOND), SECOND),
    }[coding]
    third = b"GET /third HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    sent = offer + body + third
    with serving(app) as it:
        client = it.connect(sent if at_once else b"")
        for byte in b"" if at_once else sent:
            client.sendall(bytes([byte]))
        assert statuses(everything(client)) == [200, 200]
    assert [(path, body) for path, _, body in app.seen] == [("/first", SECOND), ("/third", b"")]
