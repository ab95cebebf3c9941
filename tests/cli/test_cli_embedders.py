"""embedder: switching to another model, with what it needs installed, and preparing one in a folder."""

import importlib.metadata
import json
import shlex
import sys

import pytest

from components import small_model
from embedding import HashedWords
from steeltrap import installation
from steeltrap.errors import InvalidInput
from steeltrap.runtime import local as runtime


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


@pytest.fixture
def models(monkeypatch):
    """Quick embedders in place of the two models; `small` is there once it is installed."""
    monkeypatch.delenv("STEELTRAP_EMBEDDER", raising=False)
    installed, commands = set(), []

    def open_embedder(settings):
        if settings.embedder == "static-256":
            return HashedWords()
        if not installed:
            raise InvalidInput("small is not there")
        embedder = HashedWords(dimension=32)
        embedder.name = f"small+{HashedWords().name}"
        return embedder

    def install(command):
        commands.append(command)
        installed.add("small")
        return True

    monkeypatch.setattr(runtime, "open_embedder", open_embedder)
    monkeypatch.setattr(installation, "lacks_small", lambda: not installed)
    monkeypatch.setattr(installation, "install_command", lambda extra: ["an installer", extra])
    monkeypatch.setattr(installation, "run", install)
    return installed, commands


def test_small_is_installed_the_memories_get_its_vectors_and_the_folder_keeps_the_choice(run, data, models):
    run("remember", "The violin is mended.")
    switched = run("embedder", "small", "--yes")
    assert (switched.exit_code, models[1]) == (0, [["an installer", "small"]])
    assert "1 memory of 1 user got new vectors" in switched.stdout
    assert "Restart servers and clients that are running: until then they search by words alone." in switched.stdout
    assert (data / "steeltrap.toml").read_text() == 'embedder = "small"\n'
    assert "violin" in run("recall", "violin").stdout
    assert run("embedder", "small").exit_code == 0  # nothing is installed twice
    assert len(models[1]) == 1
    assert run("embedder", "static-256").exit_code == 0
    assert (data / "steeltrap.toml").read_text() == 'embedder = "static-256"\n'
    assert "violin" in run("recall", "violin").stdout


def test_nothing_is_installed_or_changed_without_a_yes(run, data, models):
    for answer in ("n\n", ""):
        refused = run("embedder", "small", input=answer)
        assert (refused.exit_code, models[1]) == (1, [])
        assert "an installer" in refused.stderr
    assert not data.exists()


def test_without_an_installer_or_with_one_that_fails_the_embedder_stays(run, data, models, monkeypatch):
    monkeypatch.setattr(installation, "run", lambda command: False)
    failed = run("embedder", "small", "--yes")
    assert (failed.exit_code, "run: 'an installer' small" in failed.stderr) == (5, True)
    monkeypatch.setattr(installation, "install_command", lambda extra: None)
    failed = run("embedder", "small", "--yes")
    assert (failed.exit_code, "neither pip nor uv" in failed.stderr) == (5, True)
    assert not data.exists()


def test_a_variable_that_chooses_another_embedder_is_to_be_unset_first(run, data, models, monkeypatch):
    monkeypatch.setenv("STEELTRAP_EMBEDDER", "onnx")
    refused = run("embedder", "small", "--yes")
    assert (refused.exit_code, "unset it first" in refused.stderr, models[1]) == (2, True, [])


def test_a_folder_is_opened_with_the_model_that_made_its_vectors_where_nobody_chose_one(run, data, models):
    run("remember", "The violin is mended.")
    run("embedder", "small", "--yes")
    (data / "steeltrap.toml").unlink()
    assert run("remember", "The cello is not.").exit_code == 0
    assert "violin" in run("recall", "violin").stdout
    assert run("recall", "violin").stderr == ""
    assert {path.suffix for path in data.glob("users/*/*")} == {".db"}  # looking at it leaves no log behind


