"""What may be stored: sizes, syntax and the sentences that say so. Pure; raises InvalidInput or TooLarge."""

import json
import re
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from ..errors import InvalidInput, TooLarge
from ..model import MAX_CONTENT_BYTES, MAX_MESSAGES_BYTES, MAX_METADATA_BYTES, JsonObject, Message

MAX_TAGS: Final = 64
MAX_TAG_CHARACTERS: Final = 128
MAX_SCOPE_DEPTH: Final = 10
MAX_SCOPE_CHARACTERS: Final = 512
MAX_LABEL_CHARACTERS: Final = 256

_SCOPE: Final = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*")


def check_content(content: str) -> None:
    """1 byte to 32 KiB of UTF-8, not blank."""
    if not content.strip():
        raise InvalidInput("`content` must not be empty: give the text to remember.")
    size = len(content.encode())
    if size > MAX_CONTENT_BYTES:
        raise TooLarge(
            f"`content` is {size:,} bytes; at most {MAX_CONTENT_BYTES:,} fit. Split it into several memories."
        )


def check_messages(messages: Sequence[Message]) -> None:
    """128 KiB in all."""
    size = sum(len(m.content.encode()) + len(m.role.encode()) for m in messages)
    if size > MAX_MESSAGES_BYTES:
        raise TooLarge(f"`messages` are {size:,} bytes; at most {MAX_MESSAGES_BYTES:,} fit in one memory.")


def check_metadata(metadata: JsonObject) -> None:
    """16 KiB as JSON."""
    if not metadata:
        return
    size = len(json.dumps(metadata, ensure_ascii=False).encode())
    if size > MAX_METADATA_BYTES:
        raise TooLarge(f"`metadata` is {size:,} bytes as JSON; at most {MAX_METADATA_BYTES:,} fit.")


def check_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """At most 64 tags of 1 to 128 characters; trimmed, and the same tag in another case once only."""
    kept: dict[str, str] = {}
    for tag in tags:
        trimmed = tag.strip()
        if not trimmed or len(trimmed) > MAX_TAG_CHARACTERS:
            raise InvalidInput(f"each tag must have 1 to {MAX_TAG_CHARACTERS} characters.")
        kept.setdefault(trimmed.casefold(), trimmed)
    if len(kept) > MAX_TAGS:
        raise InvalidInput(f"`tags` has {len(kept)} tags; at most {MAX_TAGS} fit.")
    return tuple(kept.values())


def check_scope(scope: str) -> str:
    """A path such as `work/project-x`: letters, digits, `_` and `-` between single slashes, depth <= 10."""
    if len(scope) > MAX_SCOPE_CHARACTERS or not _SCOPE.fullmatch(scope):
        raise InvalidInput(
            "`scope` must be a path such as 'work/project-x': letters, digits, '_' and '-' between single slashes."
        )
    if scope.count("/") >= MAX_SCOPE_DEPTH:
        raise InvalidInput(f"`scope` is {scope.count('/') + 1} levels deep; at most {MAX_SCOPE_DEPTH} are allowed.")
    return scope


def check_id(value: str) -> str:
    """A memory's id in its one form: a lower-case UUID; `note-<uuid>` is accepted. Unknown forms read as not found."""
    text = value.strip().removeprefix("note-")
    try:
        return str(UUID(text)) if len(text) == 36 else ""
    except ValueError:
        return ""
