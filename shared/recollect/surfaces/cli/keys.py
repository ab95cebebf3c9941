"""keys add, keys list and keys revoke: the API keys that `recollect serve --auth keys` admits."""

from typing import TYPE_CHECKING, Annotated, Final
from unicodedata import category

import typer

from ...errors import InvalidInput
from . import options
from .output import say, write_json

if TYPE_CHECKING:
    from ..api_keys import ApiKeys

_UNSHOWN: Final = ("Cc", "Cs", "Zl", "Zp")


def register(app: typer.Typer) -> None:
    keys = typer.Typer(help="API keys for `recollect serve --auth keys`.", no_args_is_help=True, rich_markup_mode=None)
    keys.command()(add)
    keys.command(name="list")(list_)
    keys.command()(revoke)
    app.add_typer(keys, name="keys")


def add(
    user: Annotated[str, typer.Option("--user", metavar="ID", help="Whose memories the key opens.")],
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant.")] = "",
    agent: Annotated[str | None, typer.Option("--agent", metavar="ID", help="As which agent it calls.")] = None,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What the key is for, to know it again.")] = "",
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Make a key and show it, this once: only a digest of it is kept. A server that runs admits it at once."""
    from ...invoke import identified
    from ...model import Caller
    from ...runtime import SystemClock

    for option, given in (("--user", user), ("--tenant", tenant), ("--agent", agent or ""), ("--name", name)):
        if any(category(character) in _UNSHOWN for character in given):
            raise InvalidInput(f"{option} has a control character or a line break; leave it out.")
    caller = identified(Caller(user, agent, None, tenant))
    key, secret = _keys(data).add(caller, name, SystemClock().now())
    if as_json:
        write_json({"id": key.id, "key": secret, "user": user, "tenant": tenant, "agent": agent, "name": name})
        return
    say(secret)
    say(
        f"It opens the memories of {user} and is not shown again; `recollect keys revoke {key.id}` ends it.", error=True
    )


def list_(as_json: options.Json = False, data: options.Data = None) -> None:
    """List the keys, oldest first: ids and whose they are. The keys themselves are kept nowhere."""
    known = [
        {
            "id": key.id,
            "user": key.user_id,
            "tenant": key.tenant,
            "agent": key.agent_id,
            "name": key.name,
            "created_at": key.created_at,
        }
        for key in _keys(data).all()
    ]
    if as_json:
        write_json(known)
        return
    for key in known:
        parts = [f"user {key['user']}"]
        parts += [f"{what} {key[what]}" for what in ("tenant", "agent") if key[what]]
        say((str(key["id"]), "bold"), f"  {key['created_at']}  {', '.join(parts)}  {key['name']}".rstrip())
    if not known:
        say("No API keys; `recollect keys add --user ID` makes one.", error=True)


def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `keys list` shows it.")],
    data: options.Data = None,
) -> None:
    """End a key: a server that runs refuses it from the next call on."""
    _keys(data).revoke(id)
    say(f"The key {id} is revoked.")


def _keys(data: options.Data) -> "ApiKeys":
    from ...settings import read_settings
    from .authentication import api_keys

    return api_keys(read_settings(data=data and data.expanduser()))
