"""PostgreSQL servers of a test's own, to be stopped, restarted and followed by a standby; and a pooler before one."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from localstack.parts import Missing, as_postgres, make_postgres, postgres_command, postgres_program

from components import check_wanted, missing

_SECONDS: Final = 30.0


class Server:
    """A server over a data folder, at a port that stays its own."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The database, as its owner."""
        return f"postgresql://memories@127.0.0.1:{self.port}/memories"

    @property
    def admin_url(self) -> str:
        """The database, as a superuser."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/memories"

    def start(self, **settings: str) -> None:
        """Start, and wait until it takes connections."""
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(os.devnull, "wb") as nowhere:
            self._process = subprocess.Popen([*postgres_command(self.data, self.port), *options], stderr=nowhere)
        ready = [postgres_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        _until(lambda: subprocess.run(ready, check=False).returncode == 0)

    def stop(self, mode: str = "fast") -> None:
        """Stop; `immediate` is as if it were killed."""
        process, self._process = self._process, None
        if process is not None:
            stopping = [postgres_program("pg_ctl"), "stop", "-s", "-D", str(self.data), "-m", mode]
            subprocess.run(as_postgres(stopping), check=True, cwd=self.data.parent)
            process.wait(_SECONDS)


@contextmanager
def server(**settings: str) -> Iterator[Server]:
    """A running server with an empty database."""
    check_wanted("postgres")
    with _folder() as folder:
        try:
            make_postgres(folder / "data")
        except Missing as error:
            missing(str(error))
        running = Server(folder / "data")
        running.start(**settings)
        try:
            yield running
        finally:
            running.stop()


@contextmanager
def standby(primary: Server) -> Iterator[Server]:
    """A server that follows another one."""
    with _folder() as folder:
        copying = [postgres_program("pg_basebackup"), "-D", str(folder / "data"), "-R", "-c", "fast", "-U", "postgres"]
        command = as_postgres([*copying, "-h", "127.0.0.1", "-p", str(primary.port)])
        subprocess.run(command, check=True, cwd=folder)
        following = Server(folder / "data")
        following.start()
        try:
            yield following
        finally:
            following.stop()


@contextmanager
def pooler(host: str, port: int) -> Iterator[int]:
    """The port of a pooler that gives each transaction to whichever of two connections is free."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        missing("pgbouncer is not on this machine: install it")
    with _folder() as folder:
        listening, settings = free_port(), folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\nmemories = user=memories host={host} port={port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {listening}\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n"
            "unix_socket_dir =\nmax_client_conn = 200\n"
        )
        process = subprocess.Popen(as_postgres([program, "-q", str(settings)]), cwd=folder, stderr=subprocess.DEVNULL)
        try:
            _until(lambda: _listens(listening))
            yield listening
        finally:
            process.terminate()
            process.wait(_SECONDS)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that the user of PostgreSQL can reach, and owns."""
    root = os.geteuid() == 0
    with TemporaryDirectory(dir=pwd.getpwnam("postgres").pw_dir if root else None, prefix="steeltrap-test-") as name:
        if root:
            shutil.chown(name, "postgres", "postgres")
        yield Path(name)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def _until(done: Callable[[], bool]) -> None:
    ends = time.monotonic() + _SECONDS
    while not done():
        assert time.monotonic() < ends, "PostgreSQL doesn't start"
        time.sleep(0.05)
