"""Memories as JSON of no product in particular: an object per line, or a list of them, with the keys of `core.save`.

`{"content": "...", "tags": ["..."], "occurred_at": "2026-01-31"}`. Other keys are kept as metadata.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ....errors import InvalidInput
from ....model import Draft, JsonObject
from ....text.transcripts.messages import cleaned
from ..filing import Filing
from ..json_value import Damage, Value
from ..parts import Flaw, Item, Kept, LeftOut, Part
from ..times import moment
from ..validity import KEYS, validity_of
from .chats import flaw

_TEXTS: Final = ("context", "category", "scope")
_TIMES: Final = ("occurred_at", "created_at", "timestamp", "date", "time")
_TIERS: Final = ("short_term", "long_term", "working")
_KNOWN: Final = frozenset((*_TEXTS, *_TIMES, "content", "tags", "metadata", "confidence", "tier", "pinned"))
_FORM: Final = 'a memory must look like {"content": "Ana likes tea", "tags": ["tea"]}.'


def is_value(body: JsonObject) -> bool:
    return isinstance(body.get("content"), str) and "role" not in body


def parts(values: Iterable[Value | Damage], name: str, before: int, filing: Filing) -> Iterator[Part]:
    """A memory per object; one that can't be read costs no other."""
    for value in values:
        if isinstance(value, Damage):
            yield flaw(value, name, before)
            continue
        where, at, body = f"{name}:{value.line}", before + value.at, value.value
        try:
            if not isinstance(body, dict) or not is_value(body) or not body["content"].strip():
                raise InvalidInput(_FORM)
            validity = validity_of(body, filing)
            if validity.ended:
                yield LeftOut(what=validity.ended)
                continue
            others = {key: each for key, each in body.items() if key not in _KNOWN | KEYS and each is not None}
            if others:
                yield Kept(names=tuple(others))
            yield Item(where=where, at=at, size=value.size, draft=_draft(body, others, validity.until, filing))
        except InvalidInput as error:
            yield Flaw(where=where, at=at, sentence=error.message)


def _draft(body: JsonObject, others: JsonObject, until: Any, filing: Filing) -> Draft:
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