def test_without_that_model_everything_is_remembered_and_found_by_words_until_it_is_embedded(run, data, models):
    run("remember", "The violin is mended.")
    run("embedder", "small", "--yes")
    (data / "steeltrap.toml").unlink()
    models[0].clear()  # another machine, without the model
    found = run("recall", "violin")
    assert "violin" in found.stdout
    assert "which is not at hand, so only words were compared. Restart a server that was running" in found.stderr
    assert run("remember", "The cello is not.").exit_code == 0
    found = run("recall", "cello")
    assert "cello" in found.stdout
    assert "(1 of 2 memories are done)" in found.stderr
    models[0].add("small")  # where the model is, it goes on with both
    assert "cello" in run("recall", "cello").stdout
    models[0].clear()
    assert run("reembed").exit_code == 0
    for word in ("violin", "cello"):
        found = run("recall", word)
        assert (word in found.stdout, found.stderr) == (True, "")


def test_an_embedder_that_somebody_chose_does_not_take_over_another_ones_folder(run, models, monkeypatch):
    run("remember", "The violin is mended.")
    run("embedder", "small", "--yes")
    monkeypatch.setenv("STEELTRAP_EMBEDDER", "static-256")
    assert run("remember", "The cello is not.").exit_code == 4
    assert run("recall", "violin").exit_code == 4


@pytest.fixture
def installed_from(monkeypatch):
    """steeltrap as pip installed it from a place: its address, or None for an index."""

    def installed_from(url):
        class Installed:
            def read_text(self, name):
                assert name == "direct_url.json"
                return url and json.dumps({"url": url})

        required = ["numpy>=2", 'onnxruntime>=1.20; extra == "small"', 'steeltrap-small<2,>=1; extra == "small"']
        required += ['boto3>=1.35; extra == "aws"', "zstd>=1; python_version < '3.14' and extra == 'bucket'"]
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
        monkeypatch.setattr(importlib.metadata, "requires", lambda name: required)

    return installed_from


@pytest.mark.parametrize(
    ("url", "extra", "packages"),
    [
        (None, "small", "'steeltrap[small]'"),
        ("https://example.org/steeltrap.whl", "small", "'steeltrap[small]'"),
        ("file:///CLONE", "small", "'onnxruntime>=1.20' CLONE/models/small"),
        ("file:///CLONE", "aws", "'boto3>=1.35'"),
        ("file:///CLONE", "bucket", "'zstd>=1'"),
        (
            "file:///CLONE/steeltrap-1-py3-none-any.whl",
            "small",
            "--find-links CLONE 'onnxruntime>=1.20' 'steeltrap-small<2,>=1'",
        ),
    ],
)
def test_what_adds_an_extra_depends_on_where_steeltrap_came_from(installed_from, tmp_path, url, extra, packages):
    clone = tmp_path / "my clone"
    clone.mkdir()
    installed_from(url and url.replace("/CLONE", clone.as_uri().removeprefix("file://")))
    wanted = packages.replace("CLONE/models/small", shlex.quote(f"{clone}/models/small"))
    wanted = wanted.replace("CLONE", shlex.quote(str(clone)))
    assert installation.install_line(extra) == f"{shlex.quote(sys.executable)} -m pip install {wanted}"


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        (None, "Run `PYTHON -m pip install --upgrade steeltrap`"),
        ("file:///CLONE", "Run `git pull` and `make install` in /CLONE"),
        ("file:///CLONE/steeltrap-1-py3-none-any.whl", "Install a newer wheel"),
    ],
)
def test_what_brings_a_newer_one_depends_on_where_steeltrap_came_from(installed_from, tmp_path, url, advice):
    installed_from(url and url.replace("/CLONE", tmp_path.as_posix()))
    wanted = advice.replace("/CLONE", str(tmp_path)).replace("PYTHON", shlex.quote(sys.executable))
    assert installation.upgrade_advice() == wanted


def test_an_environment_without_pip_is_installed_into_by_uv_and_without_either_by_nothing(installed_from, monkeypatch):
    installed_from(None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/uv")
    assert installation.install_command("aws") == ["uv", "pip", "install", "--python", sys.executable, "steeltrap[aws]"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert installation.install_command("aws") is None
    assert installation.install_line("aws") == "pip install 'steeltrap[aws]'"
