"""The streaming JSON reader says what json.loads says, wherever its window ends."""

import json
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from steeltrap.importers import json_values
from steeltrap.importers.json_values import Damage
from steeltrap.text import json_pieces

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


def read(tmp_path_factory, monkeypatch_chunk, data):
    chunk, json_pieces.PIECE = json_pieces.PIECE, monkeypatch_chunk
    try:
        return list(json_values.read_document(BytesIO(data)))
    finally:
        json_pieces.PIECE = chunk


@given(st.lists(values, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_an_array_is_read_item_by_item(tmp_path_factory, items, chunk, indent, ascii):
    data = json.dumps(items, indent=indent, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    assert [part.value for part in read(tmp_path_factory, chunk, data)] == items


@given(st.lists(values, max_size=6), st.integers(1, 40))
def test_the_messages_of_an_object_are_read_one_by_one(tmp_path_factory, items, chunk):
    data = json.dumps({"id": "c", "messages": items, "model": [1]}).encode()
    parts = read(tmp_path_factory, chunk, data)
    assert [part.value for part in parts] == items
    assert all(part.around["id"] == "c" for part in parts)


@given(st.lists(st.dictionaries(st.text(), scalars, min_size=1, max_size=3), min_size=1, max_size=6), st.data())
def test_a_cut_document_gives_the_items_before_the_cut_and_says_that_it_ends(tmp_path_factory, items, data):
    whole = json.dumps(items, indent=1).encode()
    cut = data.draw(st.integers(1, len(whole) - 1))
    *parts, last = read(tmp_path_factory, data.draw(st.integers(1, 40)), whole[:cut])
    assert isinstance(last, Damage)
    assert "ends in the middle" in last.sentence
    assert [part.value for part in parts] == items[: len(parts)]


@given(st.binary(max_size=200), st.integers(1, 40))
def test_no_bytes_make_it_fail(tmp_path_factory, junk, chunk):
    read(tmp_path_factory, chunk, b"[" + junk)
    read(tmp_path_factory, chunk, b"{" + junk)
