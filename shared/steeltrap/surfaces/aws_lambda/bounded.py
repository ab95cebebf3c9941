"""Answers cut to the size that a platform takes: still valid JSON, and it says what was cut and how to go on."""

import copy
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

from ...tools import Tool
from ..http.reply import compact

CUT: Final = "cut"
"""The field of a cut answer that says so."""

_NOTE_BYTES: Final = 600
_LIMITS: Final = ("limit", "top_k")
_SHOWN: Final = 3


def bounded(body: Any, most: int, tool: Tool, arguments: Mapping[str, Any]) -> Any:
    """The answer to a call, cut where its JSON has more than `most` bytes.

    Whole items are left off the end of the largest list; where no list is left to shorten, the longest text is.
    """
    if _size(body) <= most:
        return body
    small, cuts = copy.deepcopy(body), dict[str, str]()
    while (excess := _size(small) + _NOTE_BYTES - most) > 0:
        before = _size(small)
        small = _shorter(small, excess, "", cuts)
        if _size(small) >= before:
            small = {}  # nothing in it can be cut
            break
    note = _note(cuts, tool, arguments, _kept(body, small))
    if isinstance(small, str):
        return f"{small}\n\n[{note}]"
    return {CUT: note, **(small if isinstance(small, dict) else {"result": small})}


def _shorter(value: Any, excess: int, where: str, cuts: dict[str, str]) -> Any:
    if isinstance(value, str):
        room = _size(value) - excess
        text = value[: max(0, bisect_right(range(len(value) + 1), room, key=lambda end: _size(value[:end])) - 1)]
        cuts[where] = f"{_named(where, 'the text')} is cut after {len(text):,} characters"
        return text
    if isinstance(value, list) and len(value) > 1:
        kept = list(value)
        while len(kept) > 1 and excess > 0:
            excess -= _size(kept.pop()) + 1
        cuts[where] = f"{_named(where, 'the list')} has only its first {len(kept)}"
        return kept
    if not isinstance(value, list | dict) or not value:
        return value
    keys = range(len(value)) if isinstance(value, list) else list(value)
    largest = max(keys, key=lambda key: _size(value[key]))
    value[largest] = _shorter(value[largest], excess, f"{where}.{largest}".lstrip("."), cuts)
    return value


def _note(cuts: Mapping[str, str], tool: Tool, arguments: Mapping[str, Any], kept: int | None) -> str:
    said = list(cuts.values())
    more = f", and {len(said) - _SHOWN} other fields are cut" if len(said) > _SHOWN else ""
    return f"This answer was too large: {'; '.join(said[:_SHOWN])}{more}. {_advice(tool, arguments, kept)}"


def _advice(tool: Tool, arguments: Mapping[str, Any], kept: int | None) -> str:
    fields = tool.input_schema["properties"]
    if kept is None:
        return "Ask for less to see a whole answer."
    if "offset" in fields:
        given = str(arguments.get("offset") or 0)
        return f"To go on, call again with `offset` {int(given) + kept if given.isdecimal() else kept}."
    limit = next((name for name in _LIMITS if name in fields), None)
    if limit is not None:
        return (
            f"To see every part of an answer, call again with `{limit}` {kept} or less, or ask for something narrower."
        )
    return "Ask for less to see a whole answer."


def _kept(body: Any, small: Any) -> int | None:
    """How many items of the answer's own list are left, None if that list is whole."""
    if isinstance(body, list) and isinstance(small, list):
        return len(small) if len(small) < len(body) else None
    if isinstance(body, dict) and isinstance(small, dict):
        shortened = [name for name, value in body.items() if isinstance(value, list) and value != small.get(name)]
        return len(small[shortened[0]]) if len(shortened) == 1 and shortened[0] in small else None
    return None


def _named(where: str, otherwise: str) -> str:
    return f"`{where}`" if where else otherwise


def _size(value: Any) -> int:
    return len(compact(value).encode("utf-8", "surrogatepass"))
