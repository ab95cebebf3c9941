"""Each toolset replaces secrets, and reports them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import made_up_secrets
from secret_examples import card, token
from steeltrap.engine import secrets as redacting
from steeltrap.engine.call import Rules, SecretsMode
from steeltrap.engine.conversations import IncomingMessage
from steeltrap.engine.importing import Conversation, import_conversations, import_drafts
from steeltrap.errors import InvalidInput
from steeltrap.invoke import Door, Result
from steeltrap.model import MAX_CONTENT_BYTES, Caller, Draft, Message, OutcomeKind, UserRef
from steeltrap.record import to_image
from steeltrap.telemetry import Measure

ME = Caller(UserRef("ana"), "assistant", "chat-1")
TEXT = f"The deploy key is {token()}."
LEFT = "The deploy key is [redacted: aws-access-token]."
WRITES: dict[str, dict[str, Any]] = {
    "core.save": {"content": TEXT},
    "notes.memory_save": {"content": TEXT},
    "categories.store_memory": {"content": TEXT, "category": "fact"},
    "records.memory_store": {"content": TEXT},
    "associative.memory_store": {"content": TEXT},
}

Asks = Callable[..., Result]


@pytest.fixture
def asks(door: Door) -> Callable[..., Asks]:
    """`asks("refuse")` calls tools with that setting; None is the setting's default."""

    def with_setting(mode: SecretsMode | None = None) -> Asks:
        its = replace(door, rules=Rules(secrets=mode))
        return lambda tool, key=None, secrets=None, **given: its.invoke(
            tool, given, ME, idempotency_key=key, secrets=secrets
        )

    return with_setting


def stored(ask: Asks) -> list[str]:
    return sorted(record["content"] for record in ask("core.export").body["records"])


def test_the_agent_toolset_replaces_secrets_and_says_so(asks: Callable[..., Asks]) -> None:
    ask = asks()
    done = ask("agent.remember", content=f"{TEXT} My card is {card()}.")
    assert done.body.startswith("Saved as [")
    assert done.body.endswith(" 2 secrets were replaced: aws-access-token, card-number.")
    assert done.outcome is not None
    assert done.outcome.kind is OutcomeKind.REDACTED
    id = done.body.split("[")[1].split("]")[0]
    revised = ask("agent.revise_memory", id=id, content=TEXT)
    assert revised.body.endswith("is no longer recalled. 1 secret was replaced: aws-access-token.")
    assert stored(ask) == [LEFT, f"{LEFT} My card is [redacted: card-number]."]
    assert LEFT in ask("agent.recall", query="deploy key").body


def test_other_toolsets_keep_texts_to_the_letter(asks: Callable[..., Asks]) -> None:
    ask = asks()
    for tool, given in WRITES.items():
        done = ask(tool, **given)
        assert done.error is None
        assert done.outcome is None
    assert set(stored(ask)) == {TEXT}


@pytest.mark.parametrize("tool", WRITES)
def test_the_setting_is_for_every_toolset(asks: Callable[..., Asks], tool: str) -> None:
    done = asks("redact")(tool, **WRITES[tool])
    assert done.outcome is not None
    assert done.outcome.message == "1 secret was replaced: aws-access-token."
    assert stored(asks()) == [LEFT]


@pytest.mark.parametrize("tool", [*WRITES, "agent.remember"])
def test_a_server_may_refuse_secrets(asks: Callable[..., Asks], tool: str) -> None:
    given = WRITES.get(tool, {"content": TEXT})
    refused = asks("refuse")(tool, **given)
    assert isinstance(refused.error, InvalidInput)
    assert refused.error.message == (
        "`content` has what looks like a secret (aws-access-token), and secrets are not stored here; leave it out and "
        "say instead where it is kept."
    )
    assert stored(asks()) == []


def test_off_is_off_for_the_agent_toolset_too(asks: Callable[..., Asks]) -> None:
    assert asks("off")("agent.remember", content=TEXT).outcome is None
    assert stored(asks()) == [TEXT]


