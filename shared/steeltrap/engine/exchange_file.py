"""The file that a user's memories are exchanged in: JSON of `format_version` 1.0, plain or compressed. Pure.

    {"format_version": "1.0", "export_timestamp": ..., "export_scope": ..., "include_associations": true,
     "total_memories": 1, "memories": [{"memory_id": ..., "content": ..., "scope": ..., "tags": [], "metadata": {},
     "category": ..., "created_at": ..., "updated_at": ..., "associations": [{"target_id": ..., "strength": 0.8}]}]}

Read are also files of the server that the format is from: associations are ids alone there, and a
compressed file is gzip in base64 under a line of comment.
"""

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from typing import Final

from .. import record
from ..errors import InvalidInput, SteeltrapError, TooLarge
from ..model import JsonObject, Link, Memory
from ..model.frozen import frozen
from ..ranking.novelty import LINK_FLOOR
from ..text import limits
from ..text.file_paths import file_scope
from ..text.json_pieces import parsed
from ..text.schemas import show

FORMAT_VERSION: Final = "1.0"
MAX_FILE_BYTES: Final = 100 * 1024 * 1024
_COMMENT: Final = b"# Compressed"
_GZIP: Final = b"\x1f\x8b"
_NOT_CARRIED: Final = ("id", "links", "version", "restored_version", "deleted_at")


@frozen
class Item:
    """A memory of a file, and its associations to others of the file."""

    memory: Memory
    links: tuple[Link, ...] = ()


def encode(items: Iterable[Item], *, at: datetime, scope: str | None, associations: bool) -> bytes:
    """The file of these memories, uncompressed. Raises TooLarge over 100 MB."""
    parts: list[str] = []
    size = 0
    for item in items:
        parts.append(json.dumps(_to_object(item), ensure_ascii=False, allow_nan=False))
        size += len(parts[-1].encode()) + 2
        if size > MAX_FILE_BYTES:
            raise TooLarge("The memories are more than 100 MB as a file: export them scope by scope.")
    head: JsonObject = {
        "format_version": FORMAT_VERSION,
        "export_timestamp": at.isoformat(),
        "export_scope": scope,
        "include_associations": associations,
        "total_memories": len(parts),
    }
    memories = ",\n".join(parts)
    return f'{json.dumps(head)[:-1]}, "memories": [\n{memories}\n]}}\n'.encode()


def compress(content: bytes) -> bytes:
    """As gzip, without a time in it: equal contents are equal files."""
    return gzip.compress(content, mtime=0)


