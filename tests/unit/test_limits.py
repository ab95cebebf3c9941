"""What may be stored, and the sentences that say so."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.engine import limits
from recollect.errors import InvalidInput, TooLarge
from recollect.model import MAX_CONTENT_BYTES, MAX_MESSAGES_BYTES, MAX_METADATA_BYTES, Message


@pytest.mark.parametrize("content", ["", " ", "\n\t\u3000"])
def test_blank_content_is_refused(content: str) -> None:
    with pytest.raises(InvalidInput, match="content"):
        limits.check_content(content)


def test_content_is_measured_in_bytes() -> None:
    limits.check_content("x" * MAX_CONTENT_BYTES)
    limits.check_content("é" * (MAX_CONTENT_BYTES // 2))
    with pytest.raises(TooLarge, match="32,768"):
        limits.check_content("é" * (MAX_CONTENT_BYTES // 2) + "x")


def test_messages_and_metadata_are_measured_as_a_whole() -> None:
    half = Message(role="u", content="x" * (MAX_MESSAGES_BYTES // 2 - 1))
    limits.check_messages([half, half])
    with pytest.raises(TooLarge, match="messages"):
        limits.check_messages([half, half, Message(role="u", content="")])
    limits.check_metadata({"k": "x" * (MAX_METADATA_BYTES - len('{"k": ""}'))})
    with pytest.raises(TooLarge, match="metadata"):
        limits.check_metadata({"k": "x" * (MAX_METADATA_BYTES - len('{"k": ""}') + 1)})


def test_tags_are_trimmed_and_kept_once_whatever_their_case() -> None:
    assert limits.check_tags([" UI ", "ui", "Straße", "STRASSE", "日本"]) == ("UI", "Straße", "日本")
    assert limits.check_tags(["x" * 128]) == ("x" * 128,)
    limits.check_tags([f"tag {i}" for i in range(64)])
    for bad in ([""], [" "], ["x" * 129], [f"tag {i}" for i in range(65)]):
        with pytest.raises(InvalidInput):
            limits.check_tags(bad)


@pytest.mark.parametrize("scope", ["a", "work/project-x", "A_1/b-2", "/".join("abcdefghij"), "x" * 512])
def test_a_path_is_a_scope(scope: str) -> None:
    assert limits.check_scope(scope) == scope


@pytest.mark.parametrize(
    "scope", ["", "/", "/a", "a/", "a//b", "a b", "a/../b", "é", "a.b", "a\n", "/".join("abcdefghijk"), "x" * 513]
)
def test_anything_else_is_no_scope(scope: str) -> None:
    with pytest.raises(InvalidInput, match="scope"):
        limits.check_scope(scope)


def test_an_id_is_taken_in_any_of_its_forms() -> None:
    id = str(uuid4())
    for form in (id, id.upper(), f"note-{id}", f"  {id} "):
        assert limits.check_id(form) == id


@given(st.text(max_size=60))
def test_any_other_text_reads_as_an_unknown_id(text: str) -> None:
    known = limits.check_id(text)
    assert known == "" or known == str(UUID(known))


@pytest.mark.parametrize("id", ["", "note-", "x" * 36, "1234", "note-note-3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"])
def test_what_is_no_uuid_is_unknown(id: str) -> None:
    assert limits.check_id(id) == ""
