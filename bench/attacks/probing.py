"""A process that asks `/healthz` every 20 ms, so that the attacks that run beside it don't slow its clock.

Run as `python -m bench.attacks.probing PORT`: for each line on stdin it writes, as JSON, how many probes were answered
since the last line, the longest of their waits, and how late the machine woke a thread that only sleeps, both in
milliseconds. A wait is the server's own only as far as it is longer than that.
"""

import json
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Final

EVERY: Final = 0.02
_NAP: Final = 0.002
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


class Sleeper:
    """A thread that sleeps 2 ms at a time: how late it wakes is how long the machine runs others, or stands still."""

    def __init__(self) -> None:
        self._longest = 0.0
        threading.Thread(target=self._sleep, daemon=True).start()

    def longest_since(self) -> float:
        """The longest delay since the last time that this was asked, in seconds."""
        longest, self._longest = self._longest, 0.0
        return longest

    def _sleep(self) -> None:
        while True:
            began = time.monotonic()
            time.sleep(_NAP)
            self._longest = max(self._longest, time.monotonic() - began - _NAP)


def main() -> None:
    """Probe until stdin ends."""
    waits: list[float] = []
    sleeper = Sleeper()
    for wait in probe(int(sys.argv[1])):
        waits.append(wait)
        if select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                return
            seconds = {"longest_ms": max(waits), "machine_ms": sleeper.longest_since()}
            milliseconds = {name: round(value * 1000, 1) for name, value in seconds.items()}
            print(json.dumps({"probes": len(waits), **milliseconds}), flush=True)
            waits.clear()


if __name__ == "__main__":
    main()
