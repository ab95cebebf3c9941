"""The launcher of the real parts says what is missing, and leaves alone what it did not start."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "localstack"))
    launch = importlib.import_module("launch")
    monkeypatch.setattr(launch, "STATE", tmp_path)
    monkeypatch.setattr(launch.Part, "answers", lambda part: False)
    return launch


def _command(folder: Path, name: str, says: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("there", "missing"), [([], "a JDK of version 17"), (["java"], "Apache Maven"), (["java", "mvn"], None)]
)
def test_a_missing_tool_is_named_with_what_brings_it(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: list[str], missing: str | None
) -> None:
    for name in there:
        _command(tmp_path, name, 'openjdk version "17.0.9" 2023-10-17')
    monkeypatch.setenv("PATH", str(tmp_path))
    [part] = [part for part in launch.PARTS if part.name == "opensearch"]
    if missing is None:
        part.check()
    else:
        with pytest.raises(launch.Missing, match=missing):
            launch.up([part])


def test_a_java_that_is_too_old_is_refused(launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("java", "npm"):
        _command(tmp_path, name, 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("PATH", str(tmp_path))
    [part] = [part for part in launch.PARTS if part.name == "dynamodb"]
    with pytest.raises(launch.Missing, match="Java 17 or newer, and `java` is 11"):
        launch.up([part])


def test_a_part_that_needs_another_python_is_refused_with_the_version_to_name(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.version_info", (3, 11, 7))
    [part] = [part for part in launch.PARTS if part.name == "localstack"]
    with pytest.raises(launch.Missing, match=r"needs Python 3\.13; name one: make localstack PYTHON=python3\.13"):
        launch.up([part])


@pytest.mark.parametrize(("version", "said"), [((3, 11, 7), 1), ((3, 13, 0), 0)])
def test_where_the_python_of_a_part_is_missing_the_others_start_and_one_line_says_so(
    version: tuple[int, int, int],
    said: int,
    launch: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.version_info", version)
    chosen = [part.name for part in launch.with_this_python(list(launch.PARTS))]
    assert chosen == ["opensearch", "dynamodb", "aws", "aws-iam", "azure", "postgres", "localstack"][: 7 - said]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["localstack  is left out: it needs Python 3.13"] * said


def test_every_part_that_is_told_where_to_listen_is_told_the_loopback(launch: ModuleType) -> None:
    told = {part.name: dict(part.environment) for part in launch.PARTS}
    assert told["aws"]["BIND_HOST"] == "127.0.0.1"
    assert told["localstack"]["GATEWAY_LISTEN"] == "127.0.0.1:4566"
    # Under its usual server LocalStack listens on all interfaces, whatever it is told.
    assert told["localstack"]["GATEWAY_SERVER"] == "hypercorn"


def test_opensearch_gets_the_settings_of_today_also_where_it_was_installed_before(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("parts.STATE", tmp_path)
    [part] = [part for part in launch.PARTS if part.name == "opensearch"]
    config = part.home / "config"
    config.mkdir(parents=True)
    (part.home / "installed").touch()
    (config / "opensearch.yml").write_text("# of an earlier version")
    part.prepare()
    # A disk that is nine tenths full would otherwise block new indexes.
    settings = (config / "opensearch.yml").read_text()
    assert "\ncluster.routing.allocation.disk.threshold_enabled: false\n" in settings
    command = part.command(part.home)
    assert command[command.index("-confPath") + 1] == str(config)


def test_down_ends_nothing_that_up_did_not_start(launch: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.down(list(launch.PARTS)) == 0
    assert capsys.readouterr().out.count("was not started here") == len(launch.PARTS)


def test_a_process_number_that_was_used_again_is_not_ended(
    launch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [part] = [part for part in launch.PARTS if part.name == "dynamodb"]
    (tmp_path / "dynamodb.json").write_text('{"pid": 1, "started": "another time"}')
    assert launch.down([part]) == 0
    assert "was not started here" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_a_part_that_does_not_end_when_it_is_asked_to_is_killed(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' TERM\necho up > up\nwhile :; do sleep 1; done\n")
    deaf.chmod(0o755)
    part = launch.Part("deaf", 1, "/", lambda home: None, lambda home: [str(deaf)])
    monkeypatch.setattr(launch.Part, "home", tmp_path)
    monkeypatch.setattr(launch.Part, "answers", lambda part: (tmp_path / "up").exists())
    monkeypatch.setattr(launch, "ENDING_SECONDS", 0.3)
    launch.start(part)
    launch.wait(part)
    assert launch.down([part]) == 0
    assert launch.running(part) is None
    assert capsys.readouterr().out.splitlines()[-1] == "deaf        ended"


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_a_part_keeps_temporary_files_in_a_folder_of_its_own_which_is_emptied_at_each_start_and_end(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    up = tmp_path / "up"
    command = ["sh", "-c", f'mktemp -d; ls "$TMPDIR" | wc -l > {up}.new; mv {up}.new {up}; sleep 60']
    part = launch.Part("slow", 1, "/", lambda home: None, lambda home: command)
    monkeypatch.setattr(launch.Part, "home", tmp_path)
    monkeypatch.setattr(launch.Part, "answers", lambda part: up.exists())
    part.temporary.mkdir()
    (part.temporary / "of-before").touch()
    launch.start(part)
    launch.wait(part)
    assert up.read_text().strip() == "1"
    launch.down([part])
    assert not part.temporary.exists()
