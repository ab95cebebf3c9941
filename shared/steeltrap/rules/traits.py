"""What a text tells about itself that ranking needs, as a set of bits stored beside it. Pure."""

import re
from enum import IntFlag
from typing import Final

from ..model import Memory
from .days import is_day

_SHORT: Final = 40
"""From this many words on, a text that ends in a question mark says something of its own too."""

_LABEL: Final = re.compile(r"\s*([^\W\d_][\w.'\u2019-]*(?: [\w.'\u2019-]+){0,2}):\s")
_USER: Final = frozenset({"user", "human"})
_ASSISTANT: Final = frozenset({"assistant", "ai"})
ROLES: Final = _USER | _ASSISTANT | {"system", "tool"}

_INSTRUCTION: Final = re.compile(
    r"^\W*(?:please\s+)?(?:always|never)\b|\bfrom now on\b|\bwhen(?:ever)? i (?:ask|mention|talk|say)\b"
    r"|^\W*(?:por favor,?\s+)?(?:siempre|nunca)\b|\bcuando (?:te )?(?:pregunte|pida)\b"
    r"|^\W*(?:bitte\s+)?(?:immer|niemals)\b|\bwenn ich (?:dich )?frage\b",
    re.IGNORECASE,
)
_PREFERENCE: Final = re.compile(
    r"\b(?:i|i'd|users?|they|we)(?:\s+(?:really|also|always|usually|would|generally|strongly))*\s+prefer\b|\bprefers\b"
    r"|\bprefier[oe]\b|\b(?:ich )?bevorzug(?:e|t)\b",
    re.IGNORECASE,
)


class Trait(IntFlag):
    """What a text is: a short question, a standing instruction or preference, said by the user or by the assistant;
    whether another memory superseded it, and whether it happened on a day without a time."""

    QUESTION = 1
    INSTRUCTION = 2
    PREFERENCE = 4
    BY_USER = 8
    BY_ASSISTANT = 16
    SUPERSEDED = 32
    DAY = 64


def traits(memory: Memory) -> Trait:
    """The traits of a memory: those of its content, and what its record says."""
    said = _traits_of_content(memory)
    if memory.occurred_at is not None and is_day(memory.occurred_at):
        said |= Trait.DAY
    return said | Trait.SUPERSEDED if memory.is_superseded() else said


def _traits_of_content(memory: Memory) -> Trait:
    """By the name or role that the content begins with, of a turn by its message's role."""
    label = label_of(memory.content)
    role = memory.messages[0].role if memory.source == "conversation" and memory.messages else label
    text = memory.content if label is None else memory.content.split(":", 1)[1]
    found = Trait(0)
    if text.rstrip().endswith(("?", "\uff1f")) and len(text.split(maxsplit=_SHORT)) < _SHORT:
        found |= Trait.QUESTION
    if role in _ASSISTANT:
        return found | Trait.BY_ASSISTANT
    if role in _USER:
        found |= Trait.BY_USER
    if _INSTRUCTION.search(text):
        return found | Trait.INSTRUCTION
    return found | Trait.PREFERENCE if _PREFERENCE.search(text) else found


def label_of(text: str) -> str | None:
    """The name or role that a text begins with, as in "Ana: I moved", in lower case; None without one."""
    found = _LABEL.match(text[:80])
    return found[1].casefold() if found else None


def speaker_of(text: str) -> str | None:
    """The name that a text begins with, in lower case; None without one or for a role."""
    label = label_of(text)
    return None if label in ROLES else label
