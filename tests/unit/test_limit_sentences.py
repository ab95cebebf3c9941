"""The sentences of the limits, whole: what they name, count and allow is what a caller reads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from clock import NOON
from steeltrap.errors import InvalidInput, TooLarge
from steeltrap.model import MAX_CONTENT_BYTES, MAX_MESSAGES_BYTES, Importance, Link, Memory, Message
from steeltrap.text import json_limits, limits

PATH_SENTENCE = "`scope` must be a path such as 'work/project-x': letters, digits, '_' and '-' between single slashes."
FILE_SENTENCE = (
    "`file_path` must be a relative path such as 'backup/memories.json': letters, digits, '.', '_' and '-' "
    "between single slashes, no part beginning with a dot, at most 200 characters."
)
UUID_IN_ITS_OTHER_FORMS = [
    "3f2b8c1e9d4a4f6b8a2e1c5d7e9f0a3b",
    "{3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b}",
    "urn:uuid:3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
]


MEMORY = Memory(id="3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", content="x", created_at=NOON, updated_at=NOON)


def _said(**changes: Any) -> Message:
    return Message(**{"role": "user", "content": "hello", **changes})


@pytest.mark.parametrize(
    ("check", "given", "sentence"),
    [
        (limits.check_content, (" ",), "`content` must not be empty: give the text to remember."),
        (json_limits.check_text, ("context", "a\x00b"), "`context` has a NUL character; leave it out."),
        (
            json_limits.check_text,
            ("context", "\ud83d"),
            "`context` has half of a surrogate pair; send whole Unicode characters.",
        ),
        (
            limits.check_messages,
            ([_said(), _said(speaker="a\x00")],),
            "`messages.1` has a NUL character; leave it out.",
        ),
        (limits.check_messages, ([_said(), _said(role="")],), "`messages.1` must have a role and a content."),
        (limits.check_messages, ([_said()] * 1001,), "`messages` has 1,001 messages; at most 1,000 fit."),
        (
            limits.check_messages,
            ([_said(role="r" * 65)],),
            "`messages.0.role` has 65 characters; at most 64 fit.",
        ),
        (
            limits.check_metadata,
            ({"a": float("inf")},),
            "`metadata` must hold finite numbers and whole Unicode characters only.",
        ),
        (
            json_limits.check_json,
            ({"metadata": {"order": {"number": 12345678901234567890}}},),
            "`metadata.order.number` must be an integer of at most 64 bits; send it as a string.",
        ),
        (
            json_limits.check_json,
            ({"metadata": {"a": [1, {"b": float("nan")}]}},),
            "`metadata.a.1.b` must be a finite number; leave it out, or send it as a string.",
        ),
        (
            json_limits.check_json,
            ({"k" * 500: 2**63}, 0, "metadata"),
            f"`metadata.{json_limits.cut('k' * 500)}` must be an integer of at most 64 bits; send it as a string.",
        ),
        (limits.check_tags, (["a", ""],), "each tag must have 1 to 128 characters."),
        (limits.check_tags, ([f"{i}" for i in range(65)],), "`tags` has 65 tags; at most 64 fit."),
        (limits.check_scope, ("/".join("abcdefghijk"),), "`scope` is 11 levels deep; at most 10 are allowed."),
        (limits.check_scope, ("a b",), PATH_SENTENCE),
        (limits.check_file_name, ("../x",), FILE_SENTENCE),
        (limits.check_file_name, ("x" * 201,), FILE_SENTENCE),
        (limits.check_file_name, ("a/b/c/d/e/f",), "`file_path` has 6 parts; at most 5 are allowed."),
        (
            limits.check_manual_links,
            ([Link(target_id="a", strength=1, manual=True)] * 101,),
            "a memory has at most 100 manual associations.",
        ),
        (
            limits.check_links,
            ([Link(target_id="a", strength=1)] * 1001,),
            "`links` has 1,001 links; at most 1,000 fit.",
        ),
        (
            limits.check_links,
            ([Link(target_id="a", strength=1)],),
            "`links.0.target_id` must be a memory's id, a UUID.",
        ),
        (limits.check_length, ("category", "x" * 1257, 1256), "`category` has 1,257 characters; at most 1,256 fit."),
        (limits.check_range, ("confidence", 1.5, 0, 1), "`confidence` must be from 0 to 1."),
        (limits.check_memory, (replace(MEMORY, id="nobody"),), "`id` must be a UUID."),
        (limits.check_memory, (replace(MEMORY, surprise=1.1),), "`surprise` must be from 0 to 1."),
        (
            limits.check_memory,
            (replace(MEMORY, importance=Importance(score=1.1, reason="", set_at=NOON)),),
            "`importance.score` must be from 0 to 1.",
        ),
    ],
)
def test_a_refusal_says_what_to_do(check: Callable[..., object], given: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check(*given)
    assert refused.value.message == sentence


@pytest.mark.parametrize(
    ("check", "given", "sentence"),
    [
        (
            limits.check_content,
            "é" * (MAX_CONTENT_BYTES // 2) + "x",
            "`content` is 32,769 bytes; at most 32,768 fit. Split it into several memories.",
        ),
        (
            limits.check_messages,
            [_said(role="é", content="x" * (MAX_MESSAGES_BYTES - 7), speaker="Anaïs")],
            "`messages` are 131,073 bytes; at most 131,072 fit in one memory.",
        ),
        (
            limits.check_metadata,
            {"é": "x" * (16_384 - 9)},
            "`metadata` is 16,385 bytes as JSON; at most 16,384 fit.",
        ),
    ],
)
def test_what_is_too_large_is_told_its_size(check: Callable[..., object], given: object, sentence: str) -> None:
    with pytest.raises(TooLarge) as refused:
        check(given)
    assert refused.value.message == sentence


@pytest.mark.parametrize("name", ["a", "backup/memories.json", "_.", "a/b/c/d/e", "x" * 200])
def test_a_relative_path_is_a_file_name(name: str) -> None:
    assert limits.check_file_name(name) == name


def test_a_hundred_links_by_hand_and_any_others_are_allowed() -> None:
    by_hand = [Link(target_id="a", strength=1, manual=True)] * 100
    limits.check_manual_links([*by_hand, *[Link(target_id="a", strength=1)] * 100])


@pytest.mark.parametrize("id", UUID_IN_ITS_OTHER_FORMS)
def test_an_id_of_another_form_is_unknown(id: str) -> None:
    assert limits.check_id(id) == ""


@pytest.mark.parametrize("field", ["role", "content", "speaker"])
def test_a_message_has_no_half_characters_anywhere(field: str) -> None:
    with pytest.raises(InvalidInput, match=r"`messages\.0` has half of a surrogate pair"):
        limits.check_messages([_said(**{field: "\ud83d"})])


@pytest.mark.parametrize("bound", [0, 1])
def test_a_share_may_be_nothing_or_all(bound: float) -> None:
    memory = replace(
        MEMORY, surprise=bound, confidence=bound, importance=Importance(score=bound, reason="", set_at=NOON)
    )
    assert limits.check_memory(memory) == memory
