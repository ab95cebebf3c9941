"""Limits: what may be stored, its sizes and syntax, and the sentences that say so. And the forms of a memory's id.

Pure; raises InvalidInput or TooLarge.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final

from ..errors import InvalidInput, TooLarge
from ..model import (
    MAX_CONTENT_BYTES,
    MAX_FILE_BYTES,
    MAX_MESSAGES_BYTES,
    MAX_METADATA_BYTES,
    TEXTS,
    JsonObject,
    Link,
    Memory,
    Message,
)
from .json_limits import check_text
from .matching import fold_tag
from .patterns import lazy_pattern

SHORTEST: Final = 8
"""Digits that the start of an id has at least."""
_UNIVERSAL: Final = lazy_pattern(
    r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?::(?:user|assistant)(?::[0-9]{1,9})?)?"
)
PATH: Final = "path"
"""The key of a file's path in its metadata."""
_FILES: Final = "0b0de0ab-5d0c-5f8e-9d53-2a1f6b1f0a3d"
_HYPHENS: Final = (8, 12, 16, 20)
_DIGITS: Final = frozenset("0123456789abcdef")


def piece_id(id: str, number: int) -> str:
    """The id of a piece of a text that is stored in several memories: the first one's for 0, else one made of it."""
    return _derived(id, f"piece {number}") if number else id


def file_id(path: str) -> str:
    """The id of the memory that is the file of a path."""
    return _derived(_FILES, path)


def _derived(id: str, name: str) -> str:
    from uuid import UUID, uuid5  # loading it takes longer than most of this package, and a search makes no id

    return str(uuid5(UUID(id), name))


def is_file(memory: Memory) -> bool:
    """Whether a memory is a file, which may be longer than others."""
    path = memory.metadata.get(PATH)
    return isinstance(path, str) and memory.id == file_id(path)


def is_universal(id: str) -> bool:
    """Whether a message's id is its own wherever it is met: a UUID, or one of a turn with who spoke in it. Others, such
    as numbers, count within their conversation."""
    return _UNIVERSAL.fullmatch(id) is not None


def to_key(id: str) -> bytes:
    """An id's 16 bytes; b"" for what is no id."""
    digits = id.replace("-", "")
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        return b""
    return key if 2 * len(key) == len(digits) == 32 else b""


def from_key(key: bytes) -> str:
    """The id of 16 bytes."""
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def canonical(id: str) -> str:
    """An id in its one form; "" for what is no id."""
    key = to_key(id)
    return from_key(key) if key else ""


def start_of(text: str) -> str:
    """The start of an id in its one form, however it was written; "" for what no id starts with, or too few digits."""
    digits = text.replace("-", "").lower()
    if not SHORTEST <= len(digits) <= 32 or not _DIGITS.issuperset(digits):
        return ""
    ends = (*(hyphen for hyphen in _HYPHENS if hyphen < len(digits)), len(digits))
    return "-".join(digits[begin:end] for begin, end in zip((0, *ends), ends, strict=False))


def bounds_of_start(start: str) -> tuple[bytes, bytes]:
    """The first and the last key that a start can have."""
    digits = start.replace("-", "")
    return bytes.fromhex(digits.ljust(32, "0")), bytes.fromhex(digits.ljust(32, "f"))


def shortest_start(id: str, others: Collection[str]) -> str:
    """The shortest start of an id, of 8 digits or more, that none of the others has."""
    for end in range(SHORTEST, len(id)):
        if id[end - 1] != "-" and not any(other.startswith(id[:end]) for other in others if other != id):
            return id[:end]
    return id


MAX_TAGS: Final = 64
MAX_CONDITIONS: Final = 64
MAX_MANUAL_LINKS: Final = 100
MAX_TAG_CHARACTERS: Final = 128
MAX_SCOPE_DEPTH: Final = 10
MAX_SCOPE_CHARACTERS: Final = 512
MAX_LABEL_CHARACTERS: Final = 256
MAX_CONTEXT_CHARACTERS: Final = 4096
MAX_IDENTITY_CHARACTERS: Final = 2048
MAX_ROLE_CHARACTERS: Final = 64
MAX_MESSAGES: Final = 1000
MAX_STORED_LINKS: Final = 1000
MAX_SUPERSEDED: Final = 20
MAX_VERSION: Final = 2**53
MAX_FILE_NAME_CHARACTERS: Final = 200
MAX_FILE_NAME_DEPTH: Final = 5

