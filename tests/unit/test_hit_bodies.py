"""The JSON of a search, which is written without a model: always what the model itself would be dumped to."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from steeltrap.model import Hit, Memory, Outcome, OutcomeKind
from steeltrap.toolsets.core.searching import SearchView
from steeltrap.toolsets.core.views import HitView, hit_body, memory_view, outcome_body
from unit.test_record import MEMORIES, TEXT, UNIT

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HITS = st.builds(
    Hit,
    memory=MEMORIES,
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
OUTCOMES = st.builds(
    Outcome,
    kind=st.sampled_from(OutcomeKind),
    message=TEXT,
    best_score=st.none() | UNIT,
    more=st.integers(0, 5),
    nearest=st.none() | HITS,
)


@given(HITS, OUTCOMES, st.booleans())
def test_a_body_is_what_its_model_is_dumped_to(hit: Hit, outcome: Outcome, why: bool) -> None:
    body = {"results": [hit_body(hit, why=why)], "outcome": outcome_body(outcome)}
    written = SearchView.model_validate(body).model_dump(mode="json", exclude_none=True)
    # As text, since the fields have an order.
    assert json.dumps(written) == json.dumps(body)


@given(MEMORIES)
def test_a_hit_shows_its_memory_as_get_does(memory: Memory) -> None:
    hit = Hit(memory=memory, score=0.5)
    view = memory_view(memory).model_dump(mode="json", exclude_none=True, exclude={"confidence"})
    assert {name: value for name, value in hit_body(hit, why=False).items() if name in view} == view
    assert hit_body(hit, why=False).keys() - view.keys() <= HitView.model_fields.keys()


def test_nobody_who_changes_an_answer_changes_a_memory() -> None:
    memory = Memory(id="1", content="x", created_at=NOON, updated_at=NOON, metadata={"a": {"b": [1]}})
    hit_body(Hit(memory=memory, score=0.5), why=False)["metadata"]["a"]["b"].append(2)
    assert memory.metadata == {"a": {"b": [1]}}
