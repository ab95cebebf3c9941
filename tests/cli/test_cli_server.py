"""The connections that `steeltrap serve` accepts."""

import socket

import pytest

from faults.connecting import SECOND, App, serving


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_answers_on_a_kept_connection_wait_for_no_acknowledgement(loop):
    with serving(App(), loop=loop) as it:
        client = it.connect(SECOND)
        assert client.recv(1000)
        [accepted] = it.server.server_state.connections
        assert accepted.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
