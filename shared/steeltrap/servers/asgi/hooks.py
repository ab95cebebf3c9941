"""The route of a local server for `steeltrap hook`, open to whoever can read the server's file in the data folder."""

import json
from dataclasses import dataclass
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Any, Final

from fastapi import Request, Response
from starlette.routing import BaseRoute, Route

from ...errors import InvalidInput, SteeltrapError
from ...invoke import Door
from ...model import Caller, UserRef
from ...text.schemas import Bounds
from ..auth.identity import Scope, bearer_token, refused_token
from ..hooks.answering import answer
from ..hooks.command import EVENTS
from ..hooks.server_file import CHALLENGE, CHALLENGE_CHARACTERS, RunningServer, proof
from ..http import Reply, compact, error_reply, fault_reply
from .admission import Admission

_BOUNDS: Final = Bounds(size=16 * 1024 * 1024, values=100_000)
"""Bytes that a hook reads from its client, with the escapes of its JSON."""


@dataclass(frozen=True, slots=True)
class HookIdentity:
    """Whoever has the token is the local user, whatever else authenticates callers. Only hooks' routes ask it."""

    server: RunningServer

    def caller(self, scope: Scope) -> Caller:
        token = bearer_token(scope)
        if token is None or not compare_digest(token.encode(), self.server.token.encode()):
            raise refused_token("Hooks are for this computer's user: `steeltrap hook` reads the token from a file.")
        return Caller(UserRef(self.server.user))


def hook_routes(door: Door, server: RunningServer, data: Path) -> list[BaseRoute]:
    """A route per event, for a server with its file in the data folder, and one by which it proves itself to hooks."""
    admission = Admission(HookIdentity(server))

    async def hook(request: Request) -> Response:
        event = request.url.path.rpartition("/")[2]
        try:
            async with admission.admitted(request.scope, request.receive, _BOUNDS, "a hook") as (turn, body):
                reply = await turn.run(partial(_reply, door, turn.caller.user.user_id, data, event, body))
        except SteeltrapError as error:
            reply = error_reply(error)
        return Response(reply.body, reply.status, reply.headers)

    async def prove(request: Request) -> Response:
        challenge = request.path_params["challenge"]
        if len(challenge) != CHALLENGE_CHARACTERS or not challenge.isalnum():
            reply = error_reply(InvalidInput(f"a challenge has {CHALLENGE_CHARACTERS} hexadecimal digits."))
            return Response(reply.body, reply.status, reply.headers)
        host, port = request.scope["server"] or ("", 0)
        return Response(proof(server.token, challenge, host, port or 0), media_type="text/plain")

    proving = Route(f"/hooks/{CHALLENGE}/{{challenge}}", prove, methods=["GET"], name="hook.challenge")
    events = [Route(f"/hooks/{event}", hook, methods=["POST"], name=f"hook.{event}") for event in EVENTS]
    return [proving, *events]


def _reply(door: Door, user: str, data: Path, event: str, body: bytearray) -> Reply:
    try:
        answered = answer(door, user, data, event, _json(body))
        return Reply(200, compact(answered).encode(), {"Content-Type": "application/json"})
    except SteeltrapError as error:
        return error_reply(error)
    except Exception as fault:
        return fault_reply(f"hook {event}", fault)


def _json(body: bytearray) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("the body is not valid JSON.") from None
