"""The knowledge graph of MCP's own `server-memory`: an object per line, or all of them in one JSON object.

Lines are `{"type": "entity", "name", "entityType", "observations"}` and `{"type": "relation", "from", "to",
"relationType"}`; the older form, which its tool `read_graph` still answers, is `{"entities": [...], "relations":
[...]}`. See github.com/modelcontextprotocol/servers, src/memory/index.ts.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ....errors import InvalidInput
from ....model import Draft, JsonObject
from ....text.transcripts.messages import cleaned
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Item, LeftOut, Part
from ..validity import validity_of
from .chats import flaw

_FORMS = (
    'Expected an entity such as {"name": "Ana", "entityType": "person", "observations": ["..."]} or a relation such as '
    '{"from": "Ana", "to": "ACME", "relationType": "works_at"}.'
)


def is_value(body: JsonObject) -> bool:
    return (
        {"name", "observations"} <= body.keys()
        or {"from", "to", "relationType"} <= body.keys()
        or {"entities", "relations"} <= body.keys()
    )


def parts(values: Iterable[Value | Damage], name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per observation and per relation; an entity of which nothing was observed is one too."""
    for value in values:
        if isinstance(value, Damage):
            yield flaw(value, name, before)
            continue
        where, at = f"{name}:{value.line}", before + value.at
        found = list(_facts(value.value))
        body = value.value if isinstance(value.value, dict) else {}
        try:
            validity = validity_of(body, filing)
        except InvalidInput as error:
            yield Flaw(where=where, at=at, sentence=error.message)
            continue
        if validity.ended and found:
            yield LeftOut(what=validity.ended, count=len(found))
            continue
        for content, metadata in found:
            draft = Draft(
                content=cleaned(content),
                scope=filing.scope,
                tags=filing.tags,
                metadata={"imported_from": "server-memory", **metadata},
                expires_at=validity.until,
            )
            yield Item(where=where, at=at, size=value.size // len(found), draft=draft)
        if not found:
            yield Flaw(where=where, at=at, sentence=_FORMS)


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
    for each in (*_listed(body, "entities"), *_listed(body, "relations")):
        yield from _facts(each)


def _listed(body: JsonObject, key: str) -> list[Any]:
    return body[key] if isinstance(body.get(key), list) else []
