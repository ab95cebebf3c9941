"""config and keys: the settings that hold, and the API keys that a server admits."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from unicodedata import category

import typer

from ..errors import InvalidInput
from ..model import UserRef
from . import terminal
from .session import complain, say, write_json

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from ..model import JsonObject
    from ..servers.auth.api_keys import ApiKey, ApiKeys
    from ..settings import Settings

_HIDDEN: Final = "********"
_CREDENTIALS: Final = re.compile(r"://[^/?#]*@")
_QUERY: Final = re.compile(r"[?#].*")


Setting = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=terminal.setting_choices, help="The setting, such as cache_mb.")
]

config: Final = typer.Typer(add_completion=False, rich_markup_mode=None)
keys: Final = typer.Typer(
    add_completion=False,
    help="API keys for `steeltrap serve --auth keys`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@config.callback(invoke_without_command=True)
def show_settings(
    context: typer.Context,
    data: terminal.Data = None,
    user: terminal.User = None,
    agent: terminal.Agent = None,
    as_json: terminal.Json = False,
) -> None:
    """Show the settings, or keep one with `config set`.

    A value comes from an option, else from the environment, else from steeltrap.toml in the data folder, else it is
    the default. Secrets are masked.
    """
    if context.invoked_subcommand is not None:
        context.obj = data
        return
    from ..settings import FIELDS, PREFIX, gather, settings_of

    gathered = gather(data=data and data.expanduser(), user=user, agent=agent)
    settings = settings_of(gathered)
    rows = []
    for name in FIELDS:
        source = gathered.by_name[name].source if name in gathered.by_name else "default"
        rows.append({"name": PREFIX + name.upper(), "value": printable_value(settings, name), "source": source})
    if as_json:
        write_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        value = "" if row["value"] is None else str(row["value"])
        line = f"{row['name']:{width}}  {row['source']:11}  {value}".rstrip()
        say((line, "" if row["source"] == "default" else "bold"))


@config.command("set")
def set_setting(
    context: typer.Context,
    name: Setting,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value; `-` reads it from stdin.")],
    data: terminal.Data = None,
) -> None:
    """Keep a setting in steeltrap.toml of the data folder.

    It then holds for every program that opens the folder: commands, servers, hooks and clients. Environment variables
    and options go first. Only its owner can read the file.
    """
    from ..settings import checked_value, setting_named

    name = setting_named(name)
    value = sys.stdin.read().rstrip("\r\n") if value == "-" else value
    if not value:
        raise InvalidInput(f"Give a value for `{name}`; `steeltrap config unset {name}` takes it back to the default.")
    checked = checked_value(name, value)
    settings = keep(data or context.obj, {name: checked})
    say(f"{name} = {_masked(settings, name, checked)}")
    _say_afterwards(name)


@config.command("unset")
def unset_setting(
    context: typer.Context,
    name: Setting,
    data: terminal.Data = None,
) -> None:
    """Take a setting out of steeltrap.toml, so that its default holds again."""
    from ..settings import setting_named

    name = setting_named(name)
    settings = keep(data or context.obj, {name: None})
    say(f"{name} has its default again: {printable_value(settings, name)}".rstrip(": "))
    _say_afterwards(name)


def keep(data: Path | None, values: "dict[str, str | int | float | bool | None]") -> "Settings":
    """Keep these values in the folder's file; the default settings. Raises InvalidInput, and changes nothing then."""
    from .. import settings_file
    from ..settings import Settings, gather

    # A file with another mistake can be mended by hand only, so it is refused before it is written again.
    folder = gather(data=data and data.expanduser()).folder
    text = settings_file.text_in(folder)
    new = settings_file.changed(text, values)
    if new != (text or ""):
        settings_file.write(folder, new)
    return Settings()


def _masked(settings: "Settings", name: str, value: str | int | float | bool) -> Any:
    masked = printable_value(settings.with_values(**{name: value}), name)
    return str(masked).lower() if isinstance(masked, bool) else masked


def _say_afterwards(name: str) -> None:
    from ..settings import PREFIX

    if os.environ.get(PREFIX + name.upper()):
        say(f"{PREFIX}{name.upper()} is set in the environment and goes first.", error=True)
    if name.startswith("embedder"):
        complain("If memories are stored already, run `steeltrap reembed`.")
    say("A running server takes it at its next start.", error=True)


