"""Transcripts of agents' programs: what was said in them, under ids that stay the same."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steeltrap.text.transcripts import (
    ClaudeTree,
    CodexTurn,
    TranscriptMessage,
    claude_entry,
    codex_answer_id,
    codex_messages,
    codex_prompt_id,
    cursor_messages,
    elements,
    without_elements,
)

AT = "2026-03-02T09:15:00.123Z"


def line(id: str, parent: str | None, role: str, content: Any, **rest: Any) -> str:
    """A line of Claude Code."""
    about = {"sessionId": "s1", "cwd": "/srv/shop", "timestamp": AT, "isSidechain": False, "version": "2.1.276"}
    return json.dumps(
        {
            "uuid": id,
            "parentUuid": parent,
            "type": role,
            "message": {"role": role, "content": content},
            **about,
            **rest,
        }
    )


CLAUDE = [
    json.dumps({"type": "summary", "summary": "A title", "leafUuid": "a2"}),
    line("u1", None, "user", "Which port does the shop use?"),
    line("a1", "u1", "assistant", [{"type": "thinking", "thinking": "Let me look."}]),
    line("a2", "a1", "assistant", [{"type": "text", "text": "I look it up."}]),
    line("a3", "a2", "assistant", [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]),
    line("u2", "a3", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "PORT=7001"}]),
    line("a4", "u2", "assistant", [{"type": "text", "text": "It uses port 7001."}]),
    line("u3", "a4", "user", "<command-name>/cost</command-name>"),
    line("u4", "u3", "user", "<local-command-stdout>$0.10</local-command-stdout>"),
    line("u5", "u4", "user", "Injected by a skill.", isMeta=True),
    line("x1", "a4", "assistant", [{"type": "text", "text": "Said by a subagent."}], isSidechain=True),
]


def claude(lines: list[str]) -> list[tuple[str, str, str]]:
    entries = [each for each in map(claude_entry, lines) if each is not None]
    tree = ClaudeTree()
    for each in entries:
        tree.add(each)
    kept = tree.main_line_ids()
    said = {each.id: each.message for each in reversed(entries) if each.message is not None and each.id in kept}
    return [(said.id, said.role, said.content) for said in reversed(said.values())]


def test_only_what_user_and_assistant_said_is_read() -> None:
    assert claude(CLAUDE) == [
        ("u1", "user", "Which port does the shop use?"),
        ("a2", "assistant", "I look it up."),
        ("a4", "assistant", "It uses port 7001."),
    ]


def test_a_line_says_where_and_when_it_was_said() -> None:
    entry = claude_entry(CLAUDE[1])
    assert entry is not None
    assert (entry.session, entry.folder, entry.parent) == ("s1", "/srv/shop", None)
    assert entry.message is not None
    assert entry.message.time == datetime(2026, 3, 2, 9, 15, 0, 123_000, UTC)


def test_a_branch_that_the_user_went_back_from_is_left_out_of_the_thread() -> None:
    again = [
        line("u6", "a4", "user", "And in production?"),
        line("a6", "u6", "assistant", "Wrong."),
        line("u7", "a4", "user", "And in the tests?"),
        line("a7", "u7", "assistant", [{"type": "text", "text": "Port 0."}]),
    ]
    assert [id for id, _, _ in claude(CLAUDE + again)] == ["u1", "a2", "a4", "u7", "a7"]


def test_the_thread_goes_on_behind_a_compacted_history() -> None:
    compacted = [
        line("c1", None, "system", "", logicalParentUuid="a4", subtype="compact_boundary"),
        line("c2", "c1", "user", "This session continues ...", isCompactSummary=True),
        line("u8", "c2", "user", "Go on."),
    ]
    assert [id for id, _, _ in claude(CLAUDE + compacted)] == ["u1", "a2", "a4", "u8"]


def test_lines_that_name_each_other_end() -> None:
    circle = [line("u1", "a1", "user", "Question"), line("a1", "u1", "assistant", "Answer")]
    assert [id for id, _, _ in claude(circle)] == ["u1", "a1"]


@pytest.mark.parametrize(
    "content",
    [
        "<system-reminder>Todo list is empty.</system-reminder>",
        "[Request interrupted by user for tool use]",
        [{"type": "image", "source": {}}],
        [],
        None,
        7,
    ],
)
def test_what_nobody_said_is_left_out(content: Any) -> None:
    entry = claude_entry(line("u1", None, "user", content))
    assert entry is not None
    assert entry.message is None


@pytest.mark.parametrize("mark", [{"isApiErrorMessage": True}, {"message": {"model": "<synthetic>", "content": "No."}}])
def test_what_the_program_says_in_the_assistants_name_is_left_out(mark: dict[str, Any]) -> None:
    entry = claude_entry(line("a1", None, "assistant", "Error 529", **mark))
    assert entry is not None
    assert entry.message is None


def test_a_reminder_beside_what_was_typed_is_cut_out() -> None:
    entry = claude_entry(
        line("u1", None, "user", [{"type": "text", "text": "<system-reminder>x</system-reminder>Go <b>on</b>."}])
    )
    assert entry is not None
    assert entry.message is not None
    assert entry.message.content == "Go <b>on</b>."


@pytest.mark.parametrize("text", ["", "{", '{"uuid": "u1", "typ', "[]", "null", "[" * 100_000])
def test_a_line_of_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        claude_entry(text)


def test_what_no_store_can_keep_is_replaced() -> None:
    entry = claude_entry(r'{"uuid": "u1", "type": "user", "message": {"content": "a\u0000b\ud800c"}}')
    assert entry is not None
    assert entry.message == TranscriptMessage(id="u1", role="user", content="a\ufffdb\ufffdc")


def event(**payload: Any) -> str:
    """A line of Codex."""
    return json.dumps({"timestamp": AT, "type": "event_msg", "payload": payload})


def typed(turn: str, text: str) -> str:
    """A message of the user as later versions of Codex write it."""
    content = [{"type": "Text", "text": text}]
    return event(type="item_completed", turn_id=turn, item={"type": "UserMessage", "content": content})


CODEX = [
    json.dumps({"timestamp": AT, "type": "session_meta", "payload": {"id": "s1", "cwd": "/srv/shop"}}),
    event(type="task_started", turn_id="t1"),
    json.dumps({"timestamp": AT, "type": "turn_context", "payload": {"turn_id": "t1", "cwd": "/srv/shop"}}),
    json.dumps({"type": "response_item", "payload": {"type": "message", "role": "user", "content": "AGENTS.md"}}),
    event(type="user_message", message="Which port does the shop use?"),
    typed("t1", "Which port does the shop use?"),
    event(type="agent_message", message="I look it up."),
    event(type="user_message", message="Look into .env."),
    event(type="task_complete", turn_id="t1", last_agent_message="It uses port 7001."),
    event(type="task_started", turn_id="t2"),
    typed("t2", "Thanks."),
    event(type="task_complete", turn_id="t2", last_agent_message=None),
]


def test_codex_turns_have_the_ids_that_its_hooks_are_given() -> None:
    turn = CodexTurn()
    assert [(said.id, said.content) for said in codex_messages(enumerate(CODEX), turn)] == [
        (codex_prompt_id("t1"), "Which port does the shop use?"),
        (codex_prompt_id("t1", 2), "Look into .env."),
        (codex_answer_id("t1"), "It uses port 7001."),
        (codex_prompt_id("t2"), "Thanks."),
    ]
    assert turn.begins_at == 9


def test_codex_is_read_on_from_the_turn_that_was_last_begun() -> None:
    turn = CodexTurn()
    list(codex_messages(enumerate(CODEX[:10]), turn))
    rest = codex_messages(list(enumerate(CODEX))[turn.begins_at :], CodexTurn())
    assert [said.id for said in rest] == [codex_prompt_id("t2")]


def test_codex_lines_without_a_turn_say_nothing() -> None:
    assert (
        list(codex_messages(enumerate([event(type="user_message", message="Old form"), "{", "7"]), CodexTurn())) == []
    )


def block(role: str, text: str) -> str:
    """A line of Cursor."""
    return json.dumps({"role": role, "message": {"content": [{"type": "text", "text": text}]}})


CURSOR = [
    block("user", "<timestamp>Monday</timestamp>\n<user_query>\nWhich port does the shop use?\n</user_query>"),
    block("assistant", "I look it up.\n\n[REDACTED]"),
    json.dumps({"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read", "input": {}}]}}),
    block("assistant", "It uses port 7001."),
    json.dumps({"type": "turn_ended", "status": "success"}),
]


def test_cursor_messages_are_what_was_typed_and_answered() -> None:
    said = list(cursor_messages(enumerate(CURSOR)))
    assert [(each.role, each.content) for each in said] == [
        ("user", "Which port does the shop use?"),
        ("assistant", "I look it up."),
        ("assistant", "It uses port 7001."),
    ]
    assert [each.id.partition("-")[0] for each in said] == ["0", "1", "3"]
    assert said == list(cursor_messages(enumerate(CURSOR)))


def test_cursor_lines_that_were_written_anew_are_other_messages() -> None:
    first, second = (next(iter(cursor_messages([(3, block("user", text))]))) for text in ("Go left.", "Go right."))
    assert first.id != second.id


def test_cursor_text_without_a_query_tag_is_kept_as_typed() -> None:
    [said] = cursor_messages([(0, block("user", "<timestamp>now</timestamp>Why is <b>this</b> bold?"))])
    assert said.content == "Why is <b>this</b> bold?"


class Counted(str):
    """A text that counts the characters that `find` looks at."""

    looked_at = 0

    def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
        found = super().find(sub, start)
        self.looked_at += (found if found >= 0 else len(self)) - start
        return found


PIECES = ("<user_query>", "</user_query>", "<ide_a>", "</ide_a>", "<ide_ab>", "</ide_ab>", "<b>", "</b>", "<", ">", "/")
tagged = st.lists(st.sampled_from((*PIECES, "a", "\n", "é", "字")), max_size=30).map("".join)


@given(tagged)
def test_elements_are_taken_out_as_a_backtracking_pattern_would(text: str) -> None:
    names = ("user_query", "ide_a", "ide_ab")
    pattern = re.compile(rf"<({'|'.join(names)})>.*?</\1>", re.DOTALL)
    assert without_elements(text, lambda name: name in names) == pattern.sub("", text)
    assert list(elements(text, "user_query")) == re.findall("<user_query>(.*?)</user_query>", text, re.DOTALL)


def test_a_tag_that_nothing_closes_is_text() -> None:
    many = "<system-reminder>" * 20_000
    assert claude([line("u1", None, "user", many + "</ide_file>")]) == [("u1", "user", many + "</ide_file>")]
    assert claude([line("u1", None, "user", many + "</system-reminder> Hello")]) == [("u1", "user", "Hello")]
    assert claude([line("u1", None, "user", "".join(f"<ide_{'a' * (i % 300)}>" for i in range(20_000)) + "Hello")])


def test_each_letter_of_a_transcript_is_looked_at_a_few_times_however_many_tags_stay_open() -> None:
    def looked_at(text: str) -> int:
        counted = Counted(text)
        assert list(elements(counted, "user_query")) in ([], ["a"] * 3000)
        return counted.looked_at

    for text in ("<user_query>" * 3000, "<user_query>a</user_query>" * 3000, "</user_query>" * 3000):
        assert looked_at(text) <= 2 * len(text)
