"""A real HTTP server for a test: an application under uvicorn on a free port of this computer."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn


class _AtOnce(uvicorn.Server):
    """Says when it is up, and ends when it is told: uvicorn looks for that every tenth of a second, and then sleeps for
    another one, in each of a thousand tests."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()

    def end(self) -> None:
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._told.set)

    async def startup(self, *args: Any, **rest: Any) -> None:
        self._loop, self._told = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(*args, **rest)
        self.up.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told.wait()

    async def shutdown(self, *args: Any, **rest: Any) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:
            await asyncio.sleep(0.001)
        await self.lifespan.shutdown()


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The server's URL, while it runs; its lifespan has ended when this returns."""
    server = _AtOnce(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.up.wait(60), "the server did not start"
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.end()
        thread.join(60)
