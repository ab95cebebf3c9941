"""The table of filterable fields fits memories, filters, and the index that lists memories on DynamoDB."""

from dataclasses import fields

from steeltrap.model import FILTERABLE, FLAGS, TEXTS, TIMES, Filter, Memory
from steeltrap.stores.dynamodb.keys import LISTED

_HOW = {
    "categories",
    "project",
    "include_child_scopes",
    "include_turns",
    "turns_of",
    "episodes",
    "include_superseded",
    "as_of",
    "first_day",
    "end_day",
}
"""The parts of a filter beside the fields themselves."""


def test_every_filterable_field_is_a_field_of_a_memory() -> None:
    assert FILTERABLE.keys() <= {field.name for field in fields(Memory)}


def test_every_condition_of_a_filter_is_about_a_filterable_field() -> None:
    bounds = {f"{time.removesuffix('_at')}_{end}" for time in TIMES for end in ("after", "before")}
    asked = {name for name in FILTERABLE if name not in TIMES} | bounds
    assert {field.name for field in fields(Filter)} - _HOW == asked


def test_every_text_and_flag_is_compared_and_every_other_kind_has_one_field() -> None:
    others = [kind for name, kind in FILTERABLE.items() if name not in (*TEXTS, *FLAGS, *TIMES)]
    assert sorted(others) == ["metadata", "scope", "tags"]


def test_dynamodb_lists_by_every_time() -> None:
    assert set(TIMES) <= set(LISTED), "A text that a table was not made for is among its facts; a time can't be."
