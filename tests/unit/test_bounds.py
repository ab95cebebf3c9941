"""How large arguments may be: values are counted as JSON has them, and every tool's own examples fit easily."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.errors import TooLarge
from steeltrap.text.schemas import _IN_STRING, _TO_STRING, Bounds, bounds_of, has_more_values
from steeltrap.toolsets import CATALOGUE

MIB = 1024 * 1024
NASTY = st.text(alphabet='",:[]{}\\ añ𝄞', max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | NASTY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NASTY, inner, max_size=4),
    max_leaves=40,
)


def _count(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(1 + _count(item) for item in value.values())
    return 1 + sum(map(_count, value)) if isinstance(value, list) else 1


@given(JSON, st.booleans(), st.sampled_from([None, 2]))
def test_values_are_counted_as_json_has_them(value: Any, ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii, indent=indent).encode()
    count = _count(value)
    assert not has_more_values(text, 2 * count)
    assert has_more_values(text, count // 2 - 1)


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=4), st.sampled_from([b",", b"[", b" ", b'\\"', b"\\\\"]))
def test_values_are_counted_in_steps_as_they_are_at_once(sizes: list[int], mark: bytes) -> None:
    strings = b",".join(b'"' + mark * size + b'"' for size in sizes)
    text = b"[" + b" " * sizes[0] + strings + b"]"
    values = 1 + len(sizes)
    assert not has_more_values(text, values)
    assert has_more_values(text, values - 2)


@pytest.mark.parametrize("piece", [b",", b"[", b"a", b'\\"', b"\\", b'""', b'"a", '])
def test_no_step_of_counting_holds_a_long_body(piece: bytes) -> None:
    body = piece * MIB
    for pattern in (_TO_STRING, _IN_STRING):
        for text in (body, b'"' + body):
            step = pattern.match(text)
            assert step is not None
            assert 0 < step.end() <= 65 * 1024


@pytest.mark.parametrize("text", [b'"' * MIB, b'"\\' * (MIB // 2), b'"' + b'\\"' * MIB, b'"a' * (MIB // 2)])
def test_counting_what_is_no_json_costs_no_memory(text: bytes) -> None:
    tracemalloc.start()
    try:
        has_more_values(b"," * 100 + text, 50)
        has_more_values(text + b"," * 100, 50)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


def test_a_schema_without_bounds_falls_back_to_the_most_there_is() -> None:
    free = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}
    assert bounds_of(free, 8 * MIB) == Bounds(size=8 * MIB, values=8 * MIB // 16)


def test_a_schema_of_short_fields_takes_short_bodies() -> None:
    short = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 20_000}, "b": {"enum": ["x"]}}}
    assert 20_000 * 12 < bounds_of(short, 8 * MIB).size < 20_000 * 13


def test_every_tool_has_bounds_and_tells_no_client_how_they_are_made() -> None:
    for tool in CATALOGUE.tools():
        assert 64 * 1024 <= tool.bounds.size <= tool.max_bytes
        assert 4096 <= tool.bounds.values <= tool.max_bytes // 16
        assert "x-max-bytes" not in json.dumps(tool.input_schema)
    assert CATALOGUE.tool("core.save").bounds.size < CATALOGUE.tool("core.batch_save").bounds.size


def test_the_refusal_names_the_limit() -> None:
    with pytest.raises(TooLarge, match=r"`core.stats` takes a body of at most 64 KiB; send less, or several calls\."):
        CATALOGUE.tool("core.stats").bounds.check_size(MIB, "`core.stats`")
    with pytest.raises(TooLarge, match=r"at most 8 MiB"):
        CATALOGUE.tool("core.batch_save").bounds.check_size(9 * MIB, "it")
