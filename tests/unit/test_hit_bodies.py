"""The JSON of a search, which is written without a model: always what the model itself would be dumped to."""

import json
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_jsonable_python

from steeltrap.model import Hit, Memory, Outcome, OutcomeKind
from steeltrap.toolsets.core.searching import SearchView
from steeltrap.toolsets.core.views import MemoryView, hit_body, outcome_body
from unit.test_record import MEMORIES, TEXT, TIME, UNIT

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_MEMORIES = st.builds(
    replace,
    MEMORIES,
    untrusted=st.booleans(),
    import_id=st.none() | TEXT,
    superseded_by=st.none() | TEXT,
    superseded_at=st.none() | TIME,
    supersedes=st.lists(TEXT, max_size=2).map(tuple),
)
_HITS = st.builds(
    Hit,
    memory=_MEMORIES,
    score=UNIT,
    cosine=st.none() | st.floats(-1, 1),
    bm25=st.none() | UNIT,
    semantic_score=UNIT,
    keyword_score=UNIT,
    importance=st.none() | UNIT,
    confidence=st.none() | UNIT,
    boosts=st.dictionaries(TEXT, UNIT, max_size=2),
    led_by=st.lists(TEXT, max_size=2).map(tuple),
    preview=st.none() | TEXT,
    left_out=st.integers(0, 5),
    less_sure=st.booleans(),
)
_OUTCOMES = st.builds(
    Outcome,
    kind=st.sampled_from(OutcomeKind),
    message=TEXT,
    best_score=st.none() | UNIT,
    more=st.integers(0, 5),
    nearest=st.none() | _HITS,
)
_DEFAULTS = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(Memory)}


@given(_HITS, _OUTCOMES, st.booleans())
def test_a_body_is_what_its_model_is_dumped_to(hit: Hit, outcome: Outcome, why: bool) -> None:
    body = {"results": [hit_body(hit, why=why)], "outcome": outcome_body(outcome)}
    written = SearchView.model_validate(body).model_dump(mode="json", exclude_none=True)
    # As text, since the fields have an order.
    assert json.dumps(written) == json.dumps(body)


@given(_HITS)
def test_a_hit_shows_all_fields_of_its_memory_that_have_not_their_default(hit: Hit) -> None:
    memory, body = hit.memory, hit_body(hit, why=False)
    shown = replace(memory, content=memory.content if hit.preview is None else hit.preview)
    hidden = {"metadata", "messages"} if hit.preview is not None else set()
    if memory.source == "conversation":
        hidden.add("messages")
    for name in MemoryView.model_fields.keys() - {"links", "left_out", "confidence"} - hidden:
        value = getattr(shown, name)
        if name in ("version", "scope") or value != _DEFAULTS[name]:
            assert _without_none(name, body[name]) == _without_none(name, to_jsonable_python(value)), name
        else:
            assert name not in body
    assert not hidden & body.keys()
    shown_scores = {"score": hit.score, "confidence": hit.confidence, "saved_confidence": memory.confidence}
    expected = {name: value for name, value in shown_scores.items() if value is not None}
    if memory.confidence == 1:
        del expected["saved_confidence"]
    assert {name: body[name] for name in shown_scores if name in body} == expected
    assert (body.get("left_out", 0), body.get("less_sure", False)) == (hit.left_out, hit.less_sure)


def _without_none(name: str, value: object) -> object:
    """Messages without what they don't say."""
    if name != "messages":
        return value
    assert isinstance(value, list)
    return [{key: each for key, each in message.items() if each is not None} for message in value]


def test_nobody_who_changes_an_answer_changes_a_memory() -> None:
    memory = Memory(id="1", content="x", created_at=NOON, updated_at=NOON, metadata={"a": {"b": [1]}})
    hit_body(Hit(memory=memory, score=0.5), why=False)["metadata"]["a"]["b"].append(2)
    assert memory.metadata == {"a": {"b": [1]}}