def printable_value(settings: "Settings", name: str) -> Any:
    """A setting's value, without what only its reader may know."""
    from ..settings import FIELDS

    value = settings.as_json()[name]
    if not isinstance(value, str):
        return value
    if "://" in value:  # an address may have a password, and a key in its query
        return _QUERY.sub(f"?{_HIDDEN}", _CREDENTIALS.sub(f"://{_HIDDEN}@", value))
    return _HIDDEN if value and not FIELDS[name].repr else value


_UNSHOWN: Final = ("Cc", "Cs", "Zl", "Zp")


@keys.command("add")
def add_key(
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
        list[str] | None,
        typer.Option(
            "--toolset",
            metavar="NAME",
            autocompletion=terminal.toolset_choices,
            help="Allow only this toolset; can be repeated.",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            "--expires", metavar="DATE", help="When the key expires: a date, at whose start it does, or a time in UTC."
        ),
    ] = None,
    as_json: terminal.Json = False,
    data: terminal.Data = None,
    timezone: terminal.Timezone = None,
) -> None:
    """Create a key and print it.

    The key is shown only once, because only a digest of it is stored. A running server accepts it at once.
    """
    from ..invoke import identified
    from ..model import Caller, Permissions
    from ..runtime import SystemClock
    from ..toolsets import CATALOGUE

    for option, value in (("--user", user), ("--tenant", tenant), ("--agent", agent or ""), ("--name", name)):
        if any(category(character) in _UNSHOWN for character in value):
            raise InvalidInput(f"{option} contains a control character or line break; remove it.")
    permissions = Permissions(read_only=read_only, toolsets=tuple(dict.fromkeys(toolset or ())), untrusted=untrusted)
    for toolset_name in permissions.toolsets:
        CATALOGUE.toolset(toolset_name)
    now = SystemClock().now()
    caller = identified(Caller(UserRef(user, tenant), agent, None, permissions=permissions))
    key, secret = _keys(data).add(
        caller, name, now, None if expires is None else _expiry(expires, now, _settings(data, timezone).zone)
    )
    if as_json:
        write_json({"key": secret, **_key_shown(key)})
        return
    say(secret)
    complain(f"It opens the memories of {user} and is not shown again. To revoke it: `steeltrap keys revoke {key.id}`.")


@keys.command("list")
def list_keys(as_json: terminal.Json = False, data: terminal.Data = None, timezone: terminal.Timezone = None) -> None:
    """List the keys, oldest first, with their users and permissions.

    The keys themselves are not stored.
    """
    from ..runtime import SystemClock

    now = SystemClock().now()
    zone, keys = _settings(data, timezone).zone, _keys(data).all()
    if as_json:
        write_json([_key_shown(key) for key in keys])
        return
    for key in keys:
        parts = [f"user {key.user_id}"]
        parts += [f"tenant {key.tenant}"] if key.tenant else []
        parts += [f"agent {key.agent_id}"] if key.agent_id else []
        parts += [f"toolset {toolset}" for toolset in key.permissions.toolsets]
        parts += ["read only"] if key.permissions.read_only else []
        parts += ["untrusted"] if key.permissions.untrusted else []
        if key.expires_at:
            parts.append(f"{'expired' if key.has_expired(now) else 'expires'} {_time(key.expires_at, zone)}")
        say((key.id, "bold"), f"  {_time(key.created_at, zone)}  {', '.join(parts)}  {key.name}".rstrip())
    if not keys:
        complain("No API keys. Create one with `steeltrap keys add --user ID`.")


@keys.command("revoke")
def revoke_key(
    id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, from `keys list`.")],
    data: terminal.Data = None,
) -> None:
    """Revoke a key: a running server refuses it from the next call on, or within 60 s if the keys are in a bucket."""
    _keys(data).revoke(id)
    say(f"The key {id} is revoked.")


def _key_shown(key: "ApiKey") -> "JsonObject":
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


def _expiry(text: str, now: "datetime", zone: "tzinfo | None") -> "datetime":
    from ..record import read_time

    try:
        time = read_time(text, zone)
    except ValueError as error:
        raise InvalidInput(f"--expires {error}.") from None
    if time <= now:
        raise InvalidInput("--expires must be in the future; a date alone means the start of that day.")
    return time


def _time(text: str, zone: "tzinfo | None") -> str:
    from ..text.dates import minute_text, read

    return minute_text(read(text), zone)


def _settings(data: terminal.Data, timezone: terminal.Timezone = None) -> "Settings":
    from ..settings import read_settings

    return read_settings(data=data and data.expanduser(), timezone=timezone)


def _keys(data: terminal.Data) -> "ApiKeys":
    from ..servers.process.authentication import api_keys

    return api_keys(_settings(data))
