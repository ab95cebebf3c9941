"""A recorded session of each client runs through its hooks: said in one session, offered in the next, once."""

import json
from pathlib import Path
from typing import Any

import pytest

from hooks.conftest import Computer, Recording
from steeltrap.surfaces.project import project_of

ANSWER = "5544"


def context(printed: str) -> str:
    """What a client adds to its model's context, by the form that its documentation gives."""
    if not printed:
        return ""
    value = json.loads(printed)
    added: Any = value.get("hookSpecificOutput", {}).get("additionalContext") or value.get("additional_context")
    return str(added)


def offers(printed: list[str]) -> list[str]:
    return [text for text in map(context, printed) if ANSWER in text]


def turns(computer: Computer) -> list[tuple[str, str]]:
    """The scope and the text of everything that was said, however it is kept by now."""
    with computer.memory() as memory:
        found = memory.core.search(query="port make ship", include_conversation=True, limit=1000)["results"]
    return [(each["scope"], each["content"]) for each in found if each.get("source") == "conversation"]


@pytest.mark.usefixtures("server")
def test_beside_a_server_what_was_said_is_offered_in_the_next_session_once(
    computer: Computer, recorded: Recording, shop: Path, blog: Path
) -> None:
    said_and_offered(computer, recorded, shop, blog)


@pytest.mark.slow
def test_without_a_server_what_was_said_is_offered_in_the_next_session_once(
    computer: Computer, recorded: Recording, shop: Path, blog: Path
) -> None:
    said_and_offered(computer, recorded, shop, blog)


def said_and_offered(computer: Computer, recorded: Recording, shop: Path, blog: Path) -> None:
    first = recorded.play(computer, "said", shop)
    assert first == [""] * len(first)
    elsewhere = recorded.play(computer, "asked", blog)
    assert offers(elsewhere) == []
    again = recorded.play(computer, "asked", shop)
    assert len(offers(again)) == 1
    assert "<memories>" in offers(again)[0]
    assert "Of this project, shop:" in offers(again)[0]
    assert computer.log == []
    project = project_of(shop)
    assert project is not None
    kept = [text for scope, text in turns(computer) if scope == project.scope]
    assert sorted(text for text in kept if text in recorded.said) == sorted(recorded.said)
