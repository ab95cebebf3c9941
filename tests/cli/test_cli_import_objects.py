"""import: JSON of no product in particular, how long a memory holds, and a dry run."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.test_cli_import import lines, load, stored

__all__ = ["load"]

FUTURE, PAST = "2099-01-01T00:00:00Z", "2001-01-01"


def test_objects_with_the_keys_of_save_come_in_and_other_keys_are_metadata(run, tmp_path):
    path = lines(
        tmp_path / "notes.jsonl",
        {"content": "Ana likes tea", "tags": ["drinks"], "category": "fact", "occurred_at": "2026-01-02", "rank": 3},
        "{broken\n",
        {"content": "Bob runs", "metadata": {"a": 1}, "scope": "work", "confidence": 0.5},
        {"content": "Carl", "tags": 7},
    )
    result = run("import", path)
    assert result.exit_code == 6
    assert [line.split(": ")[0] for line in result.stderr.splitlines()] == ["notes.jsonl:2", "notes.jsonl:4"]
    assert "Kept as metadata: rank." in result.stdout
    tea, runs = stored(run)
    assert (tea["tags"], tea["category"], tea["metadata"]) == (["drinks"], "fact", {"rank": 3})
    assert (runs["scope"], runs["metadata"], runs["confidence"]) == ("work", {"a": 1}, 0.5)


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.json"])
def test_a_damaged_first_line_costs_itself_alone(run, tmp_path, name):
    path = lines(tmp_path / name, '{"content": "bro\n', *({"content": f"fact {n}"} for n in range(3)))
    result = run("import", path)
    assert "3 written" in result.stdout
    assert result.stderr.startswith(f"{name}:1: ")


@pytest.mark.parametrize("wrap", [list, lambda items: {"memories": items}])
def test_objects_in_a_document_come_in(load, tmp_path, wrap):
    path = tmp_path / "notes.json"
    path.write_text(json.dumps(wrap([{"content": "one"}, {"content": "two"}]), indent=1))
    assert load(path) == (2, 0, 0)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"expires_at": PAST}, "expired memories"),
        ({"expiration_date": PAST}, "expired memories"),
        ({"valid_until": 1_000_000_000}, "expired memories"),
        ({"invalid_at": PAST}, "invalidated memories"),
        ({"deleted_at": PAST}, "deleted memories"),
        ({"is_deleted": True}, "deleted memories"),
        ({"archived": True}, "archived memories"),
        ({"state": "archived"}, "archived memories"),
        ({"superseded_by": "another"}, "superseded memories"),
        ({"status": "Superseded"}, "superseded memories"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        {"content": "Ana lives in Porto"},
        {"id": "1", "memory": "Ana lives in Porto"},
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["lives in Porto"]},
    ],
)
def test_what_has_ended_elsewhere_is_left_out_and_counted(run, tmp_path, form, said, what):
    path = lines(tmp_path / "m.jsonl", {**form, **said}, form)
    done = json.loads(run("import", path, "--json").stdout)
    assert (done["written"], done["left_out"]) == (1, {what: 1})


def test_a_day_at_which_a_memory_ends_is_over_at_its_end_in_the_user_s_zone(run, load, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELTRAP_TIMEZONE", "America/New_York")
    path = lines(tmp_path / "m.jsonl", {"content": "Ana lives in Porto", "expiration_date": "2099-01-01"})
    assert load(path) == (1, 0, 0)
    assert stored(run)[0]["expires_at"].startswith("2099-01-02T05:00:00")


@pytest.mark.parametrize("form", [{"content": "Ana lives in Porto"}, {"id": "1", "memory": "Ana lives in Porto"}])
@pytest.mark.parametrize("key", ["expires_at", "valid_until", "invalid_at", "expiration_date"])
def test_an_end_that_is_to_come_becomes_ours(run, load, tmp_path, form, key):
    assert load(lines(tmp_path / "m.jsonl", {**form, key: FUTURE, "archived": False, "superseded_by": None})) == (
        1,
        0,
        0,
    )
    assert stored(run)[0]["expires_at"].startswith("2099-01-01T00:00:00")


def test_the_validity_of_mcp_memory_service_is_kept(run, tmp_path):
    path = tmp_path / "sqlite_vec.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE memories (content, content_hash, tags, created_at, metadata, superseded_by)")
        rows = [
            ("one", {}, None),
            ("two", {"expires_at": PAST}, None),
            ("three", {}, "x"),
            ("four", {"expires_at": FUTURE}, None),
        ]
        for text, metadata, by in rows:
            file.execute("INSERT INTO memories VALUES (?, '', '', 1.0, ?, ?)", (text, json.dumps(metadata), by))
        file.commit()
    done = json.loads(run("import", path, "--json").stdout)
    assert done["left_out"] == {"expired memories": 1, "superseded memories": 1}
    one, four = stored(run)
    assert (one["content"], one.get("expires_at"), four["content"]) == ("one", None, "four")
    assert four["expires_at"].startswith("2099-01-01T00:00:00")


def test_a_dry_run_shows_the_first_five_as_they_would_be_stored_and_writes_nothing(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("Fact,Who\n" + "".join(f"Fact {n},Ana\n" for n in range(7)) + '"stray\n')
    shown = json.loads(run("import", path, "--dry-run", "--tag", "t", "--json").stdout)
    assert [each["content"] for each in shown["first"]] == [f"Fact {n}" for n in range(5)]
    assert shown["first"][0]["metadata"] == {"Who": "Ana"}
    assert shown["first"][0]["tags"] == ["t"]
    assert (shown["found"], shown["written"], shown["failed"], shown["kept_as_metadata"]) == (8, 7, 1, ["Who"])
    assert stored(run) == []


def test_a_dry_run_reads_as_sentences_to_a_person(run, tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("Fact,Who,date\n" + "".join(f"Fact {n},Ana,2024-05-03\n" for n in range(7)) + '"stray\n')
    shown = run("import", path, "--dry-run")
    assert shown.exit_code == 6
    assert shown.stdout.splitlines()[:3] == [
        "8 found: 7 would be written, 0 already there, 1 can't be. Nothing was written.",
        "Fact 0",
        '      facts.csv:2  occurred_at: 2024-05-03, 2 years ago  metadata: {"Who": "Ana"}',
    ]
    assert "... and 2 more like these." in shown.stdout
    assert "facts.csv:9: a quote at the beginning" in shown.stderr
    assert stored(run) == []


def test_a_dry_run_of_a_conversation_shows_how_it_begins(run):
    path = Path(__file__).parents[2] / "examples/moving-in/conversations.json"
    shown = run("import", path, "--dry-run").stdout.splitlines()
    assert shown[0].startswith("6 found: 5 would be written, 0 already there, 1 can't be.")
    assert shown[1].startswith("I moved to Lisbon in March. Any advice for the first weeks? / Get a NIF number first")
    assert "  3 messages" in shown[2]
    assert stored(run) == []
