"""The console's routes over ASGI: which page or change answers where, signing in, and the page about the HTTP API.

Anybody may read that page, /docs, as anybody may read /openapi.json: it shows no memory. It needs no script, and
nothing from elsewhere.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ... import telemetry
from ...errors import Internal, InvalidInput, NotFound, SteeltrapError
from ...model import Caller
from ...text.schemas import Bounds, describe
from ...tools import Tool, Toolset
from ...toolsets import CATALOGUE
from ..asgi.admission import Admission
from ..http import FAULT, STATUS
from . import changing, reading, transfer
from . import sessions as signing
from .answering import PRIVATE, SECURITY, Console, check_origin, fields, is_fragment, refused, respond, timezone_of
from .rendering import STATIC, Fields, Page, PageRequest, Redirect, Reply, first, own_path, static_answer
from .sessions import Sessions, SignInNeeded, set_cookies

Handler = Callable[[PageRequest], Reply]

_FIRST_TOOLSET: Final = "core"

_FORM: Final = Bounds(size=512 * 1024, values=4096)
"""A memory of 32 KiB, each of its characters escaped, and what stands beside it."""
_SMALL: Final = Bounds(size=4096, values=16)
_KEY: Final = Bounds(size=16 * 1024, values=16)

_PAGES: Final[Sequence[tuple[str, Handler]]] = (
    ("/", reading.home),
    ("/console/ready", reading.ready),
    ("/console/browse", reading.browse),
    ("/console/timeline", reading.timeline),
    ("/console/trash", reading.trash),
    ("/console/new", changing.new_form),
    ("/console/merge", changing.merge_form),
    ("/console/transfer", transfer.transfer_page),
    ("/console/imports", transfer.imports_page),
    ("/console/imports/{id}", transfer.import_page),
    ("/console/imports/{id}/undo", transfer.undo_import_form),
    ("/console/memories/{id}", reading.memory_page),
    ("/console/memories/{id}/edit", changing.edit_form),
    ("/console/memories/{id}/forget", changing.forget_form),
)
_CHANGES: Final[Sequence[tuple[str, Handler]]] = (
    ("/console/new", changing.create),
    ("/console/merge", changing.merge),
    ("/console/chosen", changing.choose),
    ("/console/memories/{id}/edit", changing.edit),
    ("/console/memories/{id}/pin", changing.pin),
    ("/console/memories/{id}/delete", changing.delete),
    ("/console/memories/{id}/restore", changing.restore),
    ("/console/memories/{id}/undo", changing.undo),
    ("/console/memories/{id}/forget", changing.forget),
    ("/console/imports/{id}/undo", transfer.undo_import),
)


def console_routes(console: Console, admission: Admission) -> list[BaseRoute]:
    """The console's routes, for callers of the same limits as the tools'."""
    console.uploads.remove_leftovers()
    if console.sessions is not None:
        admission = admission.known_by(console.sessions)
    by_path: dict[str, dict[str, Handler]] = {}
    for path, page in _PAGES:
        by_path.setdefault(path, {}).update(GET=page, HEAD=page)
    for path, change in _CHANGES:
        by_path.setdefault(path, {})["POST"] = change
    routes: list[BaseRoute] = [
        Route(path, _endpoint(console, admission, handlers), methods=[*handlers]) for path, handlers in by_path.items()
    ]
    routes.append(Route("/console/export", partial(transfer.export, console, admission), methods=["GET"]))
    routes.append(Route("/console/import", partial(transfer.import_, console, admission), methods=["POST"]))
    routes.append(Route("/console/theme", partial(_theme, console), methods=["POST"]))
    routes.append(Route(STATIC + "/{digest}/{name}", _static, methods=["GET", "HEAD"]))
    if console.sessions is not None:
        routes.append(Route("/console/sign-in", partial(_sign_in, console, admission), methods=["GET", "POST"]))
        routes.append(Route("/console/sign-out", partial(_sign_out, console, admission), methods=["POST"]))
    routes.extend(reference_routes(console))
    routes.append(Route("/console/{rest:path}", partial(_unknown, console), methods=["GET", "HEAD"]))
    return routes


def _endpoint(console: Console, admission: Admission, handlers: dict[str, Handler]) -> Any:
    async def call(request: Request) -> Response:
        try:
            if request.method == "POST":
                check_origin(request)
            async with admission.admitted(request.scope, request.receive, _FORM, "the form") as (turn, body):
                handler = handlers[request.method]
                return await turn.run(partial(_answered, console, request, handler, turn.caller, body))
        except SignInNeeded as error:
            typed = partial(fields, await _typed(console, request))
            return await admission.identifying.run(partial(_refused, console, request, error, typed))
        except SteeltrapError as error:
            return refused(console, request, error)

    return call


async def _typed(console: Console, request: Request) -> bytes:
    """The form of somebody whose session has ended, so that what they typed isn't lost; no stranger's."""
    if request.method != "POST" or not signing.resumes(request.url.path):
        return b""
    if console.sessions is None or not console.sessions.was_known(request.scope):
        return b""
    try:
        async with console.strangers.read(request.scope, request.receive, _FORM, "the form") as body:
            return bytes(body)
    except SteeltrapError:
        return b""


def _refused(console: Console, request: Request, error: SteeltrapError, typed: Callable[[], Fields]) -> Response:
    try:
        return refused(console, request, error, typed())
    except InvalidInput:
        return refused(console, request, error)


def _answered(console: Console, request: Request, handler: Handler, caller: Caller, body: bytearray) -> Response:
    """The page, or the page of its failure. A long form takes its time, so all of it is done in a thread."""
    form: Fields = {}
    try:
        form = fields(bytes(body))
        page_request = PageRequest(
            door=console.door,
            caller=caller,
            id=request.path_params.get("id", ""),
            query=fields(request.url.query.encode()),
            form=form,
            fragment=is_fragment(request),
            timezone=timezone_of(request),
        )
        reply = handler(page_request)
        if isinstance(reply, Redirect):
            return RedirectResponse(reply.to, 303, {**SECURITY, **PRIVATE})
        notice = page_request.notices[0] if page_request.notices else ""
        return respond(console, request, reply, writes=page_request.writes, caller=caller, notice=notice)
    except SteeltrapError as error:
        return refused(console, request, error, form)
    except Exception as fault:
        telemetry.log_fault("the console", fault)
        return refused(console, request, Internal(FAULT), form)


async def _sign_in(console: Console, admission: Admission, request: Request) -> Response:
    assert console.sessions is not None
    try:
        if request.method == "GET":
            return respond(console, request, signing.page(fields(request.url.query.encode())), is_known=False)
        check_origin(request)
        # A stranger's form has room for a key; who was signed in before brings along what they typed.
        bounds = _FORM if console.sessions.was_known(request.scope) else _KEY
        async with console.strangers.read(request.scope, request.receive, bounds, "the form") as body:
            return await admission.identifying.run(partial(_signed_in, console, console.sessions, request, body))
    except SteeltrapError as error:
        return refused(console, request, error)


def _signed_in(console: Console, sessions: Sessions, request: Request, body: bytearray) -> Response:
    form: Fields = {}
    try:
        form = fields(bytes(body))
        cookie, reply = signing.sign_in(console.door, sessions, form)
        if isinstance(reply, Redirect):
            response: Response = RedirectResponse(reply.to, 303, {**SECURITY, **PRIVATE})
        else:
            response = respond(console, request, reply, is_known=bool(cookie))
    except SteeltrapError as error:
        return refused(console, request, error, form)
    if cookie:
        for header in set_cookies(cookie, secure=console.is_secure(request)):
            response.headers.append("Set-Cookie", header)
    return response


async def _sign_out(console: Console, admission: Admission, request: Request) -> Response:
    assert console.sessions is not None
    try:
        check_origin(request)
        await admission.identifying.run(partial(console.sessions.end, request.scope))
    except SteeltrapError as error:
        return refused(console, request, error)
    headers = {**SECURITY, **PRIVATE, "Clear-Site-Data": '"cache", "storage"'}
    response = RedirectResponse("/console/sign-in", 303, headers)
    for secure in {False, console.is_secure(request)}:
        for header in set_cookies("", secure=secure):
            response.headers.append("Set-Cookie", header)
    return response


async def _theme(console: Console, request: Request) -> Response:
    """Light, dark, or as the computer has it: kept in the browser alone."""
    try:
        check_origin(request)
        async with console.strangers.read(request.scope, request.receive, _SMALL, "the form") as body:
            form = fields(bytes(body))
    except SteeltrapError as error:
        return refused(console, request, error)
    theme = first(form, "theme")
    response = RedirectResponse(own_path(first(form, "back")), 303, {**SECURITY, **PRIVATE})
    value = theme if theme in ("light", "dark") else ""
    age = 365 * 86400 if value else 0
    response.headers.append("Set-Cookie", f"steeltrap-theme={value}; Path=/; Max-Age={age}; SameSite=Strict; HttpOnly")
    return response


async def _unknown(console: Console, request: Request) -> Response:
    return refused(console, request, NotFound("There is no such page."))


async def _static(request: Request) -> Response:
    return static_answer(
        request.path_params["digest"], request.path_params["name"], request.headers.get("Accept-Encoding", "")
    )


def reference_routes(console: Console) -> list[BaseRoute]:
    """The routes of the page about the HTTP API: how to call it, and each tool with its arguments. One address per
    toolset."""

    def answer(request: Request) -> Response:
        try:
            address = console.public_url.rstrip("/") or str(request.base_url).rstrip("/")
            page = reference_page(request.path_params.get("toolset", _FIRST_TOOLSET), address)
            return respond(console, request, page, is_known=False)
        except SteeltrapError as error:
            return refused(console, request, error)

    return [Route(path, answer, methods=["GET", "HEAD"]) for path in ("/docs", "/docs/{toolset}")]


def reference_page(name: str, address: str) -> Page:
    """The page of a toolset of the server at an address. Raises NotFound."""
    toolset = CATALOGUE.toolset(name)
    values = {"toolsets": list(CATALOGUE.toolsets), "toolset": toolset, "tools": _tools(name), "codes": STATUS}
    values["address"] = address
    return Page(template="reference.html", values=values)


@cache
def _tools(name: str) -> list[dict[str, Any]]:
    toolset = CATALOGUE.toolset(name)
    return [_tool(toolset, tool) for tool in toolset.tools.values()]


def _tool(toolset: Toolset, tool: Tool) -> dict[str, Any]:
    required = tool.input_schema.get("required", ())
    fields = tool.input_schema.get("properties", {})
    return {
        "name": tool.name,
        "path": f"/v1/{toolset.name}/{tool.name}",
        "access": tool.access,
        "paragraphs": tool.description.split("\n\n"),
        "arguments": [
            {
                "name": name,
                "takes": describe(field),
                "required": name in required,
                "meaning": field.get("description", ""),
            }
            for name, field in fields.items()
        ],
        "example": shlex.quote(json.dumps(tool.examples[0] if tool.examples else {}, ensure_ascii=False)),
    }
