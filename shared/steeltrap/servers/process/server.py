"""The HTTP server of `steeltrap serve`: what it listens on, and what it says about it."""

import errno
import gc
import ipaddress
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ...errors import InvalidInput, SteeltrapError, StoreUnreachable, Unavailable
from ...ports import Caches, MemoryStore
from ...telemetry import log_call
from ..hooks import server_file
from .authentication import Auth, Authentication, authentication, checked_secret
from .logs import log_to_stderr

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ...invoke import Door
    from ...settings import Settings
    from ..asgi.admission import Admission

_log = logging.getLogger("steeltrap")

_MOST_CONNECTIONS: Final = 1000
_GRACE_SECONDS: Final = 4
"""How long calls that are running may go on after SIGTERM."""
_EMBEDDER_SECONDS: Final = 10.0
_SWITCH_SECONDS: Final = 0.001
_COLLECTED_AFTER: Final = (2000, 10, 250)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a server: what is served, how callers authenticate, and by how many processes. Each process gets one.
    `hooks` is what hooks are told of the server, once it listens."""

    settings: "Settings"
    auth: Auth | None
    headers: dict[str, str | None]
    host: str
    toolset: str | None
    workers: int
    hooks: server_file.RunningServer | None = None


def run(plan: Plan, port: int, *, show: Callable[[Sequence[str]], None]) -> None:
    """Serve until Ctrl-C, SIGTERM or SIGHUP. Raises InvalidInput, and Unavailable when the address can't be had.

    `show` shows people a line when it starts, and some once it serves; the first of those has its address.
    """
    known_by = authentication(plan.settings, plan.auth, plan.headers)
    refuse_open_door(plan.host, known_by)
    raise_descriptor_limit()
    with listen(plan.host, port) as listener:
        log_to_stderr(plan.settings.log, format=plan.settings.log_format, serving=True)
        address, bound_port = listener.getsockname()[:2]
        running = server_file.of_this_process(address, bound_port, plan.settings.user)
        plan = replace(plan, hooks=running)
        if plan.settings.log_format == "text":
            # Loading takes a second or more, and longer where others share the machine.
            show([f"steeltrap is starting, with the memories in {plan.settings.place} ..."])
        announce = partial(_announce, listener, plan, known_by, show)
        if plan.workers == 1:
            _serve(plan, known_by, listener, announce)
            return
        from ...runtime import local as runtime
        from .workers import supervise

        # What keeps every worker from serving is said once, before there are any.
        door = runtime.open_door(plan.settings)
        try:
            _check(door.store)
            with _shared_metrics() as died, _upkeep(door, plan):
                supervise(_work, (plan, listener), count=plan.workers, all_serve=announce, died=died)
        finally:
            door.store.close()
            server_file.remove(str(plan.settings.data), running)


def _check(store: MemoryStore) -> None:
    """Raises Unavailable if a store can't serve. Without a network, a log's store serves what its cache has."""
    try:
        store.check()
    except StoreUnreachable as error:
        _log.warning("%s Until then, users whose memories are in the cache can read them.", error.message)


def _upkeep(door: "Door", plan: Plan) -> AbstractContextManager[None]:
    """Upkeep that one process of a server does once. That of the cloud's store is scheduled: reads cost there."""
    from ...runtime.background import reanalysing_in_background

    return reanalysing_in_background(door) if plan.settings.store == "sqlite" else nullcontext()


