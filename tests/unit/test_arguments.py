"""Arguments: mended where the meaning is beyond doubt, else refused by one sentence, whatever they are."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steeltrap import arguments
from steeltrap.errors import InvalidInput
from steeltrap.text.schemas import describe, plain_schema
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE

SAVE = CATALOGUE.tool("core.save")
SEARCH = CATALOGUE.tool("core.search")
BATCH = CATALOGUE.tool("core.batch_save")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=40)
    | st.sampled_from(
        [10**400, -(10**30), 1e400, "9" * 5000, "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _refused(tool: Tool, given_: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        arguments.read(tool, given_)
    message = refused.value.message
    assert message.endswith((".", "?"))
    assert "\n" not in message
    return message


def _refusal_of(read: Callable[[], object]) -> str:
    """The sentence of a refusal; "." where nothing is refused. Any other error gets through."""
    try:
        read()
    except InvalidInput as refused:
        return refused.message
    return "."


# Mending


@pytest.mark.parametrize(
    ("tool", "field", "given_value", "taken"),
    [
        ("core.search", "limit", "5", 5),
        ("core.search", "limit", 5.0, 5),
        ("core.search", "limit", " 5 ", 5),
        ("core.search", "why", "true", True),
        ("core.search", "why", "False", False),
        ("core.search", "why", 1, True),
        ("core.search", "tags", "ui", ["ui"]),
        ("core.search", "tags", '["ui", "work"]', ["ui", "work"]),
        ("core.search", "tags", "[not json", ["[not json"]),
        ("core.search", "tags", None, None),
        ("core.search", "min_similarity", "0.5", 0.5),
        ("core.search", "metadata", '{"a": 1}', {"a": 1}),
        ("notes.memory_search", "top_k", "7", 7),
        ("notes.memory_search", "tags", "UI", ["UI"]),
    ],
)
def test_a_value_whose_meaning_is_beyond_doubt_is_taken(tool: str, field: str, given_value: Any, taken: Any) -> None:
    read = arguments.read(CATALOGUE.tool(tool), {"query": "x", field: given_value})
    assert getattr(read, field) == taken


@pytest.mark.parametrize("body", ['\ufeff{"query": "tea"}', b'\xef\xbb\xbf{"query": "tea"}'])
def test_a_byte_order_mark_before_the_arguments_is_no_part_of_them(body: str | bytes) -> None:
    assert arguments.decode(body) == {"query": "tea"}


@pytest.mark.parametrize(
    ("field", "bad", "says"),
    [
        ("query", "x" * 9000, "`query` has 9,000 characters; at most 8,192 are allowed."),
        ("limit", "many", "an integer from 1 to 1000"),
        ("limit", 0, "an integer from 1 to 1000"),
        ("limit", 5.5, "an integer"),
        ("limit", True, "an integer"),
        ("limit", [5], "an integer"),
        ("limit", 10**400, "an integer"),
        ("why", "perhaps", "true or false"),
        ("why", 2, "true or false"),
        ("mode", "psychic", "'hybrid', 'semantic', 'keyword'"),
        ("min_similarity", 1.5, "a number from 0 to 1"),
        ("min_similarity", float("nan"), "finite"),
        ("min_similarity", float("inf"), "finite"),
        ("tags", 5, "a list"),
        ("tags", [5], "a string"),
        ("metadata", "text", "a JSON object"),
        ("metadata", [1], "a JSON object"),
        ("created_after", "yesterday", "2026-01-31"),
        ("created_after", 5, "2026-01-31"),
        ("created_after", "0001-01-01T00:00:00+14:00", "time"),
        ("created_after", "9999-12-31T23:59:59-14:00", "time"),
        ("query", 5, "a string"),
        ("query", "", "a string"),
        ("query", None, "a string"),
        ("query", "half \ud83d", "surrogate"),
        ("query", "nul \x00", "NUL"),
        ("limti", 5, "id you mean `limit`?"),
        ("metadata", {"k": 10**30}, "64 bits"),
    ],
)
def test_what_does_not_fit_is_refused_by_quoting_what_does(field: str, bad: Any, says: str) -> None:
    message = _refused(SEARCH, {"query": "x", field: bad})
    assert says in message
    assert f"`{field}" in message


def test_deep_nesting_is_refused_and_shallow_is_not() -> None:
    deep: Any = 0
    for _ in range(30):
        deep = {"k": deep}
    arguments.read(SAVE, {"content": "x", "metadata": deep})
    assert "levels deep" in _refused(SAVE, {"content": "x", "metadata": {"k": {"k": {"k": deep}}}})
    for _ in range(5000):
        deep = [deep]
    assert "levels deep" in _refused(SAVE, {"content": "x", "metadata": {"k": deep}})


@pytest.mark.parametrize(("given_", "taken"), [("[]", []), ('["a"]', ["a"]), ("", [""]), ("[", ["["]), (None, [])])
def test_a_list_as_text_is_the_list_that_it_shows(given_: str | None, taken: list[str]) -> None:
    assert arguments.read(SAVE, {"content": "x", "tags": given_}).tags == taken  # type: ignore[attr-defined]


def test_an_empty_object_as_text_is_an_empty_object() -> None:
    assert arguments.read(SAVE, {"content": "x", "metadata": "{}"}).metadata == {}  # type: ignore[attr-defined]


def test_what_is_mended_at_the_top_is_mended_inside_of_lists_too() -> None:
    item = {"content": "x", "tags": "ui", "metadata": "{}", "category": None, "pinned": "true", "surprise": "0.5"}
    for items in ([item], json.dumps([item])):
        [read] = arguments.read(BATCH, {"items": items}).items  # type: ignore[attr-defined]
        assert (read.tags, read.metadata, read.category, read.pinned, read.surprise) == (["ui"], {}, None, True, 0.5)
    [read] = arguments.read(BATCH, {"items": [{"content": "x", "tags": None, "messages": None}]}).items  # type: ignore[attr-defined]
    assert (read.tags, read.messages) == ([], [])


def test_what_is_refused_at_the_top_is_refused_inside_of_lists_too() -> None:
    says = _refused(BATCH, {"items": [{"content": "x"}, {"content": "x", "confidence": True}]})
    assert says == "`items.1.confidence` must be a number from 0 to 1; got true."
    assert "`items.0.content`" in _refused(BATCH, {"items": [{"content": None}]})


_IDS = {"id", "note_id", "memory_id", "target_id", "ids", "memory_ids", "supersedes"}
WITH_IDS = [
    (tool, name)
    for tool in CATALOGUE.tools()
    for name in sorted(_IDS & tool.own_schema["properties"].keys())
    if "import" not in tool.name
]


@pytest.mark.parametrize("blank", ["", " ", "[]", "\t``\n"])
@pytest.mark.parametrize(("tool", "name"), WITH_IDS, ids=lambda each: getattr(each, "full_name", each))
def test_an_empty_id_is_refused_by_its_name(tool: Tool, name: str, blank: str) -> None:
    field = f"{name}.0" if "array" in json.dumps(tool.own_schema["properties"][name]) else name
    given_ = {**tool.examples[0], name: [blank, blank] if field != name else blank}
    assert _refused(tool, given_) == f"`{field}` must not be empty: give the memory's id."


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        ([None, "a\u202e", {"é": False}], '[null, "a\\u202e", {"é": false}]'),
        ([[[[1]]]], "[[[...]]]"),
        ({"a": 1.5}, '{"a": 1.5}'),
    ],
)
def test_a_refusal_quotes_a_value_as_json_has_it(value: object, shown: str) -> None:
    for given_ in ({"content": value}, json.dumps({"content": value})):
        assert _refused(SAVE, given_).endswith(f"; got {shown}.")


def test_mending_leaves_what_was_given_alone() -> None:
    given_ = {"items": [{"content": "x", "tags": "ui", "category": None, "metadata": {"a": None, "b": [True, "[]"]}}]}
    before = json.dumps(given_)
    [read] = arguments.read(BATCH, given_).items  # type: ignore[attr-defined]
    assert json.dumps(given_) == before
    assert read.metadata == {"a": None, "b": [True, "[]"]}


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-31", "2026-01-31T00:00:00+00:00"),
        (" 2026-01-31T09:30z ", "2026-01-31T09:30:00+00:00"),
        ("2026-01-31 09:30:00.25", "2026-01-31T09:30:00.250000+00:00"),
        ("2026-01-31T09:30:00+02:00", "2026-01-31T07:30:00+00:00"),
    ],
)
def test_an_iso_time_is_taken_in_utc(text: str, time: str) -> None:
    assert arguments.read(SEARCH, {"query": "x", "created_after": text}).created_after.isoformat() == time  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "given_", ["2026", "5", "20260131", "1e9", "99999999999999", "12:00", "P1D", "", 2026, 1.5, True]
)
def test_a_number_is_no_time_even_as_text(given_: object) -> None:
    says = _refused(SEARCH, {"query": "x", "created_after": given_})
    assert says == "`created_after` must be a time such as '2026-01-31T09:30:00Z' or a date such as '2026-01-31'."


@pytest.mark.parametrize("given_", [None, [], "text", 5, True])
def test_arguments_that_are_no_object_are_refused(given_: object) -> None:
    assert "one JSON object" in _refused(SEARCH, given_)


def test_a_key_that_is_no_text_is_refused() -> None:
    _refused(SAVE, {"content": "x", "metadata": {5: "x"}})
    _refused(SAVE, {"content": "x", 5: "x"})


# A dialect's own document words these, without a full stop.
DOCUMENTED = ("Invalid category ", "Confidence must be between ")


@pytest.mark.parametrize("tool", CATALOGUE.tools(), ids=lambda tool: tool.full_name)
def test_any_arguments_are_read_or_refused_by_a_sentence(tool: Tool) -> None:
    names = [*tool.input_schema.get("properties", {}), "unknown", "", "\ud83d", "x" * 100]

    # Arguments of all tools are read by the same code: the tools together see thousands of examples.
    @settings(max_examples=settings().max_examples // 3)
    @given(st.dictionaries(st.sampled_from(names), JSON, max_size=6))
    def reads(given_: dict[str, Any]) -> None:
        for each in (given_, {**tool.examples[0], **given_}):
            refusal = _refusal_of(lambda given=each: arguments.read(tool, given))
            assert refusal.endswith((".", "?")) or refusal.startswith(DOCUMENTED)
            assert len(refusal) < 2000

    reads()


# Bodies


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"\xff\xfe", "UTF-8"),
        (b"{", "valid JSON"),
        (b"[1]", "one JSON object"),
        (b'{"a": NaN}', "valid JSON"),
        (b'{"a": Infinity}', "valid JSON"),
        (b"[" * 100_000, "levels deep"),
        (b'{"a":' * 100_000, "levels deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "5,000 digits; at most 400"),
        (b'{"a": [-' + b"9" * 401 + b"]}", "401|402"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        arguments.decode(body)


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_refused(body: bytes) -> None:
    assert _refusal_of(lambda: arguments.decode(body)).endswith(".")


def test_an_empty_body_is_no_arguments() -> None:
    assert arguments.decode(b" \n") == arguments.decode("") == {}


# Describing


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 20}, "an integer from 1 to 20"),
        ({"type": "integer", "minimum": 1}, "an integer of at least 1"),
        ({"type": "number", "maximum": 1}, "a number of at most 1"),
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["a", "b"]}, "one of 'a', 'b'"),
        ({"const": "a"}, "'a'"),
        ({"type": "string", "minLength": 1, "maxLength": 9}, "a string of 1 to 9 characters"),
        ({"type": "string"}, "a string"),
        ({"type": "object"}, "a JSON object"),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, "a number of at least 0 and below 1"),
        ({"type": "number", "exclusiveMinimum": 0}, "a number above 0"),
        ({"anyOf": [{"type": "number", "minimum": 0}, {"const": "auto"}]}, "a number of at least 0 or 'auto'"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 3}, "a list of at most 3 strings"),
        ({"type": "array", "items": {"type": "string"}}, "a list of strings"),
        (
            {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 64}, "minItems": 1},
            "a list of at least 1 string of 1 to 64 characters",
        ),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 1}, "a list of at most 1 integer"),
        ({"type": "array", "items": {"type": "object"}, "minItems": 1}, "a list of at least 1 JSON object"),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1},
            "a list of at least 1 item, each one of 'a', 'b'",
        ),
        ({"type": "string", "minLength": 1}, "a string of at least 1 character"),
        ({"type": "string", "minLength": 1, "maxLength": 1}, "a string of 1 character"),
        ({"type": "string", "minLength": 0, "maxLength": 0}, "a string of 0 characters"),
        ({"enum": [True, None]}, "one of true, null"),
        ({"const": False}, "false"),
        ({"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": 9}, "a list of 1 to 9 JSON objects"),
        ({"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}}, "a list of numbers above 0"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, "a list of lists of integers"),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
            "a list of at most 2 items, each one of 'a', 'b'",
        ),
        ({"type": "array"}, "a list of items"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}, "a list of 2 integers"),
        ({"type": "string", "minLength": 8, "maxLength": 8}, "a string of 8 characters"),
    ],
)
def test_a_schema_is_put_into_words(schema: dict[str, Any], words: str) -> None:
    assert describe(schema) == words


# Schemas


def _nodes(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [found for item in node for found in _nodes(item)]
    if isinstance(node, dict):
        return [node, *(found for item in node.values() for found in _nodes(item))]
    return []


@pytest.mark.parametrize("tool", CATALOGUE.tools(), ids=lambda tool: tool.full_name)
def test_a_tools_schema_is_plain(tool: Tool) -> None:
    for node in _nodes(tool.input_schema):
        assert "$ref" not in node
        assert "$defs" not in node
        assert "anyOf" not in node or len(node["anyOf"]) > 1
        assert node.get("type") != "null"
    assert tool.input_schema["type"] == "object"
    # The document of `categories` gives its schemas to the letter.
    assert tool.input_schema.get("additionalProperties") is (None if tool.toolset == "categories" else False)
    assert "title" not in tool.input_schema


def test_references_are_inlined_with_what_stands_beside_them() -> None:
    schema = {
        "$defs": {
            "Inner": {"type": "object", "title": "Inner", "properties": {"title": {"type": "string", "title": "T"}}}
        },
        "type": "object",
        "properties": {
            "one": {"$ref": "#/$defs/Inner", "description": "mine"},
            "maybe": {
                "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
                "default": None,
                "title": "Maybe",
            },
            "title": {"type": "string", "title": "Title"},
        },
    }
    assert plain_schema(schema) == {
        "type": "object",
        "properties": {
            "one": {"type": "object", "properties": {"title": {"type": "string"}}, "description": "mine"},
            "maybe": {"type": "integer", "minimum": 1},
            "title": {"type": "string"},
        },
    }
    kept = plain_schema(schema, optional_nulls=True)["properties"]["maybe"]
    assert {"type": "null"} in kept["anyOf"]
