"""Hooks read a transcript: the same as an import of it, in as little memory whatever the file has."""

import io
import json
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.conftest import Computer
from steeltrap.importers import Filing, chats
from steeltrap.model import Caller, UserRef
from steeltrap.servers.hooks import answering
from steeltrap.servers.hooks import sessions as reading
from steeltrap.servers.hooks.sessions import Session

MIB = 1024 * 1024


def line(id: str, parent: str | None, role: str = "user", text: Any = None, **more: Any) -> dict[str, Any]:
    said = {"role": role, "content": f"Said in {id}." if text is None else text}
    return {"uuid": id, "parentUuid": parent, "type": role, "sessionId": "s1", "message": said, **more}


def tool(id: str, parent: str) -> dict[str, Any]:
    return line(id, parent, "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}])


def summary_of_hooks(id: str, parent: str) -> dict[str, Any]:
    return {"uuid": id, "parentUuid": parent, "type": "system", "subtype": "stop_hook_summary", "sessionId": "s1"}


def transcript(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in lines))
    return path


def by_hooks(path: Path, session: Session | None = None) -> list[str]:
    session = session or Session(path.with_name("session"), id="s1", client="claude-code", transcript=str(path))
    said = []
    for block in reading.blocks(session):
        said += [each.id for each in block.messages]
        session.offset, session.line = block.offset, block.line
    return said


def by_import(path: Path) -> list[str | None]:
    data = path.read_bytes()
    read = chats.claude_code_parts(io.BytesIO(data), path.name, 0, len(data), Filing(scope="user/default"))
    return [said.id for part in read if getattr(part, "conversation", None) for said in part.conversation.messages]  # type: ignore[union-attr]


SESSION = [
    line("u1", None),
    line("a1", "u1", "assistant"),
    line("u2", "a1"),
    line("a2", "u2", "assistant"),
    line("u3", "a2"),
    line("a3", "u3", "assistant"),
]
WHOLE = ["u1", "a1", "u2", "a2", "u3", "a3"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(SESSION, WHOLE, id="whole"),
        pytest.param([*SESSION[:2], *SESSION[3:]], ["u1", "a1", "a2", "u3", "a3"], id="a missing line"),
        pytest.param(
            [*SESSION[:3], '{"uuid": "a2", "par\n', *SESSION[4:]], ["u1", "a1", "u2", "u3", "a3"], id="damaged"
        ),
        pytest.param(
            [*SESSION[:4], summary_of_hooks("h1", "u2"), line("u3", "h1"), SESSION[5]], WHOLE, id="a summary of hooks"
        ),
        pytest.param(
            [
                *SESSION[:2],
                tool("t1", "a1"),
                line("r1", "t1", "user", []),
                tool("t2", "t1"),
                line("u2", "t2"),
                *SESSION[3:],
            ],
            WHOLE,
            id="two tools at once",
        ),
        pytest.param(
            [*SESSION, line("u4", "a1"), line("a4", "u4", "assistant")],
            ["u1", "a1", "u4", "a4"],
            id="a branch that was left",
        ),
        pytest.param([*SESSION, line("u4", None)], ["u4"], id="asked anew from the start"),
        pytest.param(
            [
                *SESSION[:4],
                {**summary_of_hooks("c1", ""), "parentUuid": None, "subtype": "compact_boundary"},
                line("c2", "c1", isCompactSummary=True),
                line("u3", "c2"),
                SESSION[5],
            ],
            WHOLE,
            id="compacted, and the line before isn't named",
        ),
        pytest.param([*SESSION, *SESSION[:4], line("u4", "a3")], [*WHOLE, "u4"], id="lines twice"),
        pytest.param(
            [*SESSION[:3], line("x1", "u2", "assistant", isSidechain=True), *SESSION[3:]], WHOLE, id="a subagent"
        ),
    ],
)
def test_hooks_and_an_import_read_the_same_of_a_session(tmp_path: Path, lines: list[Any], expected: list[str]) -> None:
    path = transcript(tmp_path / "s1.jsonl", lines)
    assert by_hooks(path) == by_import(path) == expected


