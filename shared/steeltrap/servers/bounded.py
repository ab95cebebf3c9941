"""Answers cut to a size that a model can take. They keep their form, and a sentence says what was cut and how to go on.

Whole items are left off the end of the longest list. Only what is too long by itself is shortened.
"""

from collections.abc import Mapping
from itertools import accumulate, takewhile
from typing import Any, Final

from ..text.words import most_tokens
from ..tools import Tool
from .http import compact

MAX_TOKENS: Final = 25_000
"""Tokens of one answer: the most that Claude Code takes by default."""
ROOM: Final = MAX_TOKENS - 1_000
"""The share of them for the answer itself: the rest is for what is said of it, and for tokens that were not foreseen.
"""
CUT: Final = "cut"

_LIMITS: Final = ("limit", "top_k", "per_page")
_CAPS: Final = tuple(2**power for power in range(15, 2, -1))


def bounded(body: Any, max_tokens: int, tool: Tool, arguments: Mapping[str, Any]) -> tuple[Any, str | None]:
    """A tool's answer within `max_tokens`, and a notice if something was cut."""
    if _fits(body, max_tokens):
        return body, None
    name, items = _longest_list(body)
    first = _first(items, max_tokens - _tokens(_with(body, name, [])))
    small, note = _with(body, name, first), f"Only the first {len(first):,} of {len(items):,} are shown."
    if not first or not _fits(small, max_tokens):
        small = _shortened(_with(body, name, items[:1]), max_tokens)
        note = "Long texts and lists are shortened."
        first = items[:1]
    if tool.cursor and first and isinstance(small, dict) and len(first) < len(items):
        small["next"] = tool.cursor(first[-1])
        return small, f"{note} Continue with `after`: the `next` of this answer."
    return small, f"{note} {_advice(tool, arguments, len(first), len(items))}".rstrip()


def with_note(body: Any, note: str | None) -> Any:
    """A cut answer with its note in the field `cut`, for surfaces whose answer is one value."""
    if note is None:
        return body
    if isinstance(body, str):
        return f"{body}\n\n[{note}]"
    return {CUT: note, **(body if isinstance(body, dict) else {"result": body})}


def _advice(tool: Tool, arguments: Mapping[str, Any], count: int, total: int) -> str:
    fields = tool.input_schema["properties"]
    if count < total and "offset" in fields and not arguments.get("max_tokens"):
        return f"Continue with `offset` {int(float(arguments.get('offset') or 0)) + count}."
    limit = next((name for name in _LIMITS if name in fields), None)
    return f"Ask for something narrower, or for `{limit}` {max(1, count)} at most." if limit else ""


def _longest_list(body: Any) -> tuple[str | None, list[Any]]:
    """The list that an answer is, or has the most text in, with its name."""
    if isinstance(body, list):
        return None, body
    lists = {name: value for name, value in body.items() if isinstance(value, list)} if isinstance(body, dict) else {}
    return max(lists.items(), key=lambda pair: len(compact(pair[1])), default=("", []))


def _with(body: Any, name: str | None, items: list[Any]) -> Any:
    if name is None:
        return items
    return {**body, name: items} if name else body


def _first(items: list[Any], room: int) -> list[Any]:
    """The items from the front that fit."""
    sums = accumulate(_tokens(item) + 1 for item in items)
    return items[: sum(1 for _ in takewhile(lambda used: used <= room, sums))]


def _shortened(body: Any, max_tokens: int) -> Any:
    """The same with no text, list or object longer than it can be."""
    return next((small for cap in _CAPS if _fits(small := _capped(body, cap), max_tokens)), _capped(body, 1))


def _capped(value: Any, cap: int) -> Any:
    if isinstance(value, str) and len(value) > cap:
        return f"{value[:cap]}... ({len(value) - cap:,} more characters)"
    if isinstance(value, list):
        return [_capped(item, cap) for item in value[:cap]]
    if isinstance(value, dict):
        return {name: _capped(value[name], cap) for name in list(value)[:cap]}
    return value


def _fits(body: Any, max_tokens: int) -> bool:
    text = _text(body)
    # No token is less than a byte.
    return 4 * len(text) <= max_tokens or _tokens(body) <= max_tokens


def _tokens(body: Any) -> int:
    return most_tokens(_text(body))


def _text(body: Any) -> str:
    return body if isinstance(body, str) else compact(body)
