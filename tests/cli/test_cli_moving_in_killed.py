"""import: killed at any step it goes on where it was; and reading takes the memory of one item."""

import json
import os
import signal
import subprocess
import sys
import tracemalloc

import pytest

from cli import exports
from steeltrap.importers import Filing, parts, survey

KILLED = """
import os, signal, sys
from steeltrap.engine import importing
from steeltrap.importers import running
running.BLOCK_ITEMS = 8
real, calls = getattr(importing, {step!r}), []
def step(*given, **more):
    calls.append(1)
    if len(calls) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **more)
setattr(importing, {step!r}, step)
from steeltrap.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", ["keep_turns", "_end", "_make"])
def test_an_import_that_was_killed_goes_on_and_loses_and_doubles_nothing(tmp_path, step):
    chats = [exports.chatgpt(f"c{n}", *(f"Chat {n} says {word}" for word in ("A", "B", "C"))) for n in range(12)]
    path = exports.as_json(tmp_path / "conversations.json", chats)
    environment = {**os.environ, "STEELTRAP_DATA": str(tmp_path / "data")}

    def started(*command):
        return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)

    killed = started("-c", KILLED.format(step=step), "import", str(path))
    assert killed.returncode == -signal.SIGKILL
    cli = "from steeltrap.cli import main; main()"
    done = json.loads(started("-c", cli, "import", str(path), "--json").stdout)
    assert (done["written"] + done["skipped"], done["failed"]) == (36, 0)
    assert done["skipped"] > 0
    records = [json.loads(line) for line in started("-c", cli, "export", "-").stdout.splitlines()]
    turns = [record for record in records if record.get("source") == "conversation"]
    episodes = [record for record in records if record.get("source") != "conversation"]
    said = sorted(message["content"] for episode in episodes for message in episode["messages"])
    assert said == sorted(turn["content"] for turn in turns)
    assert len(set(said)) == len(said) == 36


def peak_of_reading(path):
    filing = Filing(scope="user/default")
    tracemalloc.start()
    try:
        count = sum(1 for _ in parts(survey(path, filing), filing))
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_reading_takes_no_more_memory_for_more_items(tmp_path):
    """An import holds one item and the window that it was read from, however many there are."""
    peaks = []
    for count in (300, 3000):
        folder = tmp_path / str(count)
        folder.mkdir()
        exports.as_json(folder / "c.json", [exports.chatgpt(f"c{n}", "a" * 200, "b" * 200) for n in range(count)])
        exports.as_zip(folder / "z.zip", **{"c.json": [exports.claude(f"c{n}", "a" * 200) for n in range(count)]})
        (folder / "t.csv").write_text("text\n" + "".join(f"row {n}\n" for n in range(count)))
        (folder / "f.txt").write_text("".join(f"line {n}\n" for n in range(count)))
        exports.as_json(folder / "m.json", {"results": [{"id": f"{n}", "memory": f"fact {n}"} for n in range(count)]})
        read, peak = peak_of_reading(folder)
        assert read == 5 * count
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 1_000_000
