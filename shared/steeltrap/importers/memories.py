"""Memories of other products: MCP's `server-memory`, mem0, mcp-memory-service, and JSON of no product in particular.

`server-memory` has a knowledge graph, as an object per line or all of them in one JSON object. Lines are
`{"type": "entity", "name", "entityType", "observations"}` and `{"type": "relation", "from", "to", "relationType"}`; the
older form, which its tool `read_graph` still answers, is `{"entities": [...], "relations": [...]}`. See
github.com/modelcontextprotocol/servers, src/memory/index.ts.

mem0's `Memory.get_all()` answers `{"results": [...]}`, in older versions and in the hosted service `[...]`; an export
is `{"memories": [...]}`. Each memory is `{"id", "memory", "hash", "metadata", "categories", "created_at", "updated_at",
"user_id", "agent_id", "run_id", "role"}`. See docs.mem0.ai, "Get Memories" and "Create Memory Export", and the package
mem0ai.

mcp-memory-service has an SQLite file, `sqlite_vec.db`, which is opened to read only and without its extension. Its
table `memories` has the columns `content`, `tags` (separated by commas), `memory_type`, `metadata` (JSON), `created_at`
(seconds) and `deleted_at`; older files lack some of them. Vectors are in a table of the extension sqlite-vec, which
nothing here reads. See github.com/doobidoo/mcp-memory-service, storage/sqlite_vec.py.

Other JSON is an object per line, or a list of them, with the keys of `core.save`:
`{"content": "...", "tags": ["..."], "occurred_at": "2026-01-31"}`. Other keys are kept as metadata.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..errors import InvalidInput
from ..model import Draft, JsonObject
from ..runtime.local import open_foreign_database
from ..text.json_pieces import parsed
from ..text.transcripts import cleaned
from .items import ENDED_BY, KEYS, Filing, Flaw, Item, Kept, LeftOut, Part, moment, validity_of
from .json_values import Value

_FORMS = (
    'Expected an entity such as {"name": "Ana", "entityType": "person", "observations": ["..."]} or a relation such as '
    '{"from": "Ana", "to": "ACME", "relationType": "works_at"}.'
)


def is_knowledge_graph(body: JsonObject) -> bool:
    return (
        {"name", "observations"} <= body.keys()
        or {"from", "to", "relationType"} <= body.keys()
        or {"entities", "relations"} <= body.keys()
    )


def knowledge_graph_parts(value: Value, number: int, where: str, at: int, filing: Filing) -> Iterator[Part]:
    """A memory per observation and per relation; an entity of which nothing was observed is one too."""
    facts = list(_facts(value.value))
    validity = validity_of(value.value if isinstance(value.value, dict) else {}, filing)
    if not facts:
        raise InvalidInput(_FORMS)
    if validity.ended:
        yield LeftOut(kind=validity.ended, count=len(facts))
        return
    for content, metadata in facts:
        draft = Draft(
            content=cleaned(content),
            scope=filing.scope,
            tags=filing.tags,
            metadata={"imported_from": "server-memory", **metadata},
            expires_at=validity.until,
        )
        yield Item(where=where, at=at, size=value.size // len(facts), draft=draft)


def _facts(body: Any) -> Iterator[tuple[str, JsonObject]]:
    if not isinstance(body, dict):
        return
    name, kind, observations = body.get("name"), body.get("entityType"), body.get("observations")
    if isinstance(name, str) and name and isinstance(observations, list):
        metadata: JsonObject = {"entity": cleaned(name)}
        if isinstance(kind, str) and kind:
            metadata["entity_type"] = cleaned(kind)
        for observation in observations:
            if isinstance(observation, str) and observation.strip():
                yield f"{name}: {observation}", metadata
        if not observations and "entity_type" in metadata:
            yield f"{name}: {kind}", metadata
        return
    source, relation, target = body.get("from"), body.get("relationType"), body.get("to")
    if isinstance(source, str) and isinstance(relation, str) and isinstance(target, str):
        metadata = {"from": cleaned(source), "relation": cleaned(relation), "to": cleaned(target)}
        yield f"{source} {relation.replace('_', ' ')} {target}", metadata
    for entity in (*_listed(body, "entities"), *_listed(body, "relations")):
        yield from _facts(entity)


def _listed(body: JsonObject, key: str) -> list[Any]:
    return body[key] if isinstance(body.get(key), list) else []


_KEPT: Final = ("user_id", "agent_id", "run_id", "app_id")


def is_mem0(body: JsonObject) -> bool:
    return isinstance(body.get("memory"), str) and "content" not in body


def mem0_parts(value: Value, number: int, where: str, at: int, filing: Filing) -> Iterator[Part]:
    """The memory of a value. mem0's own graph of entities is left out: its memories say the same."""
    body = value.value
    if value.key == "relations":
        yield LeftOut(kind="relations of mem0's graph")
        return
    if not isinstance(body, dict) or not is_mem0(body) or not body["memory"].strip():
        raise InvalidInput('a memory of mem0 must look like {"id": "...", "memory": "..."}.')
    validity = validity_of({**_mem0_metadata(body), **body}, filing)
    if validity.ended:
        yield LeftOut(kind=validity.ended)
    else:
        draft = replace(_mem0_draft(body, filing), expires_at=validity.until)
        yield Item(where=where, at=at, size=value.size, draft=draft)


