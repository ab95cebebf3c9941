"""bench: the figures' names and meaning, on small made-up data."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from bench import backup, langgraph, opensearch, speed, surprise
from bench.attacks.tools import GIVEN
from bench.load import Load
from bench.load import run as run_load
from bench.paraphrases import PARAPHRASES
from hatchling.builders.wheel import WheelBuilder
from typer.testing import CliRunner

from components import dynamodb_url, opensearch_url
from steeltrap.cli.app import app
from steeltrap.embedders.static import StaticEmbedder
from steeltrap.runtime import local as runtime
from steeltrap.toolsets import CATALOGUE
from surfaces.serving import served

COMMAND = (sys.executable, "-c", "from steeltrap.cli import main; main()")

ROOT = Path(__file__).parents[2]
FEW = 20
"""Calls of each kind where figures are only looked for, not compared."""


def test_a_checkout_runs_its_benchmarks_from_any_folder(tmp_path):
    done = subprocess.run(
        [*COMMAND, "bench", "speed", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "--against" in done.stdout


def test_the_package_has_no_benchmarks_and_no_tests_and_says_where_the_benchmarks_are(tmp_path):
    [wheel] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path / "wheels"), versions=["standard"])
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "installed")
        assert all(name.startswith(("steeltrap/", "steeltrap-")) for name in packed.namelist())
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    command = [*COMMAND, "bench", "speed", "--size", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (3, "")
    assert "clone the project's repository and run `make bench` there" in done.stderr


@pytest.fixture
def locomo(tmp_path):
    def session(number, *texts):
        return [{"speaker": "Ana", "dia_id": f"D{number}:{n}", "text": text} for n, text in enumerate(texts, 1)]

    filler = [f"talk of weather number {n}" for n in range(20)]
    talk = {
        "speaker_a": "Ana",
        "speaker_b": "Bob",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": session(1, "I adopted a parrot", *filler),
        "session_2_date_time": "not known",
        "session_2": session(2, "My sister sails boats", *filler),
    }
    questions = [
        {"question": "Who adopted a parrot?", "category": 4, "evidence": ["D1:01"]},
        {"question": "adopted a parrot, my sister sails boats", "category": 1, "evidence": ["D1:1; D2:1"]},
        {"question": "xylophone", "category": 3, "evidence": ["D9:9"]},
        {"question": "who sails?", "category": 5, "evidence": ["D2:1"]},
        {"question": "no evidence", "category": 2, "evidence": []},
    ]
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([{"conversation": talk, "qa": questions}] * 2))
    return path


def test_locomo_counts_the_gold_turns_found(run, locomo, data):
    figures = json.loads(run("bench", "locomo", locomo, "--json").stdout)
    assert {"r5", "r10", "session_r10", "by_category", "search_p50_ms", "search_p95_ms", "load_per_s"} <= set(figures)
    assert figures["questions"] == 6
    assert figures["memories"] == 84
    assert figures["by_category"]["single-hop"]["r10"] == 100
    assert figures["by_category"]["multi-hop"]["r10"] == 100
    assert figures["by_category"]["open-domain"]["r10"] == 0
    assert figures["r10"] == pytest.approx(66.67)
    assert not data.exists()


def test_locomo_can_be_limited_and_shown_to_people(run, locomo):
    shown = run("bench", "locomo", locomo, "--limit-conversations", "1").stdout
    assert "turn recall@10" in shown
    assert "single-hop" in shown


@pytest.mark.parametrize("content", ["{", "[1]", "{}"])
@pytest.mark.parametrize("bench", ["locomo", "surprise"])
def test_a_file_that_is_not_locomo_is_refused(run, tmp_path, content, bench):
    (tmp_path / "x.json").write_text(content)
    assert run("bench", bench, tmp_path / "x.json").exit_code == 2


def test_surprise_tells_the_new_from_what_was_said_before(run, locomo, data, monkeypatch):
    monkeypatch.setattr(runtime, "open_embedder", lambda settings: StaticEmbedder())
    figures = json.loads(run("bench", "surprise", locomo, "--json").stdout)
    turns = figures["turns"]
    assert {row["texts"] for row in turns.values()} == {84}
    assert [sizes["texts"] for sizes in figures["turns_by_memories_stored"].values()] == [20, 64]
    # The second conversation is the first again, and nearly all of both is one sentence.
    assert turns["LoCoMo, all in one space"]["familiar"] > turns["LoCoMo, one space per conversation"]["familiar"] > 80
    again = figures["said_again"]
    paraphrases = again.pop("in other words")
    assert (paraphrases["texts"], paraphrases["key_moments"]) == (50, 0)
    assert paraphrases["deciles"][4] < 0.2  # the median of LoCoMo's real turns is above 0.3
    for how, row in again.items():
        assert (row["texts"] >= 44, row["key_moments"], row["familiar"]) == (True, 0, 100), how
    assert again["words reordered"]["deciles"][8] < 0.01
    assert not data.exists()


def test_surprise_is_shown_to_people_as_tables(run, locomo, monkeypatch):
    monkeypatch.setattr(surprise, "PARAPHRASES", PARAPHRASES[:3])
    lines = run("bench", "surprise", locomo, "--limit-conversations", "1").stdout.splitlines()
    assert [line.partition(" |")[0] for line in lines if line.startswith("| LoCoMo")] == [
        "| LoCoMo, one space per conversation",
        "| LoCoMo, all in one space",
        "| LoCoMo, without speakers' names",
        "| LoCoMo, by memories stored before",
    ]
    assert {line.count("|") for line in lines if line} == {14}


@pytest.mark.slow
def test_speed_measures_without_a_peer_and_what_a_client_over_http_sees(monkeypatch):
    for count in ("_SAVES", "_SEARCHES", "_RETRIEVALS", "_SERVED"):
        monkeypatch.setattr(speed, count, FEW)
    figures = json.loads(CliRunner().invoke(app, "bench speed --size 20 --users 3 --json").stdout)
    assert figures["http_search_p50_ms"] > 0
    assert figures["search_p50_ms"] > 0
    assert figures["save_per_s"] > 0
    assert figures["import_per_s"] > 0
    assert {name for name, value in figures.items() if value is None} == {
        "peer_search_p50_ms",
        "peer_search_p95_ms",
        "peer_save_per_s",
        "search_ratio",
        "save_ratio",
    }


def test_an_unknown_peer_is_refused(run):
    assert run("bench", "speed", "--against", "nobody").exit_code == 2


def test_a_missing_peer_says_how_to_install_it(run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "langgraph.store.sqlite", None)
    result = run("bench", "speed", "--size", "5", "--against", "langgraph")
    assert result.exit_code == 5
    assert "--group bench" in result.stderr


@pytest.mark.slow
def test_http_measures_a_real_server_beside_the_calls_in_this_process():
    # In a process of its own: the servers open the same embedder.
    command = [*COMMAND, "bench", "http", "--size", "20", "--calls", "2", "--seconds", "0.1", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert figures["search"].keys() == {"invoke", "http", "mcp_http", "mcp_stdio"}
    assert figures["save"].keys() == {"invoke", "http"}
    assert figures["healthz"]["http"].keys() == {"p50", "p95"}
    assert figures["search"]["http"].keys() == {"p50", "p95", "ratio", "adds"}
    assert figures["per_second"].keys() == {"1", "4", "16", "64"}
    assert all(row["http"] > 0 and row["mcp_http"] > 0 for row in figures["per_second"].values())


def test_hooks_are_measured_beside_a_server_without_one_and_beside_bare_python():
    command = [*COMMAND, "bench", "hooks", "--size", "20", "--prompts", "2", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    waits = figures["waits_ms"]
    assert list(waits) == ["bare python", "beside a server", "without a server"]
    assert all(0 < row["p50"] <= row["p95"] for row in waits.values())
    assert waits["beside a server"]["processor_p50"] < waits["without a server"]["processor_p50"]


def test_a_load_that_is_refused_is_no_measurement():
    with served(refusing) as url, pytest.raises(RuntimeError, match="503"):
        run_load(Load(int(url.rpartition(":")[2]), "/v1/core/search", ["{}"], clients=2, seconds=30))


async def refusing(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


def test_backup_compares_calls_during_backups_with_those_before(monkeypatch):
    monkeypatch.setattr(backup, "_ALONE", FEW)
    monkeypatch.setattr(backup, "_BACKUPS", 2)
    figures = json.loads(CliRunner().invoke(app, "bench backup --size 30 --json").stdout)
    assert figures["size"] == 30
    assert figures["seconds"] > 0
    for kind in ("search", "save"):
        assert figures[kind].keys() == {"alone", "during"}
        assert figures[kind]["during"]["calls"] > 0
        assert figures[kind]["during"]["ratio"] > 0


def test_replica_compares_a_log_near_and_far_with_sqlite_alone():
    command = [*COMMAND, "bench", "replica", "--size", "30", "--users", "10", "--searches", "10", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (figures["size"], figures["users"]) == (30, 10)
    assert all(figures[f"{kind}_ratio"] > 0 for kind in ("search", "save", "import", "users_p50", "users_p95"))
    assert figures["far_search_p50_ms"] > 25
    assert figures["far_save_p50_ms"] > 25 + 35
    assert figures["far_cold_ms"]["30 memories"]["median"] > 2 * 25


def test_opensearch_compares_forms_of_documents_and_ways_to_the_nearest_vectors(monkeypatch):
    monkeypatch.setenv("STEELTRAP_OPENSEARCH_URL", opensearch_url())
    monkeypatch.setattr(opensearch, "_LARGER", 2)
    monkeypatch.setattr(opensearch, "_QUESTIONS", 2)
    run = CliRunner().invoke(app, "bench opensearch --size 100 --users 1 --json")
    assert "300 of 300 memories written" in run.stderr
    figures = json.loads(run.stdout)
    assert figures.keys() == opensearch.TITLES.keys()
    assert figures["memories"] == 300
    forms = figures["forms"]
    assert forms["lucene_documents"] == {"nested": 600, "unnested": 300, "ratio": 0.5}
    assert all(each["unnested"] > 0 for each in forms.values())
    assert forms["small_graph_recall"]["unnested"] == 1  # the graph is asked for four times as many as the user has


def test_langgraph_compares_our_store_with_the_one_of_langgraph(monkeypatch):
    for count in ("_PUTS", "_SEARCHES"):
        monkeypatch.setattr(langgraph, count, FEW)
    figures = json.loads(CliRunner().invoke(app, "bench langgraph --size 20 --json").stdout)
    assert figures["size"] == 20
    assert figures["search_ratio"] == pytest.approx(figures["search_p50_ms"] / figures["peer_search_p50_ms"], rel=0.01)
    assert figures["put_ratio"] == pytest.approx(figures["put_per_s"] / figures["peer_put_per_s"], rel=0.01)


def test_warm_says_what_a_function_adds():
    # In a process of its own: a function's log is JSON from then on.
    command = [*COMMAND, "bench", "warm", "--calls", "3", "--json"]
    figures = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert figures.keys() == {"calls", "invoke_p50_ms", "handler_p50_ms", "adds_ms", "written_p50_ms"}
    assert figures["calls"] == 3


@pytest.mark.slow
def test_cold_measures_every_start_and_its_imports():
    parts = {
        "STEELTRAP_OPENSEARCH_URL": opensearch_url(),
        "STEELTRAP_DYNAMODB_URL": dynamodb_url(),
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    command = [*COMMAND, "bench", "cold", "--starts", "1", "--json"]
    figures = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **parts}).stdout
    )
    assert figures["search_ratio"] > 0
    assert figures["processor_ms"]["least"].keys() == {"baseline", "search", "static"}
    assert figures["restored_ms"] > 0
    assert figures["imports_ms"]["steeltrap"].keys() == {"baseline", "search", "static"}
    assert figures["imports_ms"]["botocore"]["baseline"] > 0


@pytest.mark.slow
def test_workers_compares_several_with_one(tmp_path):
    if shutil.which("wrk") is None:
        pytest.skip("wrk is not installed")
    command = [*COMMAND, "bench", "workers", "--size", "20", "--seconds", "1", "--rounds", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    figures = json.loads(done.stdout)
    assert set(figures) == {"size", "clients", "load", "per_second", "server_ms", "ratio"}
    for by_workers in (figures["per_second"], figures["server_ms"]):
        assert set(by_workers) == {"1", "2"}
        assert all(0 < row["least"] <= row["median"] <= row["most"] for row in by_workers.values())
    assert figures["ratio"] > 0


def test_a_missing_wrk_is_named_with_how_to_install_it(run, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = run("bench", "workers")
    assert result.exit_code == 5
    assert "apt-get install wrk" in result.stderr


def test_every_tool_is_attacked_at_its_limits():
    assert set(GIVEN) == {tool.full_name for tool in CATALOGUE.tools()}


def test_an_attack_is_measured_beside_probes_and_a_call_of_somebody_else():
    command = [*COMMAND, "bench", "attacks", "nothing", "core.stats", "forms of strangers", "--json", "--seconds", "10"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert [row["attack"] for row in rows] == ["nothing", "core.stats", "forms of strangers"]
    assert all(row["probes"] > 0 and row["others_ms"] is not None and row["ended"] for row in rows)
    assert [row["statuses"] for row in rows][:2] == [{}, {"200": 1}]
