"""config: the settings that hold, and where each comes from."""

import re
from typing import TYPE_CHECKING, Any, Final

import typer

from . import options
from .output import say, write_json

if TYPE_CHECKING:
    from ...settings import Settings

_HIDDEN: Final = "********"
_CREDENTIALS: Final = re.compile(r"://[^/?#]*@")
_QUERY: Final = re.compile(r"[?#].*")


def register(app: typer.Typer) -> None:
    app.command()(config)


def config(
    data: options.Data = None, user: options.User = None, agent: options.Agent = None, as_json: options.Json = False
) -> None:
    """Print every setting that holds, and whether it is a default or comes from the environment or an option.

    Secrets are masked. Set a variable of this name to change a setting.
    """
    from ...settings import PREFIX, read_settings

    settings = read_settings(data=data and data.expanduser(), user=user, agent=agent)
    given = {"data": data, "user": user, "agent": agent}
    rows = []
    for name in type(settings).model_fields:
        source = "default"
        if name in settings.model_fields_set:
            source = "environment" if given.get(name) is None else "option"
        rows.append({"name": PREFIX + name.upper(), "value": _shown(settings, name), "source": source})
    if as_json:
        write_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        value = "" if row["value"] is None else str(row["value"])
        line = f"{row['name']:{width}}  {row['source']:11}  {value}".rstrip()
        say((line, "" if row["source"] == "default" else "bold"))


def _shown(settings: "Settings", name: str) -> Any:
    """A setting's value, without what only its reader may know."""
    value = settings.model_dump(mode="json", include={name})[name]
    if not isinstance(value, str):
        return value
    if "://" in value:  # an address may have a password, and a key in its query
        return _QUERY.sub(f"?{_HIDDEN}", _CREDENTIALS.sub(f"://{_HIDDEN}@", value))
    return _HIDDEN if value and not type(settings).model_fields[name].repr else value
