"""Ids: one form as text, 16 bytes in a store. The rules themselves need no numpy."""

import subprocess
import sys
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.text.limits import bounds_of_start, canonical, check_id, from_key, shortest_start, start_of, to_key

ID = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"


@given(st.uuids())
def test_every_uuid_survives_its_bytes(uuid: UUID) -> None:
    assert to_key(str(uuid)) == uuid.bytes
    assert (
        from_key(uuid.bytes) == canonical(uuid.hex.upper()) == check_id(f" note-{uuid}".upper().replace("NOTE", "note"))
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        ID[:-1],
        ID + "0",
        ID.replace("3f", " 3"),
        f"urn:uuid:{ID}",
        f"{{{ID}}}",
        ID.replace("3", "\N{FULLWIDTH DIGIT THREE}"),
        "3_2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b",
        "urn:3f2b8c1e9d4a4f6b8a2e1c5d7e9f0a3b",
    ],
)
def test_what_is_no_id_has_no_form(text: str) -> None:
    assert (to_key(text), canonical(text), check_id(text)) == (b"", "", "")


@given(st.uuids(), st.integers(8, 32))
def test_every_start_of_an_id_has_one_form_and_bounds_the_id(uuid: UUID, digits: int) -> None:
    start = start_of(uuid.hex[:digits].upper())
    assert str(uuid).startswith(start)
    assert len(start.replace("-", "")) == digits
    first, last = bounds_of_start(start)
    assert first <= uuid.bytes <= last


@pytest.mark.parametrize("text", ["", "3f2b8c1", "3f2b8c1g", "note-3f2b8c1e", ID + "0", "%", "3f2b8c1e*"])
def test_what_starts_no_id_has_no_start(text: str) -> None:
    assert start_of(text) == ""


@pytest.mark.parametrize(
    ("others", "shortest"),
    [
        ([], "3f2b8c1e"),
        ([ID, "3f2b8c1f-0000-4000-8000-000000000000"], "3f2b8c1e"),
        (["3f2b8c1e-0000-4000-8000-000000000000"], "3f2b8c1e-9"),
        (["3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3c"], ID),
    ],
)
def test_an_id_is_shortened_as_far_as_no_other_starts_alike(others: list[str], shortest: str) -> None:
    assert shortest_start(ID, others) == shortest


def test_only_ranking_imports_numpy() -> None:
    """A function that doesn't search starts without it."""
    code = (
        "import importlib, pkgutil, sys, steeltrap.text as rules\n"
        "names = {found.name for found in pkgutil.iter_modules(rules.__path__)} - {'ranking', 'fusion', 'on_days'}\n"
        "for name in names: importlib.import_module(f'steeltrap.text.{name}')\n"
        "import steeltrap.toolsets\n"
        "sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
