"""A secret is in no byte of any store, however it was given."""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clock import SettableClock
from contracts.memory_index import MemoryIndex
from embedding import HashedWords
from faults.doors import ANA, answer, user_bytes
from secret_examples import card, pem, token
from steeltrap.engine import importing
from steeltrap.engine.call import Rules
from steeltrap.invoke import Door
from steeltrap.model import Draft, Message
from steeltrap.stores.exact.postings import word_digest
from steeltrap.stores.files.folder import FolderFiles
from steeltrap.stores.sqlite import SqliteStore
from steeltrap.text.words import tokens
from steeltrap.toolsets import CATALOGUE
from stores import parts

KEY = pem(lines=3)
GIVEN = "q8Rk2Lw9Zp4Xv7Tn1Bm6"
ID = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b"
OTHER_ID = "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f"
NEEDLES = [token(), card(), KEY.splitlines()[2], GIVEN, "s3cr3tpw"]

Everything = Callable[[], bytes]
Opened = tuple[Door, Everything]


@pytest.fixture(params=["sqlite", "dynamodb"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: SettableClock) -> Iterator[Opened]:
    """A door that redacts everywhere; all bytes of its store and its files, and what a search index was sent."""
    embedder = HashedWords(dimension=256)
    index = MemoryIndex()
    with ExitStack() as stack:
        found = None if request.param == "sqlite" else stack.enter_context(parts())
        store = SqliteStore(tmp_path, embedder, clock) if found is None else found.open(embedder, clock, index=index)
        stack.callback(store.close)
        files = FolderFiles(tmp_path)
        rules = Rules(secrets="redact")
        door = Door(catalogue=CATALOGUE, store=store, embedder=embedder, clock=clock, files=files, rules=rules)

        def everything() -> bytes:
            kept = b"".join(user_bytes(tmp_path).values())
            if found is None:
                return kept
            client = found.connect(30.0)
            tables = [client.scan(TableName=name)["Items"] for name in found.tables]
            assert len(tables[0]) > 10
            assert len(index.documents) > 5
            return kept + repr(tables).encode() + repr(index.documents).encode()

        yield door, everything


def test_a_secret_is_in_no_byte_of_any_store(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    door, everything = opened
    caplog.set_level(logging.DEBUG)
    answers = _tell_everywhere(door)
    left = everything()
    for needle in NEEDLES:
        assert needle.encode().lower() not in left.lower()
        for word in (word for word in tokens(needle) if len(word) > 7):
            assert word_digest(word) not in left
        assert needle not in answers
        assert needle not in caplog.text
    assert b"[redacted: aws-access-token]" in left
    assert "aws-access-token" in caplog.text


def test_with_off_all_is_as_it_was_given(tmp_path: Path, clock: SettableClock) -> None:
    store = SqliteStore(tmp_path, HashedWords(), clock)
    door = Door(catalogue=CATALOGUE, store=store, embedder=HashedWords(), clock=clock, rules=Rules(secrets="off"))
    for tool in ("agent.remember", "core.save"):
        answer(door, tool, content=f"The key is {token()}, by {tool}.")
    store.close()
    assert token().encode() in b"".join(user_bytes(tmp_path).values())


def _tell_everywhere(door: Door) -> str:
    """Every way to write something, with secrets in all that it takes; what was answered."""
    said: list[Any] = []

    def tell(tool: str, **arguments: Any) -> Any:
        result = door.invoke(tool, arguments, ANA)
        said.append((result.body, result.outcome and result.outcome.message))
        return result.body

    url = "postgres://ana:s3cr3tpw@db.local/x"
    whole = {
        "content": f"Deploys use {token()}.\n{KEY}",
        "context": f"paid with {card()}",
        "category": f"by {token()}",
        "tags": [token(), url],
        "metadata": {"api_key": GIVEN, token(): "x", "deep": [{"card": int(card().replace(" ", ""))}, {"url": url}]},
        "agent_label": token(),
        "messages": [{"role": "user", "content": f"It is {token()}.", "speaker": f"Ana {token()}"}],
    }
    edit = {name: value for name, value in whole.items() if name != "messages"}
    first = tell("core.save", **whole)["id"]
    second, third = tell("core.batch_save", items=[{"content": f"One {token()}"}, {"content": f"Two {url}"}])["ids"]
    tell("core.update", id=first, **{**edit, "content": f"Edited: {token()} and {card()}"})
    tell("core.batch_update", updates=[{"id": second, "content": f"Again {url}"}, {"id": third, "context": KEY}])
    tell("core.undo", id=first)
    tell("core.set_score", id=first, score=0.5, reason=f"it has {token()}")
    tell("core.consolidate", ids=[second, third], tags=[token()], metadata={"client_secret": GIVEN})
    tell("core.append_messages", messages=[{"role": "user", "content": KEY}, {"role": "user", "content": card()}])
    tell("core.append_messages", messages=[{"role": token(), "content": f"and {token()}"}], ended=True)
    tell("core.save", content="A name can't hold one.", scope=token())
    tell("core.create_session", session_id=token())
    tell("core.save", content=f"{token()} ", tags=[f"{token()}{'x' * 200}"])
    tell("core.save", content={"of": token()})
    exported = json.dumps(tell("core.export"))
    records = json.loads(exported)["records"]
    spoilt = {**records[0], "id": ID, **edit, "history": []}
    tell("core.import", records=[{name: value for name, value in spoilt.items() if value is not None}])
    remembered = tell("agent.remember", content=f"My card is {card()}.")
    id = remembered.split("[")[1].split("]")[0]
    tell("agent.revise_memory", id=id, content=f"My card is {card()}, the blue one.")
    tell("notes.memory_save", content=f"Note {token()}", tags=[token()])
    tell("categories.store_memory", content=f"Fact {token()}", category="fact", context=url)
    tell("records.memory_store", content=f"Record {token()}", metadata={"password": GIVEN})
    tell("associative.memory_store", content=f"Store {KEY}")
    tell("associative.memory_sync", operation="export", file_path=f"backup/{token()}.json")
    tell("associative.memory_sync", operation="export", file_path="all.json")
    _write_file(door, "all.json", f"Read from a file: {token()}")
    tell("associative.memory_sync", operation="import", file_path="all.json", merge_strategy="overwrite")
    _write_file(door, "all.json", "That file was another program's.")
    call = door.call_for(ANA, seconds=30)
    drafts = [Draft(content=f"Imported {token()}", messages=(Message(role="user", content=KEY),))]
    importing.import_drafts(call, drafts, Counter(), surroundings=True)
    tell("core.search", query="key card", limit=50)
    tell("core.history", id=first)
    return json.dumps(said, default=str)


def _write_file(door: Door, name: str, content: str) -> None:
    assert door.files is not None
    files = door.files.files(ANA.user)
    document = json.loads(files.read(name, max_bytes=10**8))
    document["memories"] = [{"memory_id": OTHER_ID, "content": content, "scope": "user/files"}]
    files.write(name, json.dumps(document).encode())
