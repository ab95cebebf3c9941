"""Hooks that are killed: nothing that was said is lost, and nothing is kept or offered twice."""

import json
import random
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hooks.conftest import Computer, Recording
from hooks.test_recorded_sessions import context, turns
from steeltrap.project import project_of
from steeltrap.servers.hooks import answering, sessions
from steeltrap.servers.hooks.answering import answer
from steeltrap.servers.hooks.sessions import Block, Session


class Killed(BaseException):
    """The end of the process, at a point of choice: nothing catches it."""


def kept_once(computer: Computer, recorded: Recording, shop: Path) -> None:
    project = project_of(shop)
    assert project is not None
    kept = [text for scope, text in turns(computer) if scope == project.scope and text in recorded.said]
    assert sorted(kept) == sorted(recorded.said)
    with computer.memory() as memory:
        episodes = [each for each in memory.core.list(scope=project.scope)["memories"] if each.get("messages")]
    told = [message["content"] for episode in episodes for message in episode["messages"]]
    assert sorted(text for text in told if text in recorded.said) == sorted(recorded.said)


@pytest.mark.parametrize("where", ["before", "appended", "noted"])
def test_a_hook_that_dies_between_two_steps_loses_and_doubles_nothing(
    computer: Computer, recorded: Recording, shop: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They die before they begin or behind a step, and are not run again: the next one, or session, makes up for it."""
    append, note = answering._append, Session.note

    def dies_behind_append(*arguments: object) -> None:
        append(*arguments)  # type: ignore[arg-type]
        raise Killed

    def dies_behind_note(session: Session, **change: object) -> None:
        note(session, **change)
        if change.get("offset"):
            raise Killed

    with computer.memory() as memory:
        door = memory._door
        for number, (event, given) in enumerate(recorded.steps(computer, "said", shop)):
            asked = {"client": None, "folder": str(shop), "input": given}
            if where == "before" and number % 2:
                continue
            with monkeypatch.context() as patch:
                if where == "appended":
                    patch.setattr(answering, "_append", dies_behind_append)
                elif where == "noted":
                    patch.setattr(sessions.Session, "note", dies_behind_note)
                try:
                    answer(door, "local", computer.data, event, asked)
                except Killed:
                    continue
        for event, given in list(recorded.steps(computer, "asked", shop))[:1]:
            asked = {"client": None, "folder": str(shop), "input": given}
            offered = answer(door, "local", computer.data, event, asked)
    assert "5544" in context(offered["print"])
    kept_once(computer, recorded, shop)


@pytest.mark.slow
@pytest.mark.usefixtures("server")
def test_hooks_that_are_killed_at_any_moment_lose_and_double_nothing(
    computer: Computer, recorded: Recording, shop: Path
) -> None:
    chance = random.Random(17)
    steps = recorded.steps(computer, "said", shop)
    assert computer.hook(*next(steps)) == ""  # of a session whose hooks all died, nobody would know
    for event, given in steps:
        with subprocess.Popen(
            computer.command("hook", event),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=computer.environ(),
        ) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(given).encode())
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0, 0.3))
            process.kill()
    printed = recorded.play(computer, "asked", shop)
    kept_once(computer, recorded, shop)
    assert sum("5544" in context(text) for text in printed) == 1


def test_an_earlier_session_that_ends_every_hook_is_passed_over_after_some(
    computer: Computer, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would keep every later start from offering anything."""
    transcript = computer.home / "t.jsonl"
    transcript.write_text("")
    project = project_of(shop)
    assert project is not None
    other = {"session_id": "bad", "transcript_path": str(transcript), "cwd": str(shop)}
    with computer.memory() as memory:
        memory.core.save(content="The staging database listens on port 5544.", scope=project.scope)
        door = memory._door
        answer(door, "local", computer.data, "prompt", {"client": "claude-code", "input": other})

        def dies(session: Session) -> Iterator[Block]:
            if session.id == "bad":
                raise Killed
            return iter(())

        monkeypatch.setattr(answering, "blocks", dies)
        ends = 0
        for number in range(5):
            given = {"session_id": f"s{number}", "cwd": str(shop)}
            try:
                offered = answer(door, "local", computer.data, "session-start", {"client": "codex", "input": given})
            except Killed:
                ends += 1
        assert "5544" in context(offered["print"])
    assert 0 < ends < 5
