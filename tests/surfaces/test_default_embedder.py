"""Memories with the embedder that comes with steeltrap, from saving to finding."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from embedding import HashedWords
from steeltrap.cli.app import app
from steeltrap.embedders.calibration import CALIBRATION_TEXTS, CONVERSATION, JAPANESE_TEXTS
from steeltrap.invoke import Door, Result
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_door
from steeltrap.settings import Settings

ANA = Caller(UserRef("ana"), "default")


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Callable[..., Result]]:
    door = open_door(Settings(data=tmp_path))
    yield lambda tool, **arguments: door.invoke(f"core.{tool}", arguments, ANA)
    door.store.close()


def body(result: Result) -> Any:
    assert result.error is None, result.error
    return result.body


def test_unrelated_japanese_memories_are_new_and_not_linked(ask: Callable[..., Result]) -> None:
    saved = [body(ask("save", content=text)) for text in JAPANESE_TEXTS]
    assert [memory["links"] for memory in saved] == [0] * len(saved)
    assert min(memory["surprise"] for memory in saved[1:]) >= 0.7


def test_of_a_memory_without_a_known_word_nothing_is_near_and_nothing_new(ask: Callable[..., Result]) -> None:
    body(ask("save", content="The kettle is on."))
    for text in ("🫖", "👍"):
        saved = body(ask("save", content=text))
        assert (saved["surprise"], saved["links"]) == (0.5, 0)
    assert body(ask("save", content="The kettle is on again."))["links"] == 1


def test_a_memory_without_a_known_word_is_found_by_its_words(ask: Callable[..., Result]) -> None:
    key = "k7" * 60
    body(ask("save", content=key))
    body(ask("save", content="The kettle is on."))
    found = body(ask("search", query=key))
    assert found["results"][0]["content"] == key
    assert body(ask("search", query="🫖"))["outcome"]["kind"] != "degraded"


def test_memories_of_the_embedder_before_are_found_by_words_or_refused_until_they_are_embedded_again(
    tmp_path: Path,
) -> None:
    before = HashedWords(dimension=256)
    before.name = "wordllama/l2_supercat_256"
    door = open_door(Settings(data=tmp_path), embedder=before)
    body(door.invoke("core.save", {"content": "Ana lives in Lisbon."}, ANA))
    door.store.close()

    def search(**chosen: Any) -> Result:
        door: Door = open_door(Settings(data=tmp_path, **chosen))
        try:
            return door.invoke("core.search", {"query": "Where does Ana live?"}, ANA)
        finally:
            door.store.close()

    found = body(search())
    assert found["results"][0]["content"] == "Ana lives in Lisbon."
    assert "embedded by wordllama/l2_supercat_256, which is not at hand" in found["outcome"]["message"]
    assert "choose it by STEELTRAP_EMBEDDER if it is installed" in found["outcome"]["message"]
    error = search(embedder="static-256").error
    assert error is not None
    assert error.message == (
        "These memories were embedded by wordllama/l2_supercat_256 (256 dimensions), and this is "
        "steeltrap/static-256-2 (256). Run `steeltrap reembed` to re-embed them, or set STEELTRAP_EMBEDDER back if "
        "you changed it."
    )
    assert CliRunner().invoke(app, ["reembed", "--data", str(tmp_path)]).exit_code == 0
    found = body(search())
    assert found["results"][0]["content"] == "Ana lives in Lisbon."
    assert found["outcome"]["kind"] != "degraded"


ABOUT_ANA = (
    "Ana is 34 and plays the cello.",
    "Ana moved from Porto to Lisbon in March to work at Acme.",
    "Ana is allergic to peanuts.",
    "Ana prefers tea to coffee.",
    "Ana's brother Rui studies law.",
    "Ana runs ten kilometres every Sunday.",
    "Ana drives an old Volvo.",
    "Ana's dentist is Dr. Reis.",
    "Ana reads crime novels on the train.",
    "Ana has two cats, Tico and Teco.",
    "Ana's landlord wants the rent on the third.",
    "Ana takes the tram to the office.",
)


def test_a_lone_name_never_wins_against_what_was_asked(ask: Callable[..., Result]) -> None:
    for fact in ABOUT_ANA:
        body(ask("save", content=fact))
    [first] = body(ask("search", query="which city does Ana live in?", limit=1))["results"]
    assert first["content"] == "Ana moved from Porto to Lisbon in March to work at Acme."


def test_each_precision_returns_a_part_of_what_the_wider_one_does(ask: Callable[..., Result]) -> None:
    for fact in ABOUT_ANA:
        body(ask("save", content=fact))
    for query in ("what is Ana allergic to?", "does Ana have cats?", "tea or coffee", "where does Ana drive?"):
        everything, relevant, best = (
            [hit["id"] for hit in body(ask("search", query=query, limit=100, precision=how))["results"]]
            for how in ("all", "relevant", "best")
        )
        assert len(everything) == len(ABOUT_ANA)
        assert relevant == everything[: len(relevant)]
        assert best == relevant[: len(best)]
        assert 1 <= len(best) <= len(relevant) < len(everything)


def test_nothing_relevant_is_said_in_words_and_only_when_asked_for(ask: Callable[..., Result]) -> None:
    for fact in ABOUT_ANA:
        body(ask("save", content=fact))
    asked = "income tax brackets for freelancers in Canada"
    told = body(ask("search", query=asked, precision="relevant"))
    assert told["outcome"]["nearest"]["content"] in ABOUT_ANA
    assert told == {
        "results": [],
        "outcome": {
            "kind": "nothing_relevant",
            "message": "Nothing close to this among 12 memories.",
            "nearest": told["outcome"]["nearest"],
        },
    }
    assert len(body(ask("search", query=asked))["results"]) == 10


ASKED_OF_ANA = {
    "which city does Ana live in?": ABOUT_ANA[1],
    "what must Ana not eat?": ABOUT_ANA[2],
    "what does she drink?": ABOUT_ANA[3],
    "what car does Ana have?": ABOUT_ANA[6],
    "who looks after Ana's teeth?": ABOUT_ANA[7],
    "does Ana have pets?": ABOUT_ANA[9],
    "when is the rent due?": ABOUT_ANA[10],
    "how does Ana get to work?": ABOUT_ANA[11],
}


def test_an_unrelated_memory_hardly_ever_drives_the_right_one_out_of_the_first_ten(ask: Callable[..., Result]) -> None:
    for fact in (*ABOUT_ANA, *CALIBRATION_TEXTS):
        body(ask("save", content=fact))

    def among_ten() -> set[str]:
        answers = {query: body(ask("search", query=query))["results"] for query in ASKED_OF_ANA}
        return {query for query, hits in answers.items() if ASKED_OF_ANA[query] in [hit["content"] for hit in hits]}

    there = among_ten()
    assert len(there) >= 6
    dropped = 0
    for unrelated in CONVERSATION:
        added = body(ask("save", content=unrelated))["id"]
        dropped += len(there - among_ten())
        body(ask("delete", id=added))
    assert dropped <= 0.01 * len(CONVERSATION) * len(there)


def test_memories_of_an_earlier_small_name_the_command_that_embeds_them_for_todays(tmp_path: Path) -> None:
    before = HashedWords(dimension=640)
    before.name = "small/meaning+steeltrap/static-256-2"
    door = open_door(Settings(data=tmp_path), embedder=before)
    body(door.invoke("core.save", {"content": "Ana lives in Lisbon."}, ANA))
    door.store.close()
    door = open_door(Settings(data=tmp_path))
    try:
        found = body(door.invoke("core.search", {"query": "Where does Ana live?"}, ANA))
    finally:
        door.store.close()
    assert "run `steeltrap embedder small`, or run `steeltrap reembed`" in found["outcome"]["message"]


def test_the_error_for_a_data_folder_that_cannot_be_created_shows_nobody_elses_path(tmp_path: Path) -> None:
    door = open_door(Settings(data=tmp_path / "file" / "memories"))
    (tmp_path / "file").write_text("no folder")  # one that is there when the door opens is told to the operator
    result = door.invoke("core.save", {"content": "Ana lives in Lisbon."}, ANA)
    assert result.error is not None
    assert "`steeltrap config` shows which one" in result.error.message
    assert str(tmp_path) not in result.error.message
