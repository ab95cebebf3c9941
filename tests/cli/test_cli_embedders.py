"""embedder add."""

import json

from components import small_model


def test_a_folder_that_was_added_serves_as_the_embedder(run, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).symlink_to(small_model() / name)
    prefixes = ("--query-prefix", "query: ", "--document-prefix", "passage: ")
    added = run("embedder", "add", str(folder), *prefixes, "--json")
    assert added.exit_code == 0
    told = json.loads(added.stdout)
    assert (told["dimension"], told["folder"]) == (384, str(folder))
    assert told["name"].startswith("onnx/mine-")
    monkeypatch.setenv("STEELTRAP_EMBEDDER", "onnx")
    monkeypatch.setenv("STEELTRAP_EMBEDDER_MODEL", str(folder))
    run("remember", "My brother repairs violins.")
    run("remember", "The printer is out of toner.")
    assert "violins" in run("recall", "which musical instruments does a sibling mend?").stdout.splitlines()[0]
    people = run("embedder", "add", str(folder))
    assert "384 dimensions" in people.stdout
    assert f"STEELTRAP_EMBEDDER_MODEL={folder}" in people.stderr


def test_what_is_wrong_with_a_folder_is_one_sentence(run, tmp_path):
    missing = run("embedder", "add", str(tmp_path))
    assert missing.exit_code == 2
    assert missing.stderr.startswith(f"{tmp_path} has no model.onnx")