def test_a_caller_may_ask_for_more_than_the_toolset_does_but_not_for_less(asks: Callable[..., Asks]) -> None:
    assert asks()("core.save", secrets="redact", content=TEXT).outcome is not None
    assert asks()("core.save", secrets="refuse", content=TEXT).error is not None
    refused = asks()("core.save", secrets="off", content=TEXT).error
    assert refused is not None
    assert "must be redact or refuse" in refused.message
    assert asks("off")("core.save", secrets="redact", content=f"{TEXT} Off.").outcome is None
    assert stored(asks()) == [f"{TEXT} Off.", LEFT]


def test_the_same_text_is_the_same_memory_with_its_secrets_and_without(asks: Callable[..., Asks]) -> None:
    ask = asks()
    first = ask("agent.remember", content=TEXT).body.split("[")[1].split("]")[0]
    for text in (TEXT, LEFT):
        assert ask("agent.remember", content=text).body.startswith(f"Already stored as [{first}]")
        said = ask("agent.revise_memory", id=first, content=text)
        assert said.error is not None
        assert "says this already" in said.error.message
    assert stored(ask) == [LEFT]


def test_a_repeated_idempotency_key_with_the_same_secret_is_the_same_save(asks: Callable[..., Asks]) -> None:
    ask = asks("redact")
    first, again = (ask("core.save", key="k", content=TEXT) for _ in range(2))
    assert first.body["id"] == again.body["id"]
    assert again.body["existed"]
    assert ask("core.save", key="k", content=f"{TEXT} Other.").error is not None


def test_a_message_with_an_id_and_a_secret_is_stored_once(asks: Callable[..., Asks]) -> None:
    ask = asks("redact")
    message = {"id": "m1", "role": "user", "content": TEXT}
    first, again = (ask("core.append_messages", messages=[message]) for _ in range(2))
    assert again.body["existed"] == first.body["ids"]
    ask("core.append_messages", ended=True)
    assert all(token() not in text for text in stored(ask))


def test_an_import_with_secrets_can_be_repeated(door: Door) -> None:
    for written in (1, 0):
        done = import_drafts(door.call_for(ME, seconds=30), [Draft(content=TEXT)], Counter())
        assert (done.written, done.skipped) == (written, 1 - written)


def test_an_edit_undone_has_its_secret_in_no_version(asks: Callable[..., Asks]) -> None:
    ask = asks("redact")
    id = ask("core.save", content="The deploy key is in the vault.").body["id"]
    ask("core.update", id=id, content=TEXT, metadata={"api_key": "q8Rk2Lw9Zp4Xv7Tn1Bm6", "port": 8080, "id": 7})
    ask("core.undo", id=id)
    images = [each["memory"] for each in ask("core.history", id=id).body["revisions"]]
    assert [each["content"] for each in images] == ["The deploy key is in the vault.", LEFT, images[0]["content"]]
    assert images[1]["metadata"] == {"api_key": "[redacted: generic-api-key]", "port": 8080, "id": 7}


def test_two_keys_that_are_secrets_keep_both_of_their_values(asks: Callable[..., Asks]) -> None:
    ask = asks("redact")
    other = token().replace("Q", "R", 1)
    id = ask("core.save", content="Two keys.", metadata={token(): 1, other: 2}).body["id"]
    assert sorted(ask("core.get", id=id).body["metadata"].values()) == [1, 2]