@st.composite
def sessions(draw: st.DrawFn) -> list[Any]:
    names = [f"n{at}" for at in range(draw(st.integers(1, 12)))]
    lines: list[Any] = []
    for at, name in enumerate(names):
        parent = draw(st.sampled_from([*names[:at], names[at - 1], None, "gone"]))
        kind = draw(st.sampled_from(["user", "assistant", "system", "damaged"]))
        subagent = draw(st.integers(0, 9)) == 0
        lines.append("{\n" if kind == "damaged" else line(name, parent, kind, isSidechain=subagent))
    return lines


@given(sessions())
def test_hooks_and_an_import_read_the_same_of_any_session(lines: list[Any]) -> None:
    entries = [json.dumps(each) + "\n" if isinstance(each, dict) else each for each in lines]
    data = "".join(entries).encode()
    read = chats.claude_code_parts(io.BytesIO(data), "s1.jsonl", 0, len(data), Filing(scope="user/default"))
    imported = [said.id for part in read if getattr(part, "conversation", None) for said in part.conversation.messages]  # type: ignore[union-attr]
    file = io.BytesIO(data)
    read_lines = list(reading._lines(file, 0, 0, len(data)))
    kept = reading._main_line_ids(read_lines, file, 0)
    assert [said.id for each in read_lines for said in reading._of_claude_code(each, kept)] == imported
    said = {
        each["uuid"]
        for each in lines
        if isinstance(each, dict) and each["type"] != "system" and not each["isSidechain"]
    }
    assert not said or imported, "something that was said last is always kept"