_LENGTHS: Final = {
    **dict.fromkeys(TEXTS, MAX_LABEL_CHARACTERS),
    "context": MAX_CONTEXT_CHARACTERS,
    # These may have come with a call, whose identity may be longer than an argument may.
    "agent_id": MAX_IDENTITY_CHARACTERS,
    "updated_by": MAX_IDENTITY_CHARACTERS,
    "imported_by": MAX_IDENTITY_CHARACTERS,
    "conversation_id": MAX_IDENTITY_CHARACTERS,
}
_FILE_NAME: Final = lazy_pattern(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_UNSEEN: Final = lazy_pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that leave no ink: two scopes would look the same."""


def check_content(content: str, most: int = MAX_CONTENT_BYTES) -> None:
    """1 byte to 32 KiB of UTF-8, or as many bytes as given; not blank."""
    if not content.strip():
        raise InvalidInput("`content` must not be empty: give the text to remember.")
    check_text("content", content)
    size = len(content.encode())
    if size > most:
        raise TooLarge(f"`content` is {size:,} bytes; at most {most:,} fit. Split it into several memories.")


def check_messages(messages: Sequence[Message]) -> None:
    """At most 1,000, 128 KiB in all; roles and speakers are short, and something is said."""
    for i, message in enumerate(messages):
        check_text(f"messages.{i}", f"{message.role}{message.content}{message.speaker or ''}")
    size = sum(map(size_of, messages))
    if size > MAX_MESSAGES_BYTES:
        raise TooLarge(f"`messages` are {size:,} bytes; at most {MAX_MESSAGES_BYTES:,} fit in one memory.")
    if len(messages) > MAX_MESSAGES:
        raise InvalidInput(f"`messages` has {len(messages):,} messages; at most {MAX_MESSAGES:,} fit.")
    for i, message in enumerate(messages):
        if not message.role or not message.content:
            raise InvalidInput(f"`messages.{i}` must have a role and a content.")
        check_length(f"messages.{i}.role", message.role, MAX_ROLE_CHARACTERS)
        check_length(f"messages.{i}.speaker", message.speaker, MAX_LABEL_CHARACTERS)


def size_of(message: Message) -> int:
    """The bytes that a message counts."""
    return sum(len(part.encode()) for part in (message.content, message.role, message.speaker or ""))


_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def check_metadata(metadata: JsonObject) -> None:
    """16 KiB as JSON."""
    if not metadata:
        return
    try:
        size = len(_JSON.encode(metadata).encode())
    except ValueError:
        raise InvalidInput("`metadata` must hold finite numbers and whole Unicode characters only.") from None
    if size > MAX_METADATA_BYTES:
        raise TooLarge(f"`metadata` is {size:,} bytes as JSON; at most {MAX_METADATA_BYTES:,} fit.")


def check_conditions(metadata: JsonObject) -> None:
    """Check the conditions on metadata: at most 64 keys, each with a plain value."""
    if len(metadata) > MAX_CONDITIONS:
        raise InvalidInput(f"`metadata` has {len(metadata):,} conditions; at most {MAX_CONDITIONS} fit in a filter.")
    for key, value in metadata.items():
        if isinstance(value, dict | list):
            raise InvalidInput(
                f"`metadata.{key[:MAX_TAG_CHARACTERS]}` must be a plain value to filter by: text, a number, true or "
                "false."
            )


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """At most 64 tags of 1 to 128 characters; trimmed, and the same tag in another case once only."""
    unique_tags: dict[str, str] = {}
    for tag in tags:
        trimmed = tag.strip()
        if not trimmed or len(trimmed) > MAX_TAG_CHARACTERS:
            raise InvalidInput(f"each tag must have 1 to {MAX_TAG_CHARACTERS} characters.")
        unique_tags.setdefault(fold_tag(trimmed), trimmed)
    if len(unique_tags) > MAX_TAGS:
        raise InvalidInput(f"`tags` has {len(unique_tags)} tags; at most {MAX_TAGS} fit.")
    return tuple(unique_tags.values())


def check_scope(scope: str) -> str:
    """A path such as `work/project-x`, in NFC: letters and digits of any script, `_` and `-` between single slashes,
    depth <= 10."""
    if len(scope) <= MAX_SCOPE_CHARACTERS:
        scope = unicodedata.normalize("NFC", scope)
    if len(scope) > MAX_SCOPE_CHARACTERS or not all(map(is_name, scope.split("/"))):
        raise InvalidInput(
            "`scope` must be a path such as 'work/project-x': letters, digits, '_' and '-' between single slashes."
        )
    if scope.count("/") >= MAX_SCOPE_DEPTH:
        raise InvalidInput(f"`scope` is {scope.count('/') + 1} levels deep; at most {MAX_SCOPE_DEPTH} are allowed.")
    return scope


def is_name(text: str) -> bool:
    """Whether it can be one part of a scope: letters with their marks and digits, of any script, `_` and `-`."""
    if text.isascii():
        return _PLAIN_NAME.fullmatch(text) is not None
    kinds = [char if char in "_-" else unicodedata.category(char) for char in text]
    return (
        all(kind in "_-" or kind[0] in "LM" or kind in ("Nd", "Nl") for kind in kinds)
        and kinds[0][0] != "M"
        and _UNSEEN.search(text) is None
    )


def check_file_name(name: str) -> str:
    """A relative path such as `backup/memories.json`: letters, digits, `.`, `_` and `-`, no part beginning with a dot.

    So it names the same file on every system, and none outside of the user's own.
    """
    if len(name) > MAX_FILE_NAME_CHARACTERS or not _FILE_NAME.fullmatch(name):
        raise InvalidInput(
            "`file_path` must be a relative path such as 'backup/memories.json': letters, digits, '.', '_' and '-' "
            f"between single slashes, no part beginning with a dot, at most {MAX_FILE_NAME_CHARACTERS} characters."
        )
    if name.count("/") >= MAX_FILE_NAME_DEPTH:
        raise InvalidInput(f"`file_path` has {name.count('/') + 1} parts; at most {MAX_FILE_NAME_DEPTH} are allowed.")
    return name


def check_manual_links(links: Sequence[Link]) -> None:
    """At most 100 manual ones."""
    manual = sum(link.manual for link in links)
    if manual > MAX_MANUAL_LINKS:
        raise InvalidInput(f"a memory has at most {MAX_MANUAL_LINKS} manual associations.")


def check_links(links: Sequence[Link], name: str = "links") -> tuple[Link, ...]:
    """At most 1,000, each target once, as a UUID in its one form, with a strength from 0 to 1."""
    if len(links) > MAX_STORED_LINKS:
        raise InvalidInput(f"`{name}` has {len(links):,} links; at most {MAX_STORED_LINKS:,} fit.")
    by_target: dict[str, Link] = {}
    for i, link in enumerate(links):
        target = check_id(link.target_id)
        if not target:
            raise InvalidInput(f"`{name}.{i}.target_id` must be a memory's id, a UUID.")
        check_range(f"{name}.{i}.strength", link.strength, 0, 1)
        by_target.setdefault(target, replace(link, target_id=target))
    return tuple(by_target.values())


def check_length(name: str, text: str | None, most: int) -> None:
    """None, or at most `most` characters."""
    if text is not None and len(text) > most:
        raise InvalidInput(f"`{name}` has {len(text):,} characters; at most {most:,} fit.")


def check_range(name: str, number: float | None, least: int, most: int) -> None:
    """None, or a number in between; NaN is in no range."""
    if number is not None and not least <= number <= most:
        raise InvalidInput(f"`{name}` must be from {least} to {most}.")


def check_memory(memory: Memory) -> Memory:
    """A whole memory from outside, held to what a save is held to, with ids, tags and links in their stored form."""
    id = check_id(memory.id)
    if not id:
        raise InvalidInput("`id` must be a UUID.")
    check_metadata(memory.metadata)
    check_content(memory.content, MAX_FILE_BYTES if is_file(memory) else MAX_CONTENT_BYTES)
    check_messages(memory.messages)
    for name, most in _LENGTHS.items():
        check_length(name, getattr(memory, name), most)
    check_range("version", memory.version, 1, MAX_VERSION)
    check_range("restored_version", memory.restored_version, 1, memory.version)
    check_range("confidence", memory.confidence, 0, 1)
    check_range("surprise", memory.surprise, 0, 1)
    if memory.importance is not None:
        check_range("importance.score", memory.importance.score, 0, 1)
        check_length("importance.reason", memory.importance.reason, MAX_CONTEXT_CHARACTERS)
    return replace(
        memory,
        id=id,
        tags=check_tags(memory.tags),
        scope=check_scope(memory.scope),
        links=check_links(memory.links),
        **_superseding(memory, id),
    )


def check_superseded(ids: Sequence[str]) -> tuple[str, ...]:
    """The ids of what one memory supersedes, in their one form, each once; at most 20."""
    targets = tuple(dict.fromkeys(check_id(id) or id for id in ids))
    if len(targets) > MAX_SUPERSEDED:
        raise InvalidInput(
            f"`supersedes` has {len(targets)} ids; one memory supersedes at most {MAX_SUPERSEDED}. Merge some first."
        )
    return targets


def _superseding(memory: Memory, id: str) -> dict[str, Any]:
    """The superseding that a record tells, in its stored form."""
    olds = check_superseded(memory.supersedes)
    by = None if memory.superseded_by is None else check_id(memory.superseded_by)
    if by == "" or not all(map(check_id, olds)):
        raise InvalidInput("`superseded_by` and `supersedes` must be ids of memories, UUIDs.")
    if id == by or id in olds:
        raise InvalidInput("a memory can't supersede itself.")
    if by is None and memory.superseded_at is not None:
        raise InvalidInput("`superseded_at` needs `superseded_by`: the memory that was saved in its place.")
    at = memory.superseded_at or (memory.updated_at if by else None)
    return {"supersedes": olds, "superseded_by": by, "superseded_at": at}


def check_id(value: str) -> str:
    """A memory's id in its one form: a lower-case UUID; `note-<uuid>` is accepted. Unknown forms read as not found."""
    text = value.strip().removeprefix("note-")
    return canonical(text) if len(text) == 36 else ""
