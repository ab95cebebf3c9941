"""The HTTP server of `steeltrap serve`: what it listens on, and what it says about it."""

import errno
import ipaddress
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ...errors import InvalidInput, SteeltrapError, Unavailable
from .opening import log_to_stderr
from .output import complain, say

if TYPE_CHECKING:
    from ...invoke import Door
    from ...settings import Settings
    from .authentication import Authentication

_MOST_CONNECTIONS: Final = 1000
_GRACE_SECONDS: Final = 5
_EMBEDDER_SECONDS: Final = 10.0


def refuse_open_door(host: str, known_by: "Authentication") -> None:
    """Raises InvalidInput for an address that others can reach while nobody says who they are."""
    if known_by.local and not _is_loopback(host):
        raise InvalidInput(
            f"{host} can be reached by others, and callers are not authenticated: require keys or tokens with --auth, "
            "put an authenticating gateway in front and trust its header with --user-header, or listen on 127.0.0.1."
        )


def run(settings: "Settings", known_by: "Authentication", *, host: str, port: int, toolset: str | None) -> None:
    """Serve until Ctrl-C or SIGTERM. Raises Unavailable when the address can't be had."""
    descriptors = raise_descriptor_limit()
    listener = listen(host, port)
    with listener:
        from ...runtime import local as runtime
        from ..asgi.admission import MAX_CALLS_AT_ONCE
        from ..asgi.app import create_app
        from .connections import Limits, create_server

        log_to_stderr(settings.log, tracebacks=True)
        door = runtime.open_door(settings)
        door.store.check()
        app = create_app(
            door,
            known_by.identity,
            toolset=toolset,
            local=known_by.local,
            resource=known_by.resource,
            public_url=settings.public_url,
            calls_of_user=MAX_CALLS_AT_ONCE if known_by.local else settings.calls_at_once,
        )
        access = settings.log in ("debug", "info")
        it = create_server(
            app,
            Limits(connections=min(_MOST_CONNECTIONS, descriptors // 4)),
            log_level=settings.log,
            access_log=access,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        if known_by.resource and not settings.public_url and not _is_loopback(host):
            complain("Set STEELTRAP_PUBLIC_URL to the address that clients use, so that they learn where to log in.")
        _load_embedder(door)
        _announce(listener, settings, known_by)
        try:
            it.run(sockets=[listener])
        except KeyboardInterrupt:
            pass  # Ctrl-C is how a server is stopped; uvicorn has shut down by now
        finally:
            door.store.close()


def raise_descriptor_limit() -> int:
    """Raise the soft limit to the hard one, since each user's open file takes a few descriptors; the limit then."""
    try:
        import resource
    except ImportError:  # Windows has no such limit to ask for
        return 2048
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # macOS refuses its own "unlimited"; the soft limit still serves
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _load_embedder(door: "Door") -> None:
    """So that the first caller needn't wait for it. One that doesn't answer yet is no reason not to serve."""
    try:
        door.embedder.embed(["ready"], purpose="query", timeout=_EMBEDDER_SECONDS)
    except SteeltrapError as error:
        complain(error.message)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InvalidInput for an address that isn't one, Unavailable for one that can't be had."""
    try:
        # asyncio sets TCP_NODELAY on the connections of a socket that says it is TCP, and on no other. Without it
        # an answer on a kept connection waits about 40 ms for the client's delayed acknowledgement.
        tcp = socket.IPPROTO_TCP
        [(family, kind, proto, _, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=tcp)
        listener = socket.socket(family, kind, proto)
        try:
            # A restart must not wait for the old connections; two servers on one port are refused all the same.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(2048)
        except BaseException:
            listener.close()
            raise
    except socket.gaierror:
        raise InvalidInput(f"`{host}` is not an address of this computer; try 127.0.0.1.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            sentence = (
                f"Port {port} of {host} is in use: stop the program that listens there, or choose another --port."
            )
        else:
            sentence = f"Can't listen on {host} port {port} ({error.strerror}); choose another --host or --port."
        raise Unavailable(sentence, retryable=False, part="port") from None
    return listener


def _announce(listener: socket.socket, settings: "Settings", known_by: "Authentication") -> None:
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    say((f"steeltrap listens on {url} (MCP at {url}/mcp) for {known_by.whose}.", "bold"), error=True)
    say(f"Memories are stored in {settings.data}.", error=True)
    header = f' -H "{known_by.header}"' if known_by.header else ""
    say("Try:", error=True)
    body = """-H 'Content-Type: application/json' -d '{"content": "User prefers dark mode."}'"""
    say(f"  curl {url}/v1/core/save{header} {body}", error=True)
    say("Ctrl-C stops it.", error=True)
