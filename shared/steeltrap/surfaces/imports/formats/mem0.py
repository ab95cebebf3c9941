"""mem0's memories: what `Memory.get_all()` answers (`{"results": [...]}`, `[...]` in older versions and in the hosted
service), or an export's `{"memories": [...]}`.

Each is `{"id", "memory", "hash", "metadata", "categories", "created_at", "updated_at", "user_id", "agent_id",
"run_id", "role"}`. See docs.mem0.ai, "Get Memories" and "Create Memory Export", and the package mem0ai.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from ....errors import InvalidInput
from ....model import Draft, JsonObject
from ....text.transcripts.messages import cleaned
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Item, LeftOut, Part
from ..times import moment
from ..validity import validity_of
from .chats import flaw

_KEPT: Final = ("user_id", "agent_id", "run_id", "app_id")


def is_value(body: JsonObject) -> bool:
    return isinstance(body.get("memory"), str) and "content" not in body


def parts(values: Iterable[Value | Damage], name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per value. mem0's own graph of entities is left out: its memories say the same."""
    for value in values:
        if isinstance(value, Damage):
            yield flaw(value, name, before)
            continue
        where, at = f"{name}:{value.line}", before + value.at
        body = value.value
        if value.key == "relations":
            yield LeftOut(what="relations of mem0's graph")
        elif not isinstance(body, dict) or not is_value(body) or not body["memory"].strip():
            yield Flaw(where=where, at=at, sentence='a memory of mem0 must look like {"id": "...", "memory": "..."}.')
        else:
            try:
                validity = validity_of({**_metadata(body), **body}, filing)
                if validity.ended:
                    yield LeftOut(what=validity.ended)
                    continue
                draft = replace(_draft(body, filing), expires_at=validity.until)
                yield Item(where=where, at=at, size=value.size, draft=draft)
            except InvalidInput as error:
                yield Flaw(where=where, at=at, sentence=error.message)


def _metadata(body: JsonObject) -> JsonObject:
    given = body.get("metadata")
    return given if isinstance(given, dict) else {}


def _draft(body: JsonObject, filing: Filing) -> Draft:
    categories = body.get("categories")
    metadata: JsonObject = {"imported_from": "mem0", **_metadata(body)}
    metadata |= {key: body[key] for key in _KEPT if isinstance(body.get(key), str)}
    tags = [tag for tag in categories if isinstance(tag, str)] if isinstance(categories, list) else []
    return Draft(
        content=cleaned(body["memory"]),
        scope=filing.scope,
        tags=(*filing.tags, *tags),
        metadata=metadata,
        occurred_at=moment(body.get("created_at"), filing.zone),
    )
