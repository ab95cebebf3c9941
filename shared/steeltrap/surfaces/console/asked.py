"""Requests to pages and their answers: plain values, so that pages need no framework."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import quote, urlencode

from ...errors import SteeltrapError
from ...invoke import Door
from ...model import Caller, JsonObject
from ...model.frozen import frozen
from ...text.dates import zone_of

Fields = Mapping[str, list[str]]
"""The fields of a query or a form; each may come several times."""


@frozen
class Asked:
    """One request of somebody who is known. `fragment` is true where htmx asks for a part of a page. `timezone` is a
    zone that there is, which the browser named."""

    door: Door
    caller: Caller
    id: str = ""
    query: Fields = field(default_factory=dict)
    form: Fields = field(default_factory=dict)
    fragment: bool = False
    timezone: str | None = None

    def ask(self, tool: str, *, once: str | None = None, **arguments: Any) -> Any:
        """The answer of a tool of `core`; arguments that are None are left out. `once` makes a repeated call count
        once. Raises the SteeltrapError that the call met."""
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self.door.invoke(f"core.{tool}", given, self.caller, idempotency_key=once, timezone=self.timezone)
        if result.error is not None:
            raise result.error
        return result.body

    def find(self, tool: str, **arguments: Any) -> Any | None:
        """The same, None for what isn't there."""
        try:
            return self.ask(tool, **arguments)
        except SteeltrapError as error:
            if error.code != "not_found":
                raise
            return None

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the dates that are shown: the browser's, else the setting's, None for the machine's own."""
        return self.door.rules.zone if self.timezone is None else zone_of(self.timezone)

    @property
    def now(self) -> datetime:
        return self.door.clock.now()

    @property
    def writes(self) -> bool:
        return not self.caller.permissions.read_only


def first(fields: Fields, name: str) -> str:
    """The first value of a field, "" without one."""
    return fields.get(name, [""])[0]


@frozen
class Page:
    """A page, or for htmx the template `part` of it."""

    template: str
    values: JsonObject
    part: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a browser goes after a change, so that reloading doesn't repeat it."""

    to: str


Reply = Page | Redirect


def url(path: str, **query: str | int | list[str] | None) -> str:
    """A path of this server with a query; what is None or empty is left out."""
    given = {name: value for name, value in query.items() if value not in (None, "", [])}
    return path + (f"?{urlencode(given, doseq=True)}" if given else "")


def memory_url(id: str, action: str = "") -> str:
    return f"/console/memories/{quote(id, safe='')}" + (f"/{action}" if action else "")


def own_path(text: str) -> str:
    """A path of this server as a form names it, "/" for anything that a browser could take for another site."""
    fine = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() and "\\" not in text
    return text if fine else "/"
