"""Messages of transcripts: how the lines of all of them are read, and which branch of a conversation is the last.

An edited question or an answer made again starts a branch. Every reader of such a form follows the last branch. A file
may lack a message that another one names, because a line is damaged or an export is cut. The message before it in the
file takes its place, so that nothing else is lost. Pure.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

from ...model.frozen import frozen
from ..json_pieces import parsed

Role = Literal["user", "assistant"]

_UNKEPT: Final = re.compile(r"[\x00\ud800-\udfff]")
"""Characters that no store can keep: NUL, and halves of surrogate pairs that a program cut apart."""
_TAG: Final = re.compile(r"<(/?)([a-z_-]++)>")


@frozen
class TranscriptMessage:
    """One message of a transcript. Its id is the transcript's own, and the same whenever the file is read again."""

    id: str
    role: Role
    content: str
    time: datetime | None = None


def json_object(line: str | bytes) -> Mapping[str, Any]:
    """The object on a line. Raises ValueError for anything else, such as a line that isn't written to its end."""
    try:
        value = parsed(line if isinstance(line, str) else line.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def text_of(content: object, kinds: tuple[str, ...] = ("text",)) -> str:
    """The text of a message: a string, or the blocks of these kinds. Images, thoughts and tool calls are left out."""
    if isinstance(content, str):
        return cleaned(content)
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") in kinds]
    return cleaned("\n\n".join(text for text in texts if isinstance(text, str)))


def cleaned(text: str) -> str:
    """The text as a store can keep it, without the space around it."""
    return _UNKEPT.sub("\ufffd", text).strip()


def without_elements(text: str, is_added: Callable[[str], bool]) -> str:
    """The text without the elements that a program added, from `<name>` to the first `</name>` after it. A tag that
    nothing closes is text. The time is linear, however many tags there are."""
    tags = [tag for tag in _TAG.finditer(text) if is_added(tag[2])]
    closing: dict[str, list[int]] = {}  # where the elements of a name end, the last one first
    for tag in reversed(tags):
        if tag[1]:
            closing.setdefault(tag[2], []).append(tag.end())
    parts, end = [], 0
    for tag in tags:
        ends = closing.get(tag[2], [])
        while ends and ends[-1] <= tag.end():
            ends.pop()
        if ends and not tag[1] and tag.start() >= end:
            parts.append(text[end : tag.start()])
            end = ends[-1]
    return "".join([*parts, text[end:]])


def elements(text: str, name: str) -> Iterator[str]:
    """The text in each `<name>`, up to the first `</name>` after it."""
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        yield text[start + len(opening) : end]
        start = text.find(opening, end + len(closing))


def time_of(value: object) -> datetime | None:
    """A time such as 2026-03-02T09:15:00.123Z, None if it isn't one. A time without a zone is UTC."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def within(value: object, name: str) -> Mapping[str, Any]:
    """The object under a name, empty where there is none."""
    item = value.get(name) if isinstance(value, Mapping) else None
    return item if isinstance(item, dict) else {}


LEFT: Final = "messages of branches that were left"
"""The name that readers give to the messages that are not on the way."""

Parents = Mapping[str, str | None]
"""The id of the message before each message, in the order of the file; None for a first message."""


def mended(references: Parents, is_root: Callable[[str], bool] = lambda parent: False) -> dict[str, str | None]:
    """The same with a message of the file for each parent that the file doesn't have, unless `is_root` says that the
    name stands for the beginning."""
    parents: dict[str, str | None] = {}
    before: str | None = None
    for id, parent in references.items():
        is_there = parent is None or (parent in references and parent != id)
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


def abandoned_ids(
    parents: Parents, path_ids: Collection[str], prompts: Collection[str], ids: Iterable[str]
) -> set[str]:
    """The ids that hang on the way only by a prompt that the user went back from.

    What a program writes beside an answer, such as a summary of its hooks, branches off too, and no user left that.
    """
    verdicts: dict[str, bool] = dict.fromkeys(path_ids, False)
    for id in ids:
        passed: list[str] = []
        at: str | None = id
        while at is not None and at not in verdicts:
            passed.append(at)
            verdicts[at] = at in prompts
            at = None if verdicts[at] else parents.get(at)
        was_left = verdicts[at] if at is not None else bool(passed) and verdicts[passed[-1]]
        verdicts |= dict.fromkeys(passed, was_left)
    return {id for id in ids if verdicts[id]}