def test_a_hook_reads_on_where_the_last_one_ended(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    session = Session(tmp_path / "session", id="s1", client="claude-code", transcript=str(path))
    read = []
    for end in range(1, len(SESSION) + 1):
        transcript(path, SESSION[:end])
        read += by_hooks(path, session)
    assert read == WHOLE
    transcript(path, [*SESSION, line("u4", "a1"), line("a4", "u4", "assistant"), line("u5", "a1")])
    assert by_hooks(path, session) == ["u5"]  # what was left before the hook ran is not kept
    assert by_import(path) == ["u1", "a1", "u5"]


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor"])
def test_a_transcript_of_huge_lines_takes_the_memory_of_a_few(tmp_path: Path, client: str) -> None:
    path = tmp_path / "s1.jsonl"
    with path.open("wb") as file:
        for at in range(12):
            said = {
                "uuid": f"u{at}",
                "type": "user",
                "message": {"content": [{"type": "image", "source": "x" * 4 * MIB}]},
            }
            file.write(json.dumps(said).encode() + b"\n")
        file.write(b'{"a": [' + b"[]," * MIB + b"[]]}\n")
        file.write(json.dumps(line("u9999", None) | {"role": "user"}).encode() + b"\n")
    session = Session(tmp_path / "session", id="s1", client=client, transcript=str(path))
    said: list[str] = []
    tracemalloc.start()
    try:
        while session.offset < path.stat().st_size:
            said += by_hooks(path, session)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * 4 * MIB
    assert len(said) == (client != "codex")
    assert session.offset == path.stat().st_size


def test_of_a_transcript_too_large_for_one_hook_the_beginning_is_kept_by_the_first(tmp_path: Path) -> None:
    lines = [line(f"u{at}", f"u{at - 1}" if at else None, text="x" * 2 * MIB) for at in range(40)]
    path = transcript(tmp_path / "s1.jsonl", lines)
    session = Session(tmp_path / "session", id="s1", client="claude-code", transcript=str(path))
    assert by_hooks(path, session) == [f"u{at}" for at in range(16)]
    while session.offset < path.stat().st_size:
        assert by_hooks(path, session)
    assert session.line == 40


@pytest.mark.parametrize("limit", [{"AT_ONCE": 4096}, {"LINES": 20}])
@pytest.mark.parametrize("client", ["claude-code", "cursor", "codex"])
def test_a_session_that_ends_before_its_transcript_was_read_is_not_over(
    computer: Computer, client: str, limit: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[Any] = [line(f"u{at}", f"u{at - 1}" if at else None) for at in range(60)]
    if client == "cursor":
        lines = [
            {"role": "user", "message": {"content": [{"type": "text", "text": f"Said in u{n}."}]}} for n in range(60)
        ]
    if client == "codex":
        lines = [each for n in range(60) for each in codex_turn(n)]
    path = transcript(computer.home / "s1.jsonl", lines)
    for name, most in limit.items():
        monkeypatch.setattr(reading, name, most)
    session = Session(computer.home / "session", id="s1", client=client, scope="user/default", transcript=str(path))
    with computer.memory() as memory:
        events = 0
        while not session.ended and events < 100:
            answering.keep(memory._door, Caller(UserRef("local"), client), session, ended=True)
            events += 1
        told = [each["content"] for episode in memory.core.list()["memories"] for each in episode["messages"]]
    assert events > 1
    assert sorted(told) == sorted(f"Said in u{at}." for at in range(60))


def codex_turn(number: int) -> list[dict[str, Any]]:
    events = [
        {"type": "task_started", "turn_id": f"t{number}"},
        {"type": "user_message", "message": f"Said in u{number}."},
        {"type": "task_complete", "turn_id": f"t{number}", "last_agent_message": ""},
    ]
    return [{"timestamp": "2026-03-02T09:00:00.000Z", "type": "event_msg", "payload": each} for each in events]


def test_a_file_without_an_end_of_line_is_passed_over_in_bounded_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "AT_ONCE", 4 * MIB)
    monkeypatch.setattr(reading, "MAX_LINE", MIB)
    path = tmp_path / "s1.jsonl"
    with path.open("wb") as file:
        file.truncate(20 * MIB)
        file.seek(20 * MIB)
        file.write(b"\n" + json.dumps(line("u1", None)).encode() + b"\n")
    session = Session(tmp_path / "session", id="s1", client="claude-code", transcript=str(path))
    steps, said = [0], []
    while reading.has_more(session, session.offset):
        said += by_hooks(path, session)
        steps.append(session.offset)
    assert said + by_hooks(path, session) == ["u1"]
    assert all(0 < later - earlier <= 5 * MIB + 64 * 1024 for earlier, later in pairwise(steps))


def test_a_last_line_that_is_being_written_is_left_for_the_next_time(tmp_path: Path) -> None:
    half = json.dumps(SESSION[2])
    path = transcript(tmp_path / "s1.jsonl", [*SESSION[:2], half[:20]])
    session = Session(tmp_path / "session", id="s1", client="claude-code", transcript=str(path))
    assert by_hooks(path, session) == ["u1", "a1"]
    transcript(path, [*SESSION[:3]])
    assert by_hooks(path, session) == ["u2"]


def test_thousands_of_missing_parents_are_looked_for_within_one_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LOOKED_BACK", 2 * MIB)
    path = transcript(tmp_path / "s1.jsonl", [line(f"o{at}", f"o{at - 1}") for at in range(5000)])
    session = Session(tmp_path / "session", id="s1", client="claude-code", transcript=str(path))
    by_hooks(path, session)
    offset = session.offset
    with path.open("a") as file:
        file.writelines(json.dumps(line(f"n{at}", f"gone{at}")) + "\n" for at in range(3000))
    sought: list[int] = []

    class Watched(io.BufferedReader):
        def seek(self, to: int, whence: int = 0) -> int:
            sought.append(to)
            return super().seek(to, whence)

    with Watched(io.FileIO(path)) as file:  # type: ignore[arg-type]
        reading._main_line_ids(list(reading._lines(file, offset, 0, path.stat().st_size)), file, offset)
    assert len(sought) <= 2 + 2 * MIB // (64 * 1024)


def test_a_message_that_a_resumed_session_copies_is_kept_once(computer: Computer, shop: Path) -> None:
    ids = [f"c0000000-0000-4000-8000-00000000000{at}" for at in range(4)]
    texts = ["The staging database is called birch.", "Noted.", "Its port is 5544.", "Good to know."]
    lines = [
        line(id, parent, "assistant" if at % 2 else "user", text, cwd=str(shop))
        for at, (id, parent, text) in enumerate(zip(ids, [None, *ids], texts, strict=False))
    ]
    for session, told in (("s1", lines[:2]), ("s2", lines), ("s3", lines)):
        path = transcript(computer.home / f"{session}.jsonl", [{**each, "sessionId": session} for each in told])
        given = {"session_id": session, "transcript_path": str(path), "cwd": str(shop), "hook_event_name": "SessionEnd"}
        computer.hook("session-end", given)
    with computer.memory() as memory:
        assert memory.core.stats()["turns"] == 4
        episodes = [each["content"] for each in memory.core.list()["memories"]]
    assert sum(texts[0] in text for text in episodes) == 1
    assert computer.log == []
