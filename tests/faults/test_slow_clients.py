"""Clients that send slowly, too much, or nothing: each is let go, and probes are answered meanwhile."""

import pytest

from faults.connecting import HEAD, SECOND, App, connections, everything, serving, statuses
from steeltrap.servers.process.connections import Limits

FEW = Limits(connections=4, probe_connections=2)


def test_a_head_without_end_is_refused_while_it_is_small():
    app = App()
    with serving(app) as it:
        client = it.connect(HEAD)
        with pytest.raises(ConnectionError):
            client.sendall((b"X: " + b"x" * 1000 + b"\r\n") * 64_000)
    assert app.seen == []


def test_a_large_head_is_answered_that_it_is():
    with serving(App(), Limits(head_bytes=100)) as it:
        client = it.connect(HEAD)
        it.wait_for_parts("HEAD", 1)
        client.sendall(b"X: " + b"x" * 100)
        assert statuses(everything(client)) == [431]


def test_requests_that_wait_for_no_answer_are_few():
    app = App()
    with serving(app, Limits(pipelined=3)) as it:
        assert statuses(everything(it.connect(SECOND * 1000))) == [200] * 4
    assert app.paths == ["/second"] * 4


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_two_hundred_half_requests_are_closed_and_answered_that_they_were_slow(loop):
    app = App()
    with serving(app, loop=loop) as it:
        clients = [it.connect(HEAD) for _ in range(200)]
        it.wait_for_parts("HEAD", 200)
        it.pass_time(9)
        assert len(it.server.server_state.connections) == 200
        it.pass_time(2)
        assert [statuses(everything(client)) for client in clients] == [[408]] * 200
    assert app.seen == []


def test_a_connection_that_says_nothing_is_closed():
    with serving(App(), ticking=True) as it:
        client = it.connect()
        it.wait_for_parts("OPENED", 1)
        it.clock.seconds += 11
        assert everything(client) == b""


def test_a_body_that_stops_coming_is_answered_that_it_was_slow():
    app = App()
    with serving(app) as it:
        client = it.connect(HEAD + b"Content-Length: 10\r\n\r\nhello")
        it.wait_for_parts("BODY", 1)
        it.pass_time(19)
        assert len(it.server.server_state.connections) == 1
        it.pass_time(2)
        got = everything(client)
    assert statuses(got) == [408]
    assert b"retryable" in got
    assert app.seen == []


def test_a_large_body_may_take_its_time_as_long_as_it_comes():
    app = App()
    piece = b"x" * 64 * 1024
    with serving(app) as it:
        client = it.connect(HEAD + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % (4 * len(piece)))
        it.wait_for_parts("BODY", 1)
        for _ in range(4):
            it.pass_time(15)
            client.sendall(piece)
            it.wait_for(lambda: all(c._phase_bytes >= len(piece) or c.cycle.response_complete for c in connections(it)))
        assert statuses(everything(client)) == [200]
    [(_, _, body)] = app.seen
    assert len(body) == 4 * len(piece)


def test_a_body_that_nobody_reads_any_more_is_not_taken_for_long():
    with serving(App(early=True)) as it:
        client = it.connect(HEAD + b"Content-Length: 1000000000\r\n\r\n")
        assert statuses(client.recv(1000)) == [200]
        it.pass_time(4)
        client.sendall(b"x" * 1000)
        it.pass_time(2)
        with pytest.raises(ConnectionError):
            client.sendall(b"x" * 100_000_000)


def test_a_client_that_does_not_read_its_answer_is_let_go():
    with serving(App(size=64 * 1024 * 1024)) as it:
        client = it.connect(SECOND)
        assert client.recv(10)
        it.pass_time(0)
        it.pass_time(19)
        assert len(connections(it)) == 1
        it.pass_time(2)
        it.wait_for(lambda: not connections(it))


def test_a_client_that_reads_its_answer_slowly_gets_it_all():
    with serving(App(size=64 * 1024 * 1024)) as it:
        client = it.connect(SECOND)
        assert client.recv(10)
        [connection] = connections(it)
        unsent = connection.transport.get_write_buffer_size
        while left := it.ask(unsent):
            it.pass_time(15)
            while it.ask(unsent) > max(0, left - 4 * 1024 * 1024):
                client.recv(1024 * 1024)
        assert connections(it) == [connection]


def test_an_idle_connection_is_kept_longer_than_load_balancers_do():
    with serving(App()) as it:
        client = it.connect(SECOND)
        assert client.recv(1000)
        it.pass_time(65)
        client.sendall(SECOND)
        assert client.recv(1000)
        it.pass_time(76)
        assert everything(client) == b""


PROBE = b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_probes_are_answered_while_half_requests_take_every_other_connection(loop):
    app = App()
    with serving(app, FEW, loop=loop) as it:
        half = [it.connect(HEAD) for _ in range(FEW.connections)]
        it.wait_for_parts("HEAD", FEW.connections)
        flood = [it.connect(HEAD) for _ in range(20)]
        it.wait_for_parts("HEAD", FEW.connections + FEW.probe_connections)
        assert statuses(everything(it.connect(PROBE))) == [200]
        assert statuses(everything(it.connect(PROBE.replace(b"readyz", b"healthz")))) == [200]
        refused = everything(it.connect(SECOND))
        assert statuses(refused) == [503]
        assert b"retry-after" in refused.lower()
        it.pass_time(11)
        assert [statuses(everything(client)) for client in half] == [[408]] * FEW.connections
        assert statuses(it.connect(SECOND).recv(1000)) == [200]
    assert app.paths == ["/readyz", "/healthz", "/second"]
    assert len(flood) == 20


def test_a_new_client_takes_the_place_of_the_one_that_was_idle_longest():
    with serving(App(), FEW) as it:
        clients = []
        for _ in range(FEW.connections):
            client = it.connect(SECOND)
            assert statuses(client.recv(1000)) == [200]
            it.pass_time(1)
            clients.append(client)
        assert statuses(it.connect(SECOND).recv(1000)) == [200]
        assert everything(clients[0]) == b""
        clients[1].sendall(SECOND)
        assert statuses(clients[1].recv(1000)) == [200]