def expand(content: bytes) -> bytes:
    """The content of a file that may be compressed. Raises TooLarge over 100 MB before any more is unpacked."""
    if content.startswith(_COMMENT):
        try:
            content = base64.b64decode(content.partition(b"\n")[2], validate=False)
        except binascii.Error:
            raise InvalidInput(
                "The file is damaged: its compressed part is not valid base64. Export it again."
            ) from None
    if not content.startswith(_GZIP):
        return content
    try:
        plain = gzip.GzipFile(fileobj=BytesIO(content)).read(MAX_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise InvalidInput("The file is damaged: it can't be uncompressed. Export it again.") from None
    if len(plain) > MAX_FILE_BYTES:
        raise TooLarge("The file is more than 100 MB uncompressed: export the memories scope by scope.")
    return plain


def decode(memories: Iterable[object], *, prefix: str | None, now: datetime) -> list[Item]:
    """Every one of a file's `memories_of`, held to what a save is held to, its scope under `prefix`.

    Raises InvalidInput or TooLarge that says which memory doesn't fit; then none is answered.
    """
    items: list[Item] = []
    first_places: dict[str, int] = {}
    for index, raw in enumerate(memories):
        try:
            item = _to_item(raw, prefix, now)
            if (first := first_places.setdefault(item.memory.id, index)) != index:
                raise InvalidInput(f"memory {first} has the same `memory_id`.")
        except SteeltrapError as error:
            raise type(error)(f"Memory {index} of the file: {error.message} Nothing was imported.") from None
        items.append(item)
    return [
        replace(
            item, links=tuple(link for link in item.links if link.target_id in first_places and link.target_id != id)
        )
        for item, id in zip(items, first_places, strict=True)
    ]


def memories_of(content: bytes) -> list[object]:
    """The memories of an uncompressed file as they stand there. Raises InvalidInput for what is no such file."""
    try:
        document = parsed(content.decode(), max_bytes=4 * MAX_FILE_BYTES)
    except RecursionError:
        raise InvalidInput("The file is nested too deep to be an export. Nothing was imported.") from None
    except ValueError:
        raise InvalidInput(
            "The file is not JSON in UTF-8; import a file that an export wrote. Nothing was imported."
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("memories"), list):
        raise InvalidInput("The file has no list `memories`; import a file that an export wrote. Nothing was imported.")
    if document.get("format_version") != FORMAT_VERSION:
        version = show(document.get("format_version"))
        raise InvalidInput(
            f"The file's `format_version` is {version}; only {FORMAT_VERSION!r} can be read. Nothing was imported."
        )
    memories: list[object] = document["memories"]
    return memories


def _to_object(item: Item) -> JsonObject:
    memory = item.memory
    whole: JsonObject = {
        "memory_id": memory.id,
        "content": memory.content,
        "scope": memory.scope,
        "tags": [],
        "metadata": {},
        "category": None,
        **{name: value for name, value in record.encode(memory).items() if name not in _NOT_CARRIED},
    }
    links = [{"target_id": k.target_id, "strength": k.strength, "manual": k.manual} for k in item.links]
    return {**whole, "associations": links}


def _to_item(raw: object, prefix: str | None, now: datetime) -> Item:
    if not isinstance(raw, dict):
        raise InvalidInput("a memory must be a JSON object.")
    fields = {name: value for name, value in raw.items() if value not in (None, "") and name != "associations"}
    if unsupported := [name for name in _NOT_CARRIED if name in fields]:
        raise InvalidInput(f"a memory of an exported file has no field `{unsupported[0]}`.")
    if "memory_id" not in fields:
        raise InvalidInput("`memory_id` is required.")
    if not limits.check_id(str(fields["memory_id"])):
        raise InvalidInput("`memory_id` must be a UUID.")
    created = fields.setdefault("created_at", now.isoformat())
    fields.setdefault("updated_at", created)
    fields["id"] = fields.pop("memory_id")
    memory = limits.check_memory(record.parse(fields))
    if memory.source != "user_memory":
        raise InvalidInput("`source` must be 'user_memory'; messages of conversations can't be imported this way.")
    if limits.is_file(memory):
        memory = replace(memory, scope=file_scope(memory.metadata[limits.PATH]))
    elif prefix is not None:
        memory = replace(memory, scope=limits.check_scope(f"{prefix}/{memory.scope}"))
    return Item(memory=memory, links=limits.check_links(_links(raw.get("associations")), "associations"))


def _links(raw: object) -> list[Link]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise InvalidInput("`associations` must be a list.")
    return [_link(link) for link in raw]


def _link(raw: object) -> Link:
    if isinstance(raw, str):
        # Found there by other vectors: here it can't be found again, so it counts as given.
        return Link(target_id=raw, strength=LINK_FLOOR, manual=True)
    target, strength = (raw.get("target_id"), raw.get("strength", LINK_FLOOR)) if isinstance(raw, Mapping) else (0, 0)
    if not isinstance(target, str) or isinstance(strength, bool) or not isinstance(strength, int | float):
        raise InvalidInput("each of `associations` must be an id, or an object with `target_id` and `strength`.")
    return Link(target_id=target, strength=float(strength), manual=isinstance(raw, dict) and raw.get("manual") is True)


def default_name(at: datetime, token: str, *, compressed: bool) -> str:
    """`memories-YYYYMMDD-HHMMSS-TOKEN.json`, with `.gz` where it is compressed."""
    return f"memories-{at:%Y%m%d-%H%M%S}-{token}.json{'.gz' if compressed else ''}"


def under(prefix: str | None) -> str | None:
    """The prefix of scopes as it is put before a scope; one slash at its end is left out. Raises InvalidInput."""
    return None if prefix is None else limits.check_scope(prefix.removesuffix("/"))
