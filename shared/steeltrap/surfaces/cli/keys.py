"""keys add, keys list and keys revoke: the API keys that `steeltrap serve --auth keys` admits."""

from typing import TYPE_CHECKING, Annotated, Final
from unicodedata import category

import typer

from ...errors import InvalidInput
from ...model import UserRef
from . import options
from .output import say, write_json

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from ...model import JsonObject
    from ...settings import Settings
    from ..auth.api_keys import ApiKey, ApiKeys

_UNSHOWN: Final = ("Cc", "Cs", "Zl", "Zp")


def register(app: typer.Typer) -> None:
    keys = typer.Typer(help="API keys for `steeltrap serve --auth keys`.", no_args_is_help=True, rich_markup_mode=None)
    keys.command()(add)
    keys.command(name="list")(list_)
    keys.command()(revoke)
    app.add_typer(keys, name="keys")


def add(
    user: Annotated[str, typer.Option("--user", metavar="ID", help="The user whose memories the key opens.")],
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant.")] = "",
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="ID", help="The agent's id in calls with this key.")
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="TEXT", help="What the key is for; shown by `keys list`.")
    ] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow only tools that change nothing.")] = False,
    untrusted: Annotated[
        bool, typer.Option("--untrusted", help="Mark what is written with this key as untrusted.")
    ] = False,
    toolset: Annotated[
        list[str] | None, typer.Option("--toolset", metavar="NAME", help="Allow only this toolset; can be repeated.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="DATE", help="When the key expires: a date, at whose start it does, or a time in UTC."
        ),
    ] = None,
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Create a key and print it.

    The key is shown only once, because only a digest of it is stored. A running server accepts it at once.
    """
    from ...invoke import identified
    from ...model import Caller, Permissions
    from ...runtime.clock import SystemClock
    from ...toolsets import CATALOGUE

    for option, given in (("--user", user), ("--tenant", tenant), ("--agent", agent or ""), ("--name", name)):
        if any(category(character) in _UNSHOWN for character in given):
            raise InvalidInput(f"{option} contains a control character or line break; remove it.")
    permissions = Permissions(read_only=read_only, toolsets=tuple(dict.fromkeys(toolset or ())), untrusted=untrusted)
    for named in permissions.toolsets:
        CATALOGUE.toolset(named)
    now = SystemClock().now()
    caller = identified(Caller(UserRef(user, tenant), agent, None, permissions=permissions))
    key, secret = _keys(data).add(
        caller, name, now, None if expires is None else _expiry(expires, now, _settings(data).zone)
    )
    if as_json:
        write_json({"key": secret, **_shown(key)})
        return
    say(secret)
    say(
        f"It opens the memories of {user} and is not shown again. To revoke it: `steeltrap keys revoke {key.id}`.",
        error=True,
    )


def list_(as_json: options.Json = False, data: options.Data = None) -> None:
    """List the keys, oldest first, with their users and permissions.

    The keys themselves are not stored.
    """
    from ...runtime.clock import SystemClock

    now = SystemClock().now()
    zone, known = _settings(data).zone, _keys(data).all()
    if as_json:
        write_json([_shown(key) for key in known])
        return
    for key in known:
        parts = [f"user {key.user_id}"]
        parts += [f"tenant {key.tenant}"] if key.tenant else []
        parts += [f"agent {key.agent_id}"] if key.agent_id else []
        parts += [f"toolset {toolset}" for toolset in key.permissions.toolsets]
        parts += ["read only"] if key.permissions.read_only else []
        parts += ["untrusted"] if key.permissions.untrusted else []
        if key.expires_at:
            parts.append(f"{'expired' if key.has_expired(now) else 'expires'} {_time(key.expires_at, zone)}")
        say((key.id, "bold"), f"  {_time(key.created_at, zone)}  {', '.join(parts)}  {key.name}".rstrip())
    if not known:
        say("No API keys. Create one with `steeltrap keys add --user ID`.", error=True)


def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, from `keys list`.")],
    data: options.Data = None,
) -> None:
    """Revoke a key: a running server refuses it from the next call on."""
    _keys(data).revoke(id)
    say(f"The key {id} is revoked.")


def _shown(key: "ApiKey") -> "JsonObject":
    return {
        "id": key.id,
        "user": key.user_id,
        "tenant": key.tenant,
        "agent": key.agent_id,
        "name": key.name,
        "created_at": key.created_at,
        "expires_at": key.expires_at or None,
        "read_only": key.permissions.read_only,
        "untrusted": key.permissions.untrusted,
        "toolsets": list(key.permissions.toolsets) or None,
    }


def _expiry(given: str, now: "datetime", zone: "tzinfo | None") -> "datetime":
    from ...record import read_time

    try:
        time = read_time(given, zone)
    except ValueError as error:
        raise InvalidInput(f"--expires {error}.") from None
    if time <= now:
        raise InvalidInput("--expires must be in the future; a date alone means the start of that day.")
    return time


def _time(written: str, zone: "tzinfo | None") -> str:
    from ...text.dates import minute_text, read

    return minute_text(read(written), zone)


def _settings(data: options.Data) -> "Settings":
    from ...settings import read_settings

    return read_settings(data=data and data.expanduser())


def _keys(data: options.Data) -> "ApiKeys":
    from .authentication import api_keys

    return api_keys(_settings(data))
