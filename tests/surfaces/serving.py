"""A real HTTP server for a test: an application under uvicorn on a free port of this computer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


class _Announcing(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    async def startup(self, *args: Any, **rest: Any) -> None:
        await super().startup(*args, **rest)
        self.up.set()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The server's URL, while it runs; its lifespan has ended when this returns."""
    server = _Announcing(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.up.wait(20), "the server did not start"
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
