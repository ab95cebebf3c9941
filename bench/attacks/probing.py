"""A process that asks `/healthz` every 20 ms, so that the attacks that run beside it don't slow its clock.

Run as `python -m bench.attacks.probing PORT`: for each line on stdin it writes how many probes were answered since the
last line, and the longest of their waits in milliseconds, as JSON.
"""

import json
import select
import socket
import sys
import time
from collections.abc import Iterator
from typing import Final

EVERY: Final = 0.02
LONGEST: Final = 30.0
"""No wait is measured further."""
_REQUEST: Final = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def probe(port: int) -> Iterator[float]:
    """The wait of one probe after the other, in seconds; each is sent 20 ms after the last, or once that ended."""
    connection: socket.socket | None = None
    while True:
        began = time.monotonic()
        try:
            connection = connection or socket.create_connection(("127.0.0.1", port), timeout=LONGEST)
            connection.sendall(_REQUEST)
            answer = b""
            while not answer.endswith(b"}"):
                answer += (part := connection.recv(4096))
                if not part or not answer.startswith(b"HTTP/1.1 200 "):
                    raise OSError("no 200")
            waited = time.monotonic() - began
        except OSError:
            # A refused connection is as bad as no answer: a health check would have the server restarted.
            waited = max(LONGEST, time.monotonic() - began)
            if connection is not None:
                connection.close()
            connection = None
        yield waited
        time.sleep(max(0.0, EVERY - (time.monotonic() - began)))


def main() -> None:
    """Probe until stdin ends."""
    waits: list[float] = []
    for wait in probe(int(sys.argv[1])):
        waits.append(wait)
        if select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                return
            print(json.dumps({"probes": len(waits), "longest_ms": round(max(waits) * 1000, 1)}), flush=True)
            waits.clear()


if __name__ == "__main__":
    main()
