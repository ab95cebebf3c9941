"""export, and back: nothing is lost, nothing comes twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from steeltrap.cli.session import Exit
from steeltrap.engine import exporting

ID = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"
RECORD = {"id": ID, "content": "x", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}


@pytest.fixture
def rich(ask):
    """A store with every kind of thing in it."""
    first = ask("core.save", content="Ana likes tea — 🍵", tags=["Drink"], metadata={"a": [1, None]}, confidence=0.5)[
        "id"
    ]
    ask("core.update", id=first, content="Ana likes coffee")
    ask("core.update", id=first, tags=["drink", "hot"])
    ask("core.undo", id=first)
    other = ask("core.save", content="Ana likes green tea", scope="work/x", pinned=True, occurred_at="2025-01-01")["id"]
    ask("core.associate", id=first, target_id=other)
    ask("core.save", content="episode", messages=[{"role": "user", "content": "hi", "speaker": "Ana"}], surprise=0.9)
    ask("core.save", content="soon gone", tier="short_term")
    ask("core.append_messages", messages=[{"role": "user", "content": "a turn"}], conversation_id="c")


def test_an_export_comes_back_equal_with_its_history(run, rich, tmp_path):
    there = tmp_path / "elsewhere"
    assert run("export", tmp_path / "e.jsonl").exit_code == 0
    assert run("import", tmp_path / "e.jsonl", data=there).exit_code == 0
    before, after = run("export", "-").stdout, run("export", "-", data=there).stdout
    assert after == before
    assert any(len(json.loads(line).get("history", [])) >= 3 for line in before.splitlines())
    assert len(before.splitlines()) == 5


def test_importing_an_export_twice_changes_nothing(run, rich, tmp_path):
    run("export", tmp_path / "e.jsonl")
    result = json.loads(run("import", tmp_path / "e.jsonl", "--json").stdout)
    assert (result["written"], result["skipped"]) == (0, 5)


def test_undo_works_after_the_round_trip(run, tmp_path, ask):
    id = ask("core.save", content="first")["id"]
    ask("core.update", id=id, content="second")
    run("export", tmp_path / "e.jsonl")
    run("import", tmp_path / "e.jsonl", data=tmp_path / "there")
    assert "first" in run("undo", id, data=tmp_path / "there").stdout


def test_turns_can_be_left_out(run, rich):
    assert len(run("export", "-", "--no-turns").stdout.splitlines()) == 4


def test_an_export_that_fails_leaves_the_old_file(run, rich, tmp_path, monkeypatch):
    path = tmp_path / "e.jsonl"
    path.write_text("the old one")

    def breaks_off(call, turns):
        yield {"id": "1"}
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporting, "export_all", breaks_off)
    result = run("export", path, "--replace")
    assert result.exit_code == Exit.UNAVAILABLE
    assert f"The disk of {path} is full: free some space there" in result.stderr
    assert path.read_text() == "the old one"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["file", "link", "link to nothing"])
def test_an_export_replaces_what_is_there_only_when_told(run, rich, tmp_path, kind):
    path = tmp_path / "e.jsonl"
    other = path if kind == "file" else tmp_path / "other"
    if kind != "link to nothing":
        other.write_text("the old one")
    if kind != "file":
        path.symlink_to(other)
    refused = run("export", path)
    assert refused.exit_code == Exit.CONFLICT
    assert f"{path} is there already: name another file, or pass --replace" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert other.exists() == (kind != "link to nothing")
    assert not other.exists() or other.read_text() == "the old one"
    assert run("export", path, "--replace").exit_code == 0
    assert path.read_text() == run("export", "-").stdout


def test_an_export_into_a_folder_says_to_name_a_file_in_it(run, rich, tmp_path):
    for options in ([], ["--replace"]):
        result = run("export", tmp_path, *options)
        assert result.exit_code == Exit.USAGE
        assert f"{tmp_path} is a folder: name a file in it" in result.stderr
        assert {entry.name for entry in tmp_path.iterdir()} == {"data"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_an_export_goes_into_a_pipe_and_leaves_it_where_it_is(run, rich, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        done = run("export", pipe)
        text, _ = reader.communicate(timeout=60)
    assert done.exit_code == 0
    assert pipe.is_fifo()
    assert text == run("export", "-").stdout


def test_an_export_into_a_folder_that_is_not_there_is_refused(run, tmp_path):
    result = run("export", tmp_path / "no" / "e.jsonl")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"id": "not-a-uuid"},
        {"content": " "},
        {"version": 0},
        {"confidence": 2},
        {"confidence": float("nan")},
        {"history": 5},
        {"history": [5]},
        {"history": [{"memory": RECORD, "replaced_at": "2026-01-01T00:00:00Z"}]},
        {"links": [{"target_id": "nobody", "strength": 0.5}]},
        {"links": [{"target_id": ID, "strength": 7}]},
        {"created_at": "0001-01-01T00:00:00+14:00"},
        {"created_at": "someday"},
        {"tags": 3},
        {"unknown": 1},
        {"metadata": {"x": "\ud800"}},
        {"scope": "../up"},
    ],
)
def test_a_record_that_does_not_fit_is_listed_and_its_neighbour_is_imported(run, tmp_path, change):
    good = {**RECORD, "id": "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f"}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({**RECORD, **change}) + "\n" + json.dumps(good) + "\n")
    result = run("import", path, "--json")
    assert result.exit_code == 6
    counts = json.loads(result.stdout)
    assert (counts["written"], counts["failed"]) == (1, 1)
    assert counts["errors"][0]["where"] == "r.jsonl:1"


def test_records_of_a_json_array_are_imported_too(run, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps([RECORD]))
    assert json.loads(run("import", path, "--json").stdout)["written"] == 1


def test_the_same_record_twice_in_a_file_is_one_memory(run, tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text((json.dumps(RECORD) + "\n") * 2)
    result = json.loads(run("import", path, "--json").stdout)
    assert (result["written"], result["skipped"]) == (1, 1)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no path of the output")
@pytest.mark.parametrize("into_a_file", [False, True])
def test_an_export_to_dev_stdout_is_the_output_and_nothing_else(tmp_path, into_a_file):
    environment = {**os.environ, "STEELTRAP_DATA": str(tmp_path / "data"), "STEELTRAP_EMBEDDER": "static-256"}
    code = "from steeltrap.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, "remember", "The otter swims."], env=environment, check=True)
    command = [sys.executable, "-c", code, "export", "/dev/stdout"]
    output = tmp_path / "output"
    with output.open("w") as file:
        done = subprocess.run(command, env=environment, stdout=file if into_a_file else subprocess.PIPE, check=True)
    lines = (output.read_bytes() if into_a_file else done.stdout).splitlines()
    assert [json.loads(line)["content"] for line in lines] == ["The otter swims."]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_export_to_a_full_disk_by_stdout_says_so(tmp_path):
    environment = {**os.environ, "STEELTRAP_DATA": str(tmp_path / "data"), "STEELTRAP_EMBEDDER": "static-256"}
    code = "from steeltrap.cli import main; main()"
    subprocess.run([sys.executable, "-c", code, "remember", "The otter swims."], env=environment, check=True)
    command = [sys.executable, "-c", code, "export", "-"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == Exit.UNAVAILABLE
    assert done.stderr.startswith("The disk that the output goes to is full: free some space")
    assert "Traceback" not in done.stderr
