"""A session of the OpenAI Agents SDK: runs of its scripted model, items to the letter, users, failures."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents.testing", reason="openai-agents is not installed")

from agents import Agent, RunConfig, Runner, function_tool
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call

from integrations.modules import run_page
from integrations.seams import Seam
from steeltrap.errors import InvalidInput, TooLarge, Unavailable
from steeltrap.integrations.openai_agents import SteeltrapSession

QUIET = RunConfig(tracing_disabled=True)
ITEMS: list[Any] = [
    {"role": "user", "content": "Where is Zoë's parcel? 📦"},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA=="},
    {"type": "function_call", "call_id": "c1", "name": "track", "arguments": '{"n": 1.0}'},
    {"type": "function_call_output", "call_id": "c1", "output": "  in Porto\n"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "In Porto.", "annotations": []}]},
    {"role": "user", "content": ""},
    {"role": "user", "content": "half a pair \ud83d, a zero \x00, e\u0301 and \u00e9"},
]


def add(seam: Seam, session: SteeltrapSession, *items: Any) -> None:
    seam.run(session.add_items(list(items)))


def get(seam: Seam, session: SteeltrapSession, limit: int | None = None) -> list[Any]:
    return list(seam.run(session.get_items(limit)))


def test_it_is_a_session(seam: Seam) -> None:
    assert isinstance(SteeltrapSession("s", seam.client("ana")), Session)


def test_a_run_goes_on_where_the_last_one_ended(seam: Seam) -> None:
    def track(number: str) -> str:
        """Where a parcel is."""
        return f"{number} is in Porto"

    call = function_call("track", {"number": "17"}, call_id="c1")
    model = ScriptedModel([[call], [assistant_message("It is in Porto.")], [assistant_message("Yes.")]])
    agent = Agent(name="Support", model=model, tools=[function_tool(track)])
    for question in ("Where is parcel 17?", "Still there?"):
        session = SteeltrapSession("support-7", seam.client("ana"))
        answer = seam.run(Runner.run(agent, question, session=session, run_config=QUIET))
    assert answer.final_output == "Yes."
    model.assert_complete()
    last = model.last_call
    assert last is not None
    text = json.dumps(last.input, default=str)
    assert "Where is parcel 17?" in text
    assert "17 is in Porto" in text
    kinds = [item.get("type", item.get("role")) for item in get(seam, session)]
    assert kinds == ["user", "function_call", "function_call_output", "message", "user", "message"]


def test_items_come_back_to_the_letter(seam: Seam) -> None:
    session = SteeltrapSession("s/1 . ü", seam.client("ana"))
    add(seam, session, *ITEMS)
    assert get(seam, session) == ITEMS
    assert get(seam, session, 2) == ITEMS[-2:]
    assert get(seam, session, 0) == []
    few = SteeltrapSession("s/1 . ü", seam.client("ana"), session_settings=SessionSettings(limit=3))
    assert get(seam, few) == ITEMS[-3:]


def test_a_large_item_is_whole_and_a_larger_one_refused(seam: Seam) -> None:
    session = SteeltrapSession("s", seam.client("ana"))
    large = {"role": "user", "content": " e\u0301\u00e9 ö  " * 2_500}
    add(seam, session, large)
    with pytest.raises(TooLarge, match=r"Item 2 has .* nothing of this call is stored"):
        add(seam, session, ITEMS[0], {"role": "user", "content": "x" * 40_000})
    with pytest.raises(InvalidInput, match="Item 1 is no JSON"):
        add(seam, session, {"role": "user", "content": float("nan")})
    assert get(seam, session) == [large]


def test_many_items_keep_their_order_when_a_clock_goes_back(seam: Seam) -> None:
    times = iter([2_000.0, 1_000.0, 1_000.0])
    session = SteeltrapSession("s", seam.client("ana"), now=lambda: next(times))
    items: list[Any] = [{"role": "user", "content": f"number {n}"} for n in range(130)]
    add(seam, session, *items[:120])
    add(seam, session, *items[120:])
    assert get(seam, session) == items


def test_two_that_add_at_once_keep_all(seam: Seam) -> None:
    one, two = (SteeltrapSession("s", seam.client("ana")) for _ in range(2))

    async def both() -> None:
        await asyncio.gather(one.add_items(ITEMS[:3]), two.add_items(ITEMS[3:6]))

    seam.run(both())
    kept = get(seam, one)
    assert [item for item in kept if item in ITEMS[:3]] == ITEMS[:3]
    assert [item for item in kept if item in ITEMS[3:6]] == ITEMS[3:6]
    assert len(kept) == 6


def test_pop_and_clear_can_be_undone(seam: Seam) -> None:
    client = seam.client("ana")
    session = SteeltrapSession("s", client)
    assert seam.run(session.pop_item()) is None
    add(seam, session, *ITEMS[:3])
    assert seam.run(session.pop_item()) == ITEMS[2]
    seam.run(session.clear_session())
    assert get(seam, session) == []
    for row in client.core.list(deleted=True)["memories"]:
        client.core.undo(id=row["id"])
    assert get(seam, session) == ITEMS[:3]


def test_sessions_and_users_are_apart(seam: Seam) -> None:
    ana, bob = (SteeltrapSession("s", seam.client(user)) for user in ("ana", "bob"))
    other = SteeltrapSession("s2", seam.client("ana"))
    add(seam, ana, ITEMS[0])
    assert get(seam, bob) == get(seam, other) == []
    seam.run(bob.clear_session())
    assert get(seam, ana) == ITEMS[:1]


def test_a_failure_is_no_empty_session(seam: Seam) -> None:
    session = SteeltrapSession("s", seam.client("ana"))
    seam.store.is_broken = True
    for call in (session.get_items, session.pop_item, session.clear_session, lambda: session.add_items(ITEMS[:1])):
        with pytest.raises(Unavailable, match="does not answer"):
            seam.run(call())


def test_the_code_on_the_page_runs(tmp_path: Path) -> None:
    done = run_page("openai-agents.md", tmp_path)
    assert done.returncode == 0, done.stderr