@pytest.mark.parametrize(
    ("tool", "given", "field"),
    [
        ("core.save", {"content": "x", "scope": token()}, "scope"),
        ("core.save", {"content": "x", "conversation_id": token()}, "conversation_id"),
        ("core.append_messages", {"messages": [{"role": "user", "content": "x"}], "conversation_id": token()}, ""),
        ("core.create_session", {"session_id": token()}, "session_id"),
        ("associative.memory_sync", {"operation": "export", "file_path": f"{token()}.json"}, "file_path"),
    ],
)
def test_a_name_with_a_secret_is_refused_and_not_quoted(
    asks: Callable[..., Asks], tool: str, given: dict[str, Any], field: str
) -> None:
    refused = asks("redact")(tool, **given).error
    assert isinstance(refused, InvalidInput)
    assert f"`{field or 'conversation_id'}` has what looks like a secret (aws-access-token)" in refused.message
    assert token() not in refused.message
    assert stored(asks()) == []


def test_an_error_quotes_no_secret(asks: Callable[..., Asks]) -> None:
    for given in ({"content": [token()]}, {"content": "x", "tags": {"a": token()}}, {"content": "x", token(): 1}):
        refused = asks("redact")("core.save", **given)
        assert refused.error is not None
        assert token() not in str(refused.body)
        assert token() not in str(refused.error)


def test_one_item_with_a_secret_is_refused_and_the_others_are_stored(asks: Callable[..., Asks]) -> None:
    items = [{"content": "First."}, {"content": TEXT}, {"content": "Third."}]
    done = asks("refuse")("core.batch_save", items=items, on_error="continue")
    assert [error["index"] for error in done.body["errors"]] == [1]
    assert stored(asks()) == ["First.", "Third."]
    assert asks("refuse")("core.batch_save", items=items).error is not None
    assert len(stored(asks())) == 2


def test_kind_and_count_are_measured_and_nothing_else_is(door: Door) -> None:
    measured: list[Measure] = []
    watched = replace(door, observe=measured.append)
    watched.invoke("agent.remember", {"content": f"{TEXT} Again: {token()}, and {card()}."}, ME)
    [measure] = measured
    assert measure.redacted == {"aws-access-token": 1, "card-number": 1}
    assert measure.outcome == "redacted"
    assert token() not in repr(measure)


def test_what_was_said_with_secrets_becomes_an_episode_even_where_they_are_refused_now(
    asks: Callable[..., Asks],
) -> None:
    asks("off")("core.append_messages", messages=[{"role": "user", "content": TEXT}])
    done = asks("refuse")("core.append_messages", ended=True)
    assert done.error is None
    assert done.body["closed"]


def test_a_long_message_has_no_half_of_a_secret_where_it_is_split(door: Door) -> None:
    call = door.call_for(ME, seconds=60)
    for before in range(MAX_CONTENT_BYTES - 24, MAX_CONTENT_BYTES + 4, 4):
        text = f"{'x' * before} {card()} {'y ' * 9000}"
        said = IncomingMessage(message=Message(role="user", content=text), id="m1")
        import_conversations(call, [Conversation(id=f"chat-{before}", messages=(said,))])
    everything = str([to_image(memory) for memory in call.space.walk()])
    assert card()[:4] not in everything


def test_what_was_saved_before_is_shown_to_a_model_without_its_secrets(asks: Callable[..., Asks]) -> None:
    ask = asks()
    ask("core.save", content=TEXT)
    assert stored(ask) == [TEXT]
    for shown in (ask("agent.recall", query="deploy key").body, ask("agent.recent_memories").body):
        assert LEFT in shown
        assert token() not in shown
    undone = ask("agent.undo_memory_change").body
    assert (LEFT in undone, token() in undone) == (True, False)


def test_with_off_a_model_is_shown_what_is_stored(asks: Callable[..., Asks]) -> None:
    ask = asks("off")
    ask("core.save", content=TEXT)
    assert TEXT in ask("agent.recent_memories").body


def test_only_a_text_that_may_have_a_secret_is_searched_before_it_is_shown() -> None:
    assert [text for text, _ in made_up_secrets.secrets() if not redacting._may_have_secret(text)] == []
    for text in ("The user likes green tea.", "The meeting is on 2026-11-25 at 10:30.", "Der Zug fährt um 9 Uhr."):
        assert not redacting._may_have_secret(text)
