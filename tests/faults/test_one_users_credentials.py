"""Credentials that reach one user of a bucket and may not delete: a laptop's, over what a server shares with it."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from clock import SettableClock
from contracts import log_places
from contracts.entries import EMBEDDER
from faults.proxy import Answered, Asked, Proxy, Send, proxied
from gcs_server import BUCKET, serving_gcs
from spaces import space_of
from steeltrap.engine.call import Rules
from steeltrap.errors import SteeltrapError, Unavailable
from steeltrap.invoke import Door
from steeltrap.maintenance import Run
from steeltrap.model import Caller, UserRef
from steeltrap.stores.logs.bucket import BucketLogs
from steeltrap.stores.logs.probing import probe
from steeltrap.stores.replica import ReplicaStore
from steeltrap.toolsets import CATALOGUE

ANA = UserRef("ana")
BEN = UserRef("ben")
PAGE = Path(__file__).parents[2] / "docs" / "bucket.md"
REFUSED = (
    "Nothing was changed: these credentials may not delete from the bucket, which forgetting needs. Forget it with a "
    "server or a machine that may."
)


class Policy:
    """The rights of one user's laptop, as the page's policy for S3 grants them; all else is refused, and noted."""

    def __init__(self, prefix: str, user: UserRef) -> None:
        [text] = re.findall(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)
        text = text.replace("BUCKET", BUCKET).replace("PREFIX", prefix).replace("KEY", user.key)
        self._statements = json.loads(text)["Statement"]
        self.refused: list[str] = []

    def __call__(self, asked: Asked, send: Send) -> Answered:
        if self._allows(asked):
            return send(asked)
        self.refused.append(f"{asked.method} {asked.path}")
        return Answered(403, b"<Error><Code>AccessDenied</Code></Error>")

    def _allows(self, asked: Asked) -> bool:
        parts = urlsplit(asked.path)
        name = unquote(parts.path.removeprefix(f"/{BUCKET}").removeprefix("/"))
        action = {"GET": "s3:GetObject", "PUT": "s3:PutObject", "DELETE": "s3:DeleteObject"}[asked.method]
        resource, listed = f"arn:aws:s3:::{BUCKET}/{name}", ""
        if asked.method == "GET" and not name:
            listed = parse_qs(parts.query).get("prefix", [""])[0]
            action, resource = "s3:ListBucket", f"arn:aws:s3:::{BUCKET}"
        return any(self._grants(statement, action, resource, listed) for statement in self._statements)

    def _grants(self, statement: dict[str, Any], action: str, resource: str, listed: str) -> bool:
        prefixes = statement.get("Condition", {}).get("StringLike", {}).get("s3:prefix", ["*"])
        return (
            action in _listed(statement["Action"])
            and any(fnmatchcase(resource, pattern) for pattern in _listed(statement["Resource"]))
            and any(fnmatchcase(listed, pattern) for pattern in prefixes)
        )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


class Machine:
    """A door over a cache of its own."""

    def __init__(self, folder: Path, url: str, clock: SettableClock) -> None:
        self.logs = BucketLogs(url)
        self.store = ReplicaStore(folder, self.logs, EMBEDDER, clock, retention=timedelta(days=30))
        self.door = Door(catalogue=CATALOGUE, store=self.store, embedder=EMBEDDER, clock=clock)

    def ask(self, tool: str, user: UserRef = ANA, **arguments: Any) -> Any:
        result = self.door.invoke(tool, arguments, Caller(user, "agent"))
        if result.error is not None:
            raise result.error
        return result.body

    def contents(self, user: UserRef = ANA) -> set[str]:
        return {memory["content"] for memory in self.ask("core.list", user, limit=1000)["memories"]}


class Bucket:
    """A server with all rights and a laptop with those of a policy, over one bucket."""

    def __init__(self, server: Machine, laptop: Machine, policy: Policy) -> None:
        self.server = server
        self.laptop = laptop
        self.policy = policy


@pytest.fixture
def bucket(tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with ExitStack() as stack:
        fake = stack.enter_context(serving_gcs())
        url = log_places.gcs(monkeypatch, fake)
        server = Machine(tmp_path / "server", url, clock)
        stack.callback(server.store.close)
        server.ask("core.save", BEN, content="Ben's heron.")  # from now on there is an id
        proxy: Proxy = stack.enter_context(proxied(fake))
        policy = Policy(url.removeprefix(f"gs://{BUCKET}/"), ANA)
        proxy.rule = policy
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", log_places.service_account(proxy.url))
        laptop = Machine(tmp_path / "laptop", url, clock)
        stack.callback(laptop.store.close)
        yield Bucket(server, laptop, policy)


def test_a_laptop_and_a_server_share_the_users_memories_and_no_request_is_refused(bucket: Bucket) -> None:
    here, server = bucket.laptop, bucket.server
    here.store.check()
    bucket.policy.refused.clear()  # to start, it tries to write the id
    id = here.ask("core.save", content="The heron waits.")["id"]
    server.ask("core.update", id=id, content="The heron flies.")
    here.ask("core.save", content="The reed grows.")
    assert here.contents() == server.contents() == {"The heron flies.", "The reed grows."}
    here.ask("core.delete", id=id)
    assert server.contents() == {"The reed grows."}
    assert bucket.policy.refused == []


def test_another_users_memories_are_out_of_reach(bucket: Bucket) -> None:
    for tool, arguments in (("core.list", {}), ("core.save", {"content": "The reed grows."})):
        with pytest.raises(Unavailable, match="may not") as refused:
            bucket.laptop.ask(tool, BEN, **arguments)
        assert not refused.value.can_retry
    assert bucket.server.contents(BEN) == {"Ben's heron."}


def test_it_makes_no_bases_and_asks_once_whether_it_may(bucket: Bucket) -> None:
    here = bucket.laptop
    log = here.logs.of(ANA)
    for number in range(120):
        here.ask("core.save", content=f"{number}: " + "The heron waits by the pond. " * 60)
        here.store.flush(just_read=True)
    assert log.bases() == []
    assert [line.partition(" ")[0] for line in bucket.policy.refused] == ["DELETE"]
    bucket.server.contents()
    bucket.server.store.flush(just_read=True)
    assert len(log.bases()) == 1, "a machine that may does it"


def test_what_needs_a_base_that_it_may_not_make_is_found_by_the_next_sweep(
    bucket: Bucket, clock: SettableClock
) -> None:
    here, door = bucket.laptop, bucket.server.door
    for number in range(120):
        here.ask("core.save", content=f"{number}: " + "The heron waits by the pond. " * 60)
        here.store.flush(just_read=True)
    clock.advance(hours=1)
    run = Run(store=bucket.server.store, call_for=door.call_for, report=lambda user, error: None)
    run.sweep(next(bucket.server.store.due()))
    assert (run.users, run.failed) == (1, 0)
    assert len(here.logs.of(ANA).bases()) == 1


@pytest.mark.parametrize("names", [lambda id: {"id": id}, lambda id: {"ids": [id]}], ids=["id", "ids"])
def test_forgetting_is_refused_before_anything_changes(bucket: Bucket, names: Callable[[str], dict[str, Any]]) -> None:
    here = bucket.laptop
    id = here.ask("core.save", content="The heron waits.")["id"]
    entries = here.logs.of(ANA).read_on(1)
    with pytest.raises(SteeltrapError) as refused:
        here.ask("core.forget", **names(id))
    assert refused.value.message == REFUSED
    assert not refused.value.can_retry
    assert here.logs.of(ANA).read_on(1) == entries
    bucket.server.ask("core.forget", id=id)
    assert here.contents() == set()


def test_a_forgetting_of_a_message_writes_no_episode_again_before_it_is_refused(bucket: Bucket) -> None:
    here = bucket.laptop
    messages = [{"role": "user", "content": f"The heron waits at pond {number}."} for number in range(6)]
    appended = here.ask("core.append_messages", conversation_id="chat", messages=messages, ended=True)
    assert appended["episodes"]
    first = appended["ids"][0]
    entries = here.logs.of(ANA).read_on(1)
    with pytest.raises(Unavailable, match="Nothing was changed"):
        here.ask("core.forget", id=first)
    assert here.logs.of(ANA).read_on(1) == entries


def test_what_removes_all_of_the_user_or_keeps_nothing_is_refused_as_well(bucket: Bucket) -> None:
    here = bucket.laptop
    ids = [here.ask("core.save", content=text)["id"] for text in ("The heron waits.", "The heron stands.")]
    before = here.contents()
    with pytest.raises(Unavailable, match="Nothing was changed"):
        here.store.forget_user(ANA)
    here.door = replace(here.door, rules=replace(Rules(), retention=timedelta(0)))
    for tool, arguments in (
        ("core.delete", {"id": ids[0]}),
        ("core.consolidate", {"ids": ids, "preserve_originals": False}),
    ):
        with pytest.raises(Unavailable, match="Nothing was changed"):
            here.ask(tool, **arguments)
    assert here.contents() == before
    assert set(bucket.server.logs.users()) == {ANA, BEN}


def test_a_sweep_leaves_what_is_due_to_a_machine_that_may(bucket: Bucket, clock: SettableClock) -> None:
    here, server = bucket.laptop, bucket.server
    here.ask("core.delete", id=here.ask("core.save", content="The heron waits.")["id"])
    clock.advance(days=40)
    before = clock.now() - timedelta(days=30)
    assert space_of(here.store, "ana").sweep(before) == 0
    assert space_of(server.store, "ana").sweep(before) == 1
    assert here.ask("core.list", deleted=True)["total"] == 0


def test_doctor_warns_that_it_may_not_delete_and_of_nothing_else(bucket: Bucket, clock: SettableClock) -> None:
    faults = [fault for place in bucket.laptop.logs.places(ANA) for fault in probe(place, clock.now)]
    assert [fault.broken for fault in faults if "delete" in fault.problem] == [False]
