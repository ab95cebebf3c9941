"""A call and its answer as they cross between processes, and the failures of the way between.

A server's errors come back as the types that it raised. What no server said is a `NoAnswer`, or an `Unavailable` that
no retry helps, when something else than steeltrap answers. A failure is never an empty answer.
"""

import json
import math
from collections import UserString
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, NamedTuple, Protocol
from uuid import UUID

from ..errors import InvalidInput, SteeltrapError, TooLarge, Unavailable, restored
from ..text.json_limits import MAX_JSON_DEPTH, Path, check_json, path_text
from ..version import VERSION

_SHOWN: Final = 200
_PLAIN: Final = frozenset({type(None), bool, int, float, str})
_MOST_REPEATED: Final = 1 << 18
"""Values that may be sent again because lists share them. Thirty lists that hold the next one twice mean a billion."""


class ToolRow(NamedTuple):
    """A tool for its callers. `seconds` is how long it may take, and `fields` are those that its answer always has.

    `repeats` says when a call whose answer was lost may be sent again: always, under an idempotency key, or never.
    """

    operation: str
    repeats: Literal["always", "by_key", "never"]
    seconds: float
    answer: Literal["object", "array", "string"]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool. `idempotency_key` and `timezone` are None where nothing is to be said."""

    tool: str
    row: ToolRow
    arguments: Mapping[str, Any]
    idempotency_key: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a call: the body, or the error. `outcome` says what happened in a search."""

    body: Any = None
    error: SteeltrapError | None = None
    outcome: dict[str, Any] | None = None


class Transport(Protocol):
    """A way to reach the tools. Safe for many threads."""

    def send(self, call: Call) -> Answer:
        """The answer to one attempt. Raises NoAnswer when none came."""
        ...

    def as_user(self, user: str, *, agent: str | None, conversation: str | None, timezone: str | None) -> "Transport":
        """The same way for another user. Raises InvalidInput where the credentials say who the user is."""
        ...

    def close(self) -> None: ...


class NoAnswer(Unavailable):
    """No answer came. `sent` says whether the call may have been carried out."""

    def __init__(self, message: str, *, sent: bool = True, part: str = "server", **facts: Any) -> None:
        super().__init__(message, part=part, **facts)
        self.sent = sent


def not_ours(message: str) -> Unavailable:
    """The error of an answer that this client can't read, which another attempt wouldn't change."""
    return Unavailable(message, retryable=False, part="server")


def encoded(call: Call, value: Any) -> bytes:
    """A value that has the arguments `as_sent`, as JSON. Raises InvalidInput for what JSON can't hold."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        check_json(as_sent(call.arguments))  # names the field
        raise InvalidInput(f"The arguments of `{call.tool}` are no JSON ({error}); give plain values.") from None


def as_sent(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the other side of a connection reads them: dates and ids as texts, sets and sequences as lists.

    What JSON can't hold stays as it is, to be refused by its field. Raises InvalidInput for what holds itself, for two
    keys that are one text, and for arguments without names; and TooLarge.
    """
    if not isinstance(arguments, Mapping):
        raise InvalidInput(f'The arguments must be a dict, such as {{"query": "dark mode"}}; got {_kind(arguments)}.')
    if all(type(name) is str and type(value) in _PLAIN for name, value in arguments.items()):
        return dict(arguments)
    sent = _Sending().plain(arguments, (), 0)
    assert isinstance(sent, dict)
    return sent


def tool_name(tool: object) -> str:
    """The name of a tool. Raises InvalidInput for what is no text."""
    if not isinstance(tool, str):
        raise InvalidInput(f"A tool is called by its name, such as 'core.save'; got {_kind(tool)}.")
    return tool


def _kind(value: object) -> str:
    return f"a value of type `{type(value).__name__}`"


class _Sending:
    """The arguments of one call on their way: what holds the value at hand, and how much was met more than once."""

    def __init__(self) -> None:
        self._holders: set[int] = set()
        self._met: set[int] = set()
        self._repeated = 0

    def plain(self, value: Any, path: Path, depth: int) -> Any:
        if type(value) in _PLAIN or depth > MAX_JSON_DEPTH:
            return value
        form = _form(value)
        if not isinstance(form, dict | list):
            return form
        if id(value) in self._holders:
            raise InvalidInput(f"`{path_text(path)}` is one of the values that hold it; send a value without circles.")
        if id(value) in self._met:
            self._repeated += len(form)
            if self._repeated > _MOST_REPEATED:
                raise TooLarge(
                    f"`{path_text(path)}` repeats more than {_MOST_REPEATED:,} shared values; send each once."
                )
        self._met.add(id(value))
        self._holders.add(id(value))
        sent: Any
        if isinstance(form, dict):
            sent = {}
            for key, item in form.items():
                if (name := _key(key)) in sent:
                    where = path_text(path) or "arguments"
                    raise InvalidInput(f"`{where}` has two keys that JSON writes as {json.dumps(name)}; rename one.")
                sent[name] = self.plain(item, (path, str(name)), depth + 1)
        else:
            sent = [self.plain(item, (path, str(number)), depth + 1) for number, item in enumerate(form)]
        self._holders.remove(id(value))
        return sent


def _form(value: object) -> object:
    """A text, an object or a list in place of a value that JSON can't hold; itself where there is none."""
    if isinstance(value, dict | list):
        return value
    # Of a class of its own, such as a member of an IntEnum.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    if isinstance(value, UUID | UserString):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    return value


def _key(key: object) -> object:
    """A key of an object: JSON has texts only. NaN and Infinity have none."""
    if isinstance(key, UserString):
        return str(key)
    is_plain = key is None or isinstance(key, int) or (isinstance(key, float) and math.isfinite(key))
    return json.dumps(key) if is_plain else key


def checked(call: Call, body: Any, place: str) -> Any:
    """The body of a good answer. Raises Unavailable when it isn't what this version's tool answers."""
    kinds: dict[str, type[Any]] = {"object": dict, "array": list, "string": str}
    if not isinstance(body, kinds[call.row.answer]):
        problem = f"is no {call.row.answer}"
    elif missing := [name for name in call.row.fields if name not in body]:
        problem = f"lacks `{missing[0]}`"
    else:
        return body
    raise not_ours(
        f"The answer of {place} to `{call.tool}` {problem}, so it may be of another version than this client "
        f"({VERSION}). Install the same version of steeltrap on both sides."
    )


def described(facts: Mapping[str, Any], *, message: str, place: str) -> SteeltrapError:
    """The error that an answer describes in JSON: `code`, `retryable`, `type`, and the facts beside them."""
    code = facts.get("code")
    if not isinstance(code, str) or not isinstance(facts.get(message), str):
        return not_ours(f"{place} answered with an error that this client ({VERSION}) can't read: {excerpt(facts)}")
    name = str(facts.get("type", "")).rpartition(":")[2]
    standard = {message, "code", "retryable", "type", "title", "status"}
    details = {key: value for key, value in facts.items() if key not in standard}
    return restored(name, code, facts[message], retryable=bool(facts.get("retryable")), details=details)


def excerpt(value: Any) -> str:
    """The start of something that came as an answer, for a message."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    text = " ".join(text[: _SHOWN + 1].split())
    return f"{text[:_SHOWN]}..." if len(text) > _SHOWN else text
