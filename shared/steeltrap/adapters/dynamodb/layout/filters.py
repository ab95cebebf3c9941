"""A `Filter` as conditions over the index by creation. `text/matching.py` decides the same over documents at hand."""

import json
from hashlib import blake2b
from typing import Any, Final

from ....model import FLAGS, PROJECTS, TEXTS, TIMES, Filter, Memory, to_micros
from ....text.dates import is_day
from ....text.matching import compared, fold_category, fold_tag
from .keys import MEMORIES, newest_first
from .tables import LISTED
from .typed import Value

EPISODE: Final = "episode"
"""Stands among the facts of an episode, which are digests, so that the index by creation can tell it."""
SUPERSEDED: Final = "superseded"
"""Stands there of what another memory superseded."""
DAY: Final = "day"
"""Stands there of what happened on a day without a time."""
_TEXTS: Final = tuple(name for name in TEXTS if name in LISTED)
_IN_FACTS: Final = tuple(name for name in TEXTS if name not in LISTED)
ATTRIBUTES: Final = (*_TEXTS, *TIMES, "scope")
"""The filterable fields that are attributes of an item as they are."""
_END = "~"
"""Behind every character of a key."""


class Conditions:
    """What a query asks for: the range of keys, a filter expression, its names and values."""

    def __init__(self, filter: Filter, now: int) -> None:
        self.values: dict[str, Value] = {":now": now}
        self.names: dict[str, str] = {"#expires_at": "expires_at"}
        self._said = ["(attribute_not_exists(#expires_at) OR #expires_at > :now)"]
        self._plain(filter)
        self._scope(filter)
        self._sets(filter)
        self.range = _range(filter)
        self.admits_none = any(fact(key, value) is None for key, value in filter.metadata.items())

    @property
    def expression(self) -> str:
        return " AND ".join(self._said)

    def _plain(self, filter: Filter) -> None:
        for name in _TEXTS:
            if (value := compared(filter, name)) is not None:
                self._say(name, "=", value)
        for name in TIMES:
            if name == "created_at":
                continue  # the range of keys
            bounds = zip((">=", "<"), filter.between(name), filter.between(name, days=True), strict=True)
            for place, (comparison, time, day) in zip((":after", ":before"), bounds, strict=True):
                if time is not None and day is not None:
                    self._time(name, comparison, to_micros(time), to_micros(day), f"{place}_{name}")

    def _time(self, name: str, comparison: str, time: int, day: int, place: str) -> None:
        """A condition on a moment, and on a day without a time."""
        self._say(name, comparison, time, place)
        if day == time:
            return
        self.names["#facts"] = "facts"
        self.values |= {f":{DAY}": DAY, f"{place}_day": day}
        is_day = f"contains(#facts, :{DAY})"
        is_time = f"(attribute_not_exists(#facts) OR NOT {is_day}) AND {self._said.pop()}"
        self._said.append(f"(({is_time}) OR ({is_day} AND #{name} {comparison} {place}_day))")

    def _scope(self, filter: Filter) -> None:
        if filter.scope is not None and not filter.include_child_scopes:
            self._say("scope", "=", filter.scope)
        elif filter.scope is not None:
            self._said.append(self._within("scope", filter.scope))
        if filter.project is not None:
            others, own = self._within("projects", PROJECTS), self._within("project", filter.project)
            self._said.append(f"(NOT {others} OR {own})")

    def _within(self, name: str, scope: str) -> str:
        self.names["#scope"] = "scope"
        self.values |= {f":{name}": scope, f":{name}_below": f"{scope}/"}
        return f"(#scope = :{name} OR begins_with(#scope, :{name}_below))"

    def _sets(self, filter: Filter) -> None:
        if filter.categories:
            self.names["#category"] = "category"
            some = {f":category{i}": fold_category(category) for i, category in enumerate(filter.categories)}
            self.values |= some
            self._said.append("(" + " OR ".join(f"#category = {place}" for place in some) + ")")
        asked: list[tuple[str, str]] = [("tags", fold_tag(tag)) for tag in filter.tags]
        asked += [("facts", found) for k, v in filter.metadata.items() if (found := fact(k, v)) is not None]
        asked += [("facts", text) for text in _texts(filter)]
        asked += [("facts", name) for name in FLAGS if getattr(filter, name)]
        for i, (name, member) in enumerate(asked):
            self.names[f"#{name}"] = name
            self.values[f":member{i}"] = member
            self._said.append(f"contains(#{name}, :member{i})")
        for name in FLAGS:
            if getattr(filter, name) is False:
                self._without(name)
        if not filter.include_superseded:
            self._without(SUPERSEDED)
        if not filter.episodes:
            # Turns are never listed, and neither is then any episode.
            self._without(EPISODE)

    def _without(self, fact: str) -> None:
        self.names["#facts"] = "facts"
        self.values[f":{fact}"] = fact
        self._said.append(f"(attribute_not_exists(#facts) OR NOT contains(#facts, :{fact}))")

    def _say(self, name: str, comparison: str, value: Value, place: str | None = None) -> None:
        self.names[f"#{name}"] = name
        self.values[place or f":{name}"] = value
        self._said.append(f"#{name} {comparison} {place or f':{name}'}")


def _range(filter: Filter) -> tuple[str, str]:
    first, last = MEMORIES, MEMORIES + _END
    if filter.created_before is not None:
        first = MEMORIES + newest_first(to_micros(filter.created_before) - 1)
    if filter.created_after is not None:
        last = MEMORIES + newest_first(to_micros(filter.created_after)) + _END
    return first, last


def facts(memory: Memory) -> set[str]:
    """What the index by creation has no attribute of its own for: plain metadata, texts, flags, whether it is an
    episode, whether it was superseded, and whether it happened on a day without a time."""
    found = {one for one in (fact(key, value) for key, value in memory.metadata.items()) if one}
    on_day = memory.occurred_at is not None and is_day(memory.occurred_at)
    kinds = ((EPISODE, memory.is_episode), (SUPERSEDED, memory.is_superseded()), (DAY, on_day))
    flags = {name for name in FLAGS if getattr(memory, name)}
    return found | _texts(memory) | flags | {kind for kind, holds in kinds if holds}


def _texts(source: Memory | Filter) -> set[str]:
    return {_digest({name: text}) for name in _IN_FACTS if (text := getattr(source, name)) is not None}


def of_import(import_id: str) -> str:
    """The fact of the memories and turns that an import brought."""
    return _digest({"import_id": import_id})


def fact(key: str, value: Any) -> str | None:
    """What stands for a plain value of metadata under a key; None for a list or an object, which nothing equals."""
    if isinstance(value, list | dict):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _digest([key, value])


def _digest(value: Any) -> str:
    return blake2b(json.dumps(value, ensure_ascii=False).encode(), digest_size=8).hexdigest()
