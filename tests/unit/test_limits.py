"""Limits of a memory, and the sentences that state them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.errors import InvalidInput, TooLarge
from steeltrap.model import MAX_CONTENT_BYTES, MAX_MESSAGES_BYTES, MAX_METADATA_BYTES, Importance, Link, Memory, Message
from steeltrap.text import limits

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ID = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"


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


def test_tags_are_trimmed_and_kept_once_whatever_their_case_and_the_encoding_of_accents() -> None:
    assert limits.check_tags(["Cafe\u0301", "CAF\u00c9", "\u00c5", "\u212b", "a\u030a"]) == ("Cafe\u0301", "\u00c5")
    assert limits.check_tags([" UI ", "ui", "Straße", "STRASSE", "日本"]) == ("UI", "Straße", "日本")
    assert limits.check_tags(["x" * 128]) == ("x" * 128,)
    limits.check_tags([f"tag {i}" for i in range(64)])
    for bad in ([""], [" "], ["x" * 129], [f"tag {i}" for i in range(65)]):
        with pytest.raises(InvalidInput):
            limits.check_tags(bad)


@pytest.mark.parametrize(
    "scope",
    [
        "a",
        "work/project-x",
        "A_1/b-2",
        "/".join("abcdefghij"),
        "x" * 512,
        "работа/проект-1",
        "仕事/計画_2",
        "हिन्दी/१२",
        "Zürich/straße",
        "ไทย",
        "ٱلْعَرَبِيَّة",
    ],
)
def test_a_path_is_a_scope(scope: str) -> None:
    assert limits.check_scope(scope) == scope


def test_a_scope_has_one_form_however_its_accents_are_written() -> None:
    assert limits.check_scope("cafe\u0301/Ju\u0308rgen") == "caf\u00e9/J\u00fcrgen"


@pytest.mark.parametrize(
    "scope",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        "a b",
        "a/../b",
        "a\u3164b",
        "\u0301a",
        "a\u200bb",
        "a／b",
        "²",
        "😀",
        "a\ufe0f",
        "a.b",
        "a\n",
        "/".join("abcdefghijk"),
        "x" * 513,
    ],
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


# Whole memories

_PLAIN = Memory(id=ID, content="x", created_at=NOON, updated_at=NOON)


def _links(n: int) -> tuple[Link, ...]:
    return tuple(Link(target_id=str(UUID(int=i)), strength=0.5) for i in range(n))


def _said(**changes: Any) -> tuple[Message, ...]:
    return (replace(Message(role="u", content="c"), **changes),)


def _important(score: float, reason: str = "r") -> Importance:
    return Importance(score=score, reason=reason, set_at=NOON)


@pytest.mark.parametrize(
    ("field", "most", "over"),
    [
        ("context", "x" * 4096, "x" * 4097),
        ("category", "x" * 256, "x" * 257),
        ("agent_label", "x" * 256, "x" * 257),
        ("agent_id", "x" * 2048, "x" * 2049),
        ("conversation_id", "x" * 2048, "x" * 2049),
        ("version", 2**53, 2**53 + 1),
        ("version", 1, 0),
        ("restored_version", 1, 2),
        ("restored_version", 1, -4),
        ("confidence", 1, 1.01),
        ("confidence", 0, float("nan")),
        ("surprise", 1, -0.1),
        ("importance", _important(1, "x" * 4096), _important(99)),
        ("importance", _important(0), _important(0, "x" * 4097)),
        ("importance", _important(0), _important(float("nan"))),
        ("links", _links(1000), _links(1001)),
        ("links", _links(1), (Link(target_id="nobody", strength=1),)),
        ("links", _links(1), (Link(target_id=ID, strength=1.5),)),
        ("messages", _said() * 1000, _said() * 1001),
        ("messages", _said(role="r" * 64), _said(role="r" * 65)),
        ("messages", _said(speaker="s" * 256), _said(speaker="s" * 257)),
        ("messages", _said(), _said(role="")),
        ("messages", _said(), _said(content="")),
        ("metadata", {"a": 1.5}, {"a": [float("nan")]}),
        ("metadata", {}, {"a": "\ud83d"}),
        ("tags", ("x" * 128,), ("x" * 129,)),
        ("scope", "a/b", "//"),
        ("id", ID, "nobody"),
    ],
)
def test_a_memory_is_held_to_every_bound_by_name(field: str, most: Any, over: Any) -> None:
    change = {"version": 1, field: most}
    assert limits.check_memory(replace(_PLAIN, **change)) == replace(_PLAIN, **change)
    with pytest.raises(InvalidInput, match="tag" if field == "tags" else f"`{field}") as refused:
        limits.check_memory(replace(_PLAIN, **{field: over}))
    assert refused.value.message.endswith(".")


def test_a_memory_comes_out_in_its_stored_form() -> None:
    target = Link(target_id=f"note-{ID.upper()}", strength=0.5)
    given_ = replace(_PLAIN, id=ID.upper(), tags=(" ui ", "UI"), links=(target, replace(target, strength=0.1)))
    kept = limits.check_memory(given_)
    assert (kept.id, kept.tags, kept.links) == (ID, ("ui",), (Link(target_id=ID, strength=0.5),))


@pytest.mark.parametrize("text", ["a\x00b", "half \ud83d pair"])
def test_text_that_no_store_keeps_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"`content` has"):
        limits.check_content(text)