def _mem0_metadata(body: JsonObject) -> JsonObject:
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _mem0_draft(body: JsonObject, filing: Filing) -> Draft:
    categories = body.get("categories")
    metadata: JsonObject = {"imported_from": "mem0", **_mem0_metadata(body)}
    metadata |= {key: body[key] for key in _KEPT if isinstance(body.get(key), str)}
    tags = [tag for tag in categories if isinstance(tag, str)] if isinstance(categories, list) else []
    return Draft(
        content=cleaned(body["memory"]),
        scope=filing.scope,
        tags=(*filing.tags, *tags),
        metadata=metadata,
        occurred_at=moment(body.get("created_at"), filing.zone),
    )


SIGNATURE: Final = b"SQLite format 3\x00"
_TABLE: Final = "memories"
_NEEDED: Final = frozenset({"content", "content_hash", "tags", "created_at"})
_COLUMNS: Final = ("id", "content", "tags", "memory_type", "metadata", "created_at", *ENDED_BY)
_UNTAGGED: Final = "untagged"
"""The text that the service writes where there are no tags."""


def is_file(path: Path, name: str) -> bool:
    """Whether a database is one. Raises InvalidInput that says why it can't be read."""
    with open_foreign_database(path, name) as file:
        return set(file.columns(_TABLE)) >= _NEEDED


def memory_service_parts(
    path: Path, name: str, before: int, size: int, filing: Filing, going_on: Callable[[], None] = lambda: None
) -> Iterator[Part]:
    """A memory per row; those that have ended are left out."""
    with open_foreign_database(path, name, going_on) as file:
        columns = file.columns(_TABLE)
        names = [column for column in _COLUMNS if column in columns]
        total = max(1, file.count(_TABLE))
        for number, row in enumerate(file.rows(_TABLE, names), 1):
            values = dict.fromkeys(_COLUMNS) | dict(zip(names, row, strict=True))
            yield _part(values, f"{name} row {number}", before + size * number // total, filing)


def _part(row: Mapping[str, Any], where: str, at: int, filing: Filing) -> Part:
    if not isinstance(row["content"], str) or not row["content"].strip():
        return Flaw(where=where, at=at, sentence="it has no text.")
    tags = (tag.strip() for tag in str(row["tags"] or "").split(","))
    metadata = _service_metadata(row)
    try:
        validity = validity_of({**metadata, **{key: row[key] for key in ENDED_BY}}, filing)
        if validity.ended:
            return LeftOut(kind=validity.ended)
        draft = Draft(
            content=cleaned(row["content"]),
            scope=filing.scope,
            tags=(*filing.tags, *(tag for tag in tags if tag and tag != _UNTAGGED)),
            metadata=metadata,
            occurred_at=moment(row["created_at"], filing.zone),
            expires_at=validity.until,
        )
    except InvalidInput as error:
        return Flaw(where=where, at=at, sentence=error.message)
    return Item(where=where, at=at, size=len(row["content"]), draft=draft)


def _service_metadata(row: Mapping[str, Any]) -> JsonObject:
    metadata: JsonObject = {"imported_from": "mcp-memory-service"}
    if row["memory_type"]:
        metadata["memory_type"] = str(row["memory_type"])
    try:
        values: Any = parsed(row["metadata"] or "{}")
    except (TypeError, ValueError, RecursionError):
        values = None
    return metadata | values if isinstance(values, dict) else metadata


_TEXTS: Final = ("context", "category", "scope")
_TIMES: Final = ("occurred_at", "created_at", "timestamp", "date", "time")
_TIERS: Final = ("short_term", "long_term", "working")
_KNOWN: Final = frozenset((*_TEXTS, *_TIMES, "content", "tags", "metadata", "confidence", "tier", "pinned"))
_FORM: Final = 'a memory must look like {"content": "Ana likes tea", "tags": ["tea"]}.'


def is_object(body: JsonObject) -> bool:
    return isinstance(body.get("content"), str) and "role" not in body


def object_parts(value: Value, number: int, where: str, at: int, filing: Filing) -> Iterator[Part]:
    body = value.value
    if not isinstance(body, dict) or not is_object(body) or not body["content"].strip():
        raise InvalidInput(_FORM)
    validity = validity_of(body, filing)
    if validity.ended:
        yield LeftOut(kind=validity.ended)
        return
    others = {key: each for key, each in body.items() if key not in _KNOWN | KEYS and each is not None}
    if others:
        yield Kept(names=tuple(others))
    yield Item(where=where, at=at, size=value.size, draft=_object_draft(body, others, validity.until, filing))


def _object_draft(body: JsonObject, others: JsonObject, until: Any, filing: Filing) -> Draft:
    tags, metadata = body.get("tags") or [], body.get("metadata") or {}
    tags = [tag.strip() for tag in tags.split(",") if tag.strip()] if isinstance(tags, str) else tags
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidInput("`tags` must be a list of texts.")
    if not isinstance(metadata, dict):
        raise InvalidInput("`metadata` must be an object.")
    for key in _TEXTS:
        if not isinstance(body.get(key), str | None):
            raise InvalidInput(f"`{key}` must be a text.")
    confidence: Any = body.get("confidence", 1.0)
    tier: Any = body.get("tier") or "long_term"
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise InvalidInput("`confidence` must be a number from 0 to 1.")
    if tier not in _TIERS:
        raise InvalidInput(f"`tier` must be one of {', '.join(_TIERS)}.")
    return Draft(
        content=cleaned(body["content"]),
        context=body.get("context") or None,
        category=body.get("category") or None,
        scope=body.get("scope") or filing.scope,
        tags=(*filing.tags, *tags),
        metadata={**others, **metadata},
        confidence=float(confidence),
        tier=tier,
        pinned=body.get("pinned") is True,
        occurred_at=next((at for key in _TIMES if (at := moment(body.get(key), filing.zone)) is not None), None),
        expires_at=until,
    )
