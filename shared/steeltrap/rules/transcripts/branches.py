"""Branches: messages that name the message before them, and the way from the first one to the last one. Pure.

An edited question or an answer made again starts a branch. Every reader of such a form follows the last branch. A file
may lack a message that another one names, because a line is damaged or an export is cut. The message before it in the
file takes its place, so that nothing else is lost.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

LEFT: Final = "messages of branches that were left"
"""What readers call the messages that are not on the way."""

Parents = Mapping[str, str | None]
"""The id of the message before each message, in the order of the file; None for a first message."""


def mended(named: Parents, is_root: Callable[[str], bool] = lambda parent: False) -> dict[str, str | None]:
    """The same with a message of the file for each parent that the file doesn't have, unless `is_root` says that the
    name stands for the beginning."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for id, parent in named.items():
        is_there = parent is None or (parent in named and parent != id)
        parents[id] = parent if is_there else None if is_root(parent or "") else before
        before = id
    return parents


def way(parents: Parents, leaf: str | None) -> list[str]:
    """The ids from the first message to `leaf`. Messages that name each other in a circle count once."""
    ids: dict[str, None] = {}
    while leaf is not None and leaf not in ids:
        ids[leaf] = None
        leaf = parents.get(leaf)
    return list(ids)[::-1]


def last_leaf(parents: Parents, times: Mapping[str, float], among: Collection[str]) -> str | None:
    """The latest of some messages that no other one follows; of those without a time the last one in the file."""
    followed = set(parents.values())
    leaves = [id for id in among if id not in followed] or list(among)
    place = {id: number for number, id in enumerate(parents)}
    return max(leaves, key=lambda id: (times.get(id, 0.0), place[id]), default=None)


def left(parents: Parents, kept: Collection[str], prompts: Collection[str], ids: Iterable[str]) -> set[str]:
    """The ids that hang on the way only by a prompt that the user went back from.

    What a program writes beside an answer, such as a summary of its hooks, branches off too, and no user left that.
    """
    known: dict[str, bool] = dict.fromkeys(kept, False)
    for id in ids:
        passed: list[str] = []
        at: str | None = id
        while at is not None and at not in known:
            passed.append(at)
            known[at] = at in prompts
            at = None if known[at] else parents.get(at)
        was_left = known[at] if at is not None else bool(passed) and known[passed[-1]]
        known |= dict.fromkeys(passed, was_left)
    return {id for id in ids if known[id]}