@contextmanager
def _shared_metrics() -> Iterator[Callable[[int], None]]:
    """A place where workers count together; tells it who has died."""
    from prometheus_client.multiprocess import mark_process_dead

    with TemporaryDirectory(prefix="steeltrap-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # where prometheus_client looks, in the workers too
        yield partial(mark_process_dead, path=folder)


def refuse_open_door(host: str, known_by: Authentication) -> None:
    """Raises InvalidInput for an address that others can reach while nobody says who they are."""
    if known_by.local and not _is_loopback(host):
        raise InvalidInput(
            f"{host} can be reached by others, and callers are not authenticated: require keys or tokens with --auth, "
            "put an authenticating gateway in front and trust its header with --user-header, or listen on 127.0.0.1."
        )


def _work(plan: Plan, listener: socket.socket, serves: Callable[[], None]) -> None:
    """Serve in a worker's process."""
    settings = plan.settings
    log_to_stderr(settings.log, format=settings.log_format, serving=True)
    share = settings.with_values(cache_mb=max(1, settings.cache_mb // plan.workers))
    try:
        _serve(replace(plan, settings=share), authentication(settings, plan.auth, plan.headers), listener, serves)
    except SteeltrapError as error:
        _log.error("%s", error.message)
        raise SystemExit(1) from None


def _serve(plan: Plan, known_by: Authentication, listener: socket.socket, serves: Callable[[], None]) -> None:
    """Serve in this process until it is told to stop."""
    from ...runtime import local as runtime
    from ...runtime.background import closing_in_background
    from ..asgi.admission import MAX_CALLS_AT_ONCE
    from ..asgi.app import create_app
    from ..asgi.hooks import hook_routes
    from ..asgi.telemetry import RequestLog
    from .connections import Limits, create_server

    settings, descriptors = plan.settings, raise_descriptor_limit()
    metrics, token = None, checked_secret("METRICS_TOKEN", settings.metrics_token)
    if known_by.local or token:
        from ..asgi.telemetry import Metrics, metrics_route

        metrics = Metrics(shared=plan.workers > 1)
    opened = runtime.open_door(settings, observe=metrics.observe if metrics else log_call)
    if metrics and isinstance(opened.store, Caches):
        metrics.caches = opened.store
    _check(opened.store)
    ending = ExitStack()
    door = ending.enter_context(closing_in_background(opened))
    assert plan.hooks is not None
    ending.callback(server_file.remove, str(settings.data), plan.hooks)
    app = create_app(
        door,
        known_by.identity,
        toolset=plan.toolset,
        local=known_by.local,
        resource=known_by.resource,
        public_url=settings.public_url,
        calls_of_user=MAX_CALLS_AT_ONCE if known_by.local else settings.calls_at_once,
        routes=[*hook_routes(door, plan.hooks, settings.data), *([metrics_route(metrics, token)] if metrics else [])],
        on_close=ending.close,
        pages=_console(door, settings, known_by),
    )
    server = create_server(
        RequestLog(app, metrics.answered) if metrics else RequestLog(app),
        Limits(connections=min(_MOST_CONNECTIONS, descriptors // 4)),
        serves=serves,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    _load_embedder(door)
    share_interpreter()
    if plan.workers == 1:
        ending.enter_context(_upkeep(door, plan))
    try:
        server.run(sockets=[listener])
    finally:
        ending.close()
        door.store.close()


def _console(
    door: "Door", settings: "Settings", known_by: Authentication
) -> "Callable[[Admission], Sequence[BaseRoute]]":
    """The routes of the console's pages. Whoever has an API key signs in with it. Raises Unavailable."""
    if not settings.console:
        return lambda admission: ()
    from ...runtime.local import open_shared_folder
    from ..console import Console, Sessions, console_routes, open_secret

    sessions = None
    if known_by.keys is not None:
        secret = open_secret(open_shared_folder(settings))
        sessions = Sessions(known_by.keys, known_by.identity, secret, open_shared_folder(settings, "console.ended"))
    return partial(console_routes, Console(door=door, sessions=sessions, public_url=settings.public_url))


def share_interpreter() -> None:
    """Let the thread that answers connections run often, and never wait long for threads that compute.

    Of 16 busy threads each may keep the interpreter for an interval. A full garbage collection stops all threads for a
    tenth of a second per million objects. So it leaves out the objects that are loaded by now, and runs seldom: the
    garbage of calls is young.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


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
        _log.warning("%s", error.message)


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


def _let_hooks_in(plan: Plan) -> None:
    """Hooks work without it too, only slower. They connect to loopback alone."""
    assert plan.hooks is not None
    if not server_file.is_loopback(plan.hooks.host):
        return
    try:
        server_file.write(str(plan.settings.data), plan.hooks)
    except OSError as error:
        if plan.settings.store_kind != "aws":  # with the cloud's, there may be no folder to write to, and no hooks
            _log.warning("`steeltrap hook` won't find this server (%s: %s).", error.strerror, error.filename)


def _announce(
    listener: socket.socket, plan: Plan, known_by: Authentication, show: Callable[[Sequence[str]], None]
) -> None:
    _let_hooks_in(plan)
    if known_by.resource and not plan.settings.public_url and not _is_loopback(plan.host):
        _log.warning("Set STEELTRAP_PUBLIC_URL to the address that clients use, so that they learn where to log in.")
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    if plan.settings.log_format == "json":
        _log.info("steeltrap listens on %s for %s", url, known_by.users_text)
        return
    header = f' -H "{known_by.header}"' if known_by.header else ""
    body = """-H 'Content-Type: application/json' -d '{"content": "User prefers dark mode."}'"""
    show(
        [
            f"steeltrap listens on {url} (MCP at {url}/mcp) for {known_by.users_text}.",
            *([f"See and change the memories in a browser: {url}"] if plan.settings.console else []),
            f"Memories are stored in {plan.settings.place}.",
            "Try:",
            f"  curl {url}/v1/core/save{header} {body}",
            "Ctrl-C stops it.",
        ]
    )
