"""memory_sync: files of the user's own, merge strategies, sizes, and what a hostile file or path meets."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal

import pytest

from clock import SettableClock
from dialects.associative_story import LONG, NEAR, OTHER, UNKNOWN, told, whole
from dialects.associative_story import stored as stored_short
from embedding import HashedWords
from steeltrap.engine import exchange_file
from steeltrap.invoke import Door
from steeltrap.model import Caller, Embedding, UserRef
from steeltrap.ports import ExportFiles

STRATEGIES = ["skip_duplicates", "overwrite", "create_versions", "merge_metadata"]


@pytest.fixture
def ben(agent: Callable[..., Any]) -> Callable[..., Any]:
    return agent("ben")


@pytest.fixture
def files(door: Door) -> ExportFiles:
    """Ana's files, past the tools."""
    assert door.files is not None
    return door.files.files(UserRef("ana"))


def of_ben(door: Door) -> ExportFiles:
    assert door.files is not None
    return door.files.files(UserRef("ben"))


def hand_over(door: Door, name: str) -> None:
    """A file of Ana's as Ben's: what an operator does, no tool can."""
    assert door.files is not None
    of_ben(door).write(name, door.files.files(UserRef("ana")).read(name, max_bytes=10**9))


def stored(ask: Callable[..., Any], content: str, **arguments: Any) -> str:
    return whole(ask, stored_short(ask, content, **arguments))


def exported(ask: Callable[..., Any], **arguments: Any) -> Any:
    return told(ask, "memory_sync", operation="export", response_level="full", **arguments)


def imported(ask: Callable[..., Any], name: str, **arguments: Any) -> Any:
    return told(ask, "memory_sync", operation="import", file_path=name, response_level="full", **arguments)


def refusal(ask: Callable[..., Any], name: str, **arguments: Any) -> tuple[str, str]:
    body = ask("associative.memory_sync", operation="import", file_path=name, **arguments).body
    assert body["success"] is False
    return body["error"]["code"], body["error"]["message"]


def records(ask: Callable[..., Any]) -> dict[str, Any]:
    return {record["id"]: record for record in ask("core.export", limit=1000).body["records"]}


def file_of(*memories: dict[str, Any], **head: Any) -> bytes:
    return json.dumps({"format_version": "1.0", "memories": list(memories), **head}).encode()


def counts(answer: Any) -> dict[str, int]:
    summary = answer["detailed_summary"]
    return {name: count for name, count in summary.items() if count and name not in ("associations", "failures")}


# Out and in again


@pytest.mark.parametrize("compression", [False, True])
def test_memories_go_to_another_user_whole(
    ana: Callable[..., Any], ben: Callable[..., Any], door: Door, clock: SettableClock, compression: bool
) -> None:
    first = stored(ana, LONG, scope="work/build", tags=["ci"], category="fact", metadata={"a": [1, None]})
    second = stored(ana, NEAR, scope="work/build")
    ana("core.update", id=first, pinned=True, context="from the wiki", confidence=0.5)
    done = exported(ana, file_path="backup/all.json", compression=compression)
    assert (done["detailed_summary"]["exported"], done["file_info"]["file_path"]) == (2, "backup/all.json")
    assert done["file_info"]["compressed"] is compression
    assert done["file_info"]["format_version"] == "1.0"
    hand_over(door, "backup/all.json")
    clock.advance(days=3)
    assert counts(imported(ben, "backup/all.json")) == {"imported": 2}
    before, after = records(ana), records(ben)
    for id in (first, second):
        kept = {name: value for name, value in before[id].items() if name not in ("version", "history")}
        assert after[id] == kept | {"imported_by": "assistant", "imported_at": "2026-01-04T12:00:00+00:00"}
    linked = told(ben, "memory_manage", operation="get", memory_id=first, response_level="full")["associations"]
    assert [each["target_id"] for each in linked] == [second[:8]]


def test_a_file_is_readable_and_says_what_it_is(ana: Callable[..., Any], files: ExportFiles) -> None:
    id = stored(ana, OTHER, scope="personal/food", tags=["tea"])
    exported(ana, scope="personal", file_path="food.json")
    document = json.loads(files.read("food.json", max_bytes=10**6))
    [memory] = document.pop("memories")
    assert document == {
        "format_version": "1.0",
        "export_timestamp": "2026-01-01T12:00:00+00:00",
        "export_scope": "personal",
        "include_associations": True,
        "total_memories": 1,
    }
    assert (memory["memory_id"], memory["content"], memory["scope"]) == (id, OTHER, "personal/food")
    assert (memory["tags"], memory["metadata"], memory["category"], memory["associations"]) == (["tea"], {}, None, [])


@pytest.mark.parametrize(("compression", "ending"), [(False, r"\.json"), (True, r"\.json\.gz")])
def test_an_export_without_a_path_is_named_by_the_time(ana: Callable[..., Any], compression: bool, ending: str) -> None:
    name = exported(ana, compression=compression)["file_info"]["file_path"]
    assert re.fullmatch(r"memories-20260101-120000-[0-9a-f]{12}" + ending, name)
    assert counts(imported(ana, name)).get("imported", 0) == 0


def test_exports_without_a_path_in_the_same_second_are_files_of_their_own(
    ana: Callable[..., Any], files: ExportFiles
) -> None:
    scopes = [f"scope-{number}" for number in range(8)]
    for scope in scopes:
        stored(ana, f"{LONG} {scope}", scope=scope)
    with ThreadPoolExecutor(len(scopes)) as threads:
        names = list(threads.map(lambda scope: exported(ana, scope=scope)["file_info"]["file_path"], scopes))
    assert [json.loads(files.read(name, max_bytes=10**6))["export_scope"] for name in names] == scopes


def test_an_export_of_a_scope_has_the_scopes_below_and_only_associations_within(
    ana: Callable[..., Any], files: ExportFiles
) -> None:
    inside, below = stored(ana, LONG, scope="work"), stored(ana, OTHER, scope="work/deep")
    outside = stored(ana, NEAR, scope="workshop")
    for target in (below, outside):
        ana("core.associate", id=inside, target_id=target, strength=0.6)
    done = exported(ana, scope="work", file_path="work.json")
    assert (done["detailed_summary"]["exported"], done["detailed_summary"]["associations"]) == (2, 1)
    memories = {each["memory_id"]: each for each in json.loads(files.read("work.json", max_bytes=10**6))["memories"]}
    assert set(memories) == {inside, below}
    assert memories[inside]["associations"] == [{"target_id": below, "strength": 0.6, "manual": True}]


def test_associations_can_be_left_out_on_either_side(
    ana: Callable[..., Any], ben: Callable[..., Any], door: Door
) -> None:
    one, other = stored(ana, LONG), stored(ana, OTHER)
    ana("core.associate", id=one, target_id=other)
    assert exported(ana, file_path="a.json", include_associations=False)["detailed_summary"]["associations"] == 0
    exported(ana, file_path="b.json")
    for name, arguments in (("a.json", {}), ("b.json", {"include_associations": False})):
        hand_over(door, name)
        assert imported(ben, name, **arguments)["detailed_summary"]["associations"] == 0
        got = told(ben, "memory_manage", operation="get", memory_id=one, response_level="full")
        assert got["associations"] == []


def test_on_import_the_scope_is_a_prefix(ana: Callable[..., Any]) -> None:
    one, other = stored(ana, LONG, scope="work"), stored(ana, NEAR, scope="work")
    exported(ana, file_path="a.json")
    assert counts(imported(ana, "a.json", scope="copy/of")) == {"imported": 2}
    copies = {id: each for id, each in records(ana).items() if each.get("scope") == "copy/of/work"}
    assert len(copies) == 2
    assert set(copies).isdisjoint({one, other})
    linked = [link["target_id"] for each in copies.values() for link in each.get("links", ())]
    assert linked
    assert set(linked) <= set(copies)
    assert counts(imported(ana, "a.json", scope="copy/of/")) == {"skipped": 2}


def test_a_prefix_that_makes_a_scope_too_deep_is_refused(ana: Callable[..., Any]) -> None:
    stored(ana, LONG, scope="a/b/c")
    exported(ana, file_path="a.json")
    code, message = refusal(ana, "a.json", scope="/".join("abcdefgh"))
    assert (code, "Memory 0 of the file" in message, "Nothing was imported." in message) == (
        "invalid_input",
        True,
        True,
    )


def test_an_export_does_not_count_as_a_reading(ana: Callable[..., Any]) -> None:
    id = stored(ana, LONG)
    exported(ana)
    got = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")
    assert got["metadata"]["access_count"] == 0


# Merge strategies


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_here_exactly_so_is_skipped(ana: Callable[..., Any], strategy: str) -> None:
    stored(ana, LONG, tags=["ci"])
    exported(ana, file_path="a.json")
    before = records(ana)
    assert counts(imported(ana, "a.json", merge_strategy=strategy)) == {"skipped": 1}
    assert records(ana) == before


def changed_since(ana: Callable[..., Any]) -> str:
    """A memory that was exported to a.json, and changed afterwards; its id."""
    id = stored(ana, LONG, tags=["ci", "old"], metadata={"a": 1, "b": 1}, category="fact")
    exported(ana, file_path="a.json")
    ana("core.update", id=id, content=OTHER, tags=["CI", "new"], metadata={"b": 2, "c": 3})
    return id


def test_skip_duplicates_leaves_what_is_there(ana: Callable[..., Any]) -> None:
    id = changed_since(ana)
    before = records(ana)
    done = imported(ana, "a.json", merge_strategy="skip_duplicates")
    assert counts(done) == {"skipped": 1}
    assert records(ana) == before
    assert id in before


def test_overwrite_puts_the_files_in_its_place_with_history(ana: Callable[..., Any]) -> None:
    id = changed_since(ana)
    assert counts(imported(ana, "a.json", merge_strategy="overwrite")) == {"overwritten": 1}
    got = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")
    assert (got["memory"]["content"], got["memory"]["tags"]) == (LONG, ["ci", "old"])
    assert got["memory"]["metadata"] == {"a": 1, "b": 1}
    assert got["memory"]["version"] == 3
    assert ana("core.undo", id=id).body["content"] == OTHER


def test_create_versions_saves_beside_it_under_a_new_id_associated_with_the_old(ana: Callable[..., Any]) -> None:
    id = changed_since(ana)
    done = imported(ana, "a.json", merge_strategy="create_versions")
    assert counts(done) == {"versions": 1}
    [new] = set(records(ana)) - {id}
    got = told(ana, "memory_manage", operation="get", memory_id=new, response_level="full")
    assert (got["memory"]["content"], got["memory"]["tags"]) == (LONG, ["ci", "old"])
    [link] = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")["associations"]
    assert (link["target_id"], link["strength"]) == (new[:8], 1.0)
    assert counts(imported(ana, "a.json", merge_strategy="create_versions")) == {"skipped": 1}


def test_a_version_is_made_once_however_often_the_file_is_imported(
    ana: Callable[..., Any], clock: SettableClock
) -> None:
    id = stored(ana, LONG, tags=["old"])
    exported(ana, file_path="a.json")
    told(ana, "memory_manage", operation="update", memory_id=id, tags=["new"])
    made = []
    for _ in range(3):
        clock.advance(hours=1)
        made.append(counts(imported(ana, "a.json", merge_strategy="create_versions")))
    assert made == [{"versions": 1}, {"skipped": 1}, {"skipped": 1}]


def test_overwrite_takes_away_what_the_file_does_not_have(ana: Callable[..., Any]) -> None:
    id = stored(ana, LONG)
    exported(ana, file_path="a.json")
    ana("core.update", id=id, category="fact", context="since yesterday", metadata={"a": 1}, tags=["b"])
    done = [counts(imported(ana, "a.json", merge_strategy="overwrite")) for _ in range(2)]
    assert done == [{"overwritten": 1}, {"skipped": 1}]
    assert not {"category", "context", "metadata", "tags"} & ana("core.get", id=id).body.keys()


def test_merge_metadata_adds_tags_and_metadata_and_keeps_the_text(ana: Callable[..., Any]) -> None:
    id = changed_since(ana)
    assert counts(imported(ana, "a.json", merge_strategy="merge_metadata")) == {"merged": 1}
    got = told(ana, "memory_manage", operation="get", memory_id=id, response_level="full")["memory"]
    assert (got["content"], got["tags"]) == (OTHER, ["CI", "new", "old"])
    assert got["metadata"] == {"a": 1, "b": 1, "c": 3}
    assert counts(imported(ana, "a.json", merge_strategy="merge_metadata")) == {"skipped": 1}


def test_the_same_text_of_a_scope_is_there_already_under_another_id(
    ana: Callable[..., Any], ben: Callable[..., Any], door: Door
) -> None:
    theirs = stored(ana, LONG, tags=["from ana"])
    exported(ana, file_path="a.json")
    hand_over(door, "a.json")
    mine = stored(ben, LONG.upper(), tags=["from ben"])
    assert counts(imported(ben, "a.json")) == {"skipped": 1}
    assert counts(imported(ben, "a.json", merge_strategy="merge_metadata")) == {"merged": 1}
    assert records(ben)[mine]["tags"] == ["from ben", "from ana"]
    assert theirs not in records(ben)


def test_associations_with_what_was_there_are_kept(ana: Callable[..., Any]) -> None:
    kept, lost = stored(ana, LONG), stored(ana, OTHER)
    ana("core.associate", id=kept, target_id=lost, strength=0.6)
    exported(ana, file_path="a.json")
    ana("core.forget", id=lost)
    done = imported(ana, "a.json")
    assert counts(done) == {"imported": 1, "skipped": 1}
    got = told(ana, "memory_manage", operation="get", memory_id=kept, response_level="full")
    assert [(each["target_id"], each["strength"]) for each in got["associations"]] == [(lost[:8], 0.6)]


def test_a_memory_that_was_deleted_here_comes_back_under_a_new_id(ana: Callable[..., Any]) -> None:
    id = stored(ana, LONG)
    exported(ana, file_path="a.json")
    told(ana, "memory_manage", operation="delete", memory_id=id)
    assert counts(imported(ana, "a.json")) == {"imported": 1}
    [memory] = told(ana, "memory_list_all")["memories"]
    assert memory["id"] != id
    assert counts(imported(ana, "a.json")) == {"skipped": 1}
    assert ana("core.undo", id=id).error is None


class Interrupted(HashedWords):
    """Something else happens before the first text is embedded."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__(dimension=256)
        self._happens: Callable[[], object] | None = happens

    def embed(self, texts: Sequence[str], *, purpose: Literal["document", "query"], timeout: float) -> list[Embedding]:
        if self._happens is not None:
            happens, self._happens = self._happens, None
            happens()
        return super().embed(texts, purpose=purpose, timeout=timeout)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("user", "scope"), [("ben", None), ("ben", "imported"), ("ana", "imported")])
def test_of_two_imports_at_once_one_writes_and_the_other_skips(
    ana: Callable[..., Any], agent: Callable[..., Any], door: Door, user: str, scope: str | None, strategy: str
) -> None:
    """In Ana's space the ids of the file are taken, so that both need others."""
    for text in (LONG, NEAR, OTHER):
        stored(ana, text)
    exported(ana, file_path="a.json")
    hand_over(door, "a.json")
    arguments = {"merge_strategy": strategy} | ({} if scope is None else {"scope": scope})
    first: list[Any] = []
    embedder = Interrupted(lambda: first.append(imported(agent(user), "a.json", **arguments)))
    sync = {"operation": "import", "file_path": "a.json", "response_level": "full", **arguments}
    second = replace(door, embedder=embedder).invoke("associative.memory_sync", sync, Caller(UserRef(user))).body
    assert (counts(first[0]), counts(second)) == ({"imported": 3}, {"skipped": 3})
    assert (counts(second).get("imported", 0), second["detailed_summary"]["associations"]) == (0, 0)
    assert "failed_count" not in second


def test_what_has_expired_since_is_skipped(ana: Callable[..., Any], clock: SettableClock) -> None:
    ana("core.save", content=LONG, ttl_seconds=60)
    exported(ana, file_path="a.json")
    clock.advance(minutes=2)
    assert counts(imported(ana, "a.json", scope="copy")) == {"skipped": 1}


def test_a_memory_that_can_not_be_merged_is_reported_and_the_others_are(
    ana: Callable[..., Any], files: ExportFiles
) -> None:
    full = stored(ana, LONG, tags=[f"t{i}" for i in range(60)])
    other = stored(ana, OTHER)
    more = [{"memory_id": full, "content": LONG, "tags": [f"u{i}" for i in range(60)]}]
    files.write("a.json", file_of(*more, {"memory_id": other, "content": OTHER, "tags": ["new"]}))
    done = imported(ana, "a.json", merge_strategy="merge_metadata")
    assert (counts(done), len(done["detailed_summary"]["failures"])) == ({"merged": 1}, 1)
    [failure] = done["detailed_summary"]["failures"]
    assert (failure["index"], failure["code"]) == (0, "invalid_input")
    assert records(ana)[other]["tags"] == ["new"]


def test_many_memories_are_imported_in_blocks_with_their_associations(
    ana: Callable[..., Any], files: ExportFiles
) -> None:
    ids = [f"00000000-0000-4000-8000-{i:012d}" for i in range(250)]
    memories = [
        {
            "memory_id": id,
            "content": f"number {i}",
            "associations": [{"target_id": ids[(i + 120) % 250], "strength": 0.5}],
        }
        for i, id in enumerate(ids)
    ]
    files.write("many.json", file_of(*memories))
    done = imported(ana, "many.json")
    assert (counts(done)["imported"], done["detailed_summary"]["associations"]) == (250, 250)
    for i in (0, 130, 249):
        links = records(ana)[ids[i]]["links"]
        assert ids[(i + 120) % 250] in {link["target_id"] for link in links}


# Files of the original server


def test_a_file_of_the_original_server_is_read(ana: Callable[..., Any], files: ExportFiles) -> None:
    one, other = "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "7c1d2e3f-4a5b-4c6d-8e7f-9a0b1c2d3e4f"
    memory = {
        "memory_id": one,
        "content": "FastMCP needs a context",
        "scope": "learning/mcp",
        "metadata": {"scope": "learning/mcp"},
        "tags": ["mcp"],
        "category": None,
        "created_at": "2025-07-10T12:34:56.789012",
        "updated_at": "",
        "associations": [other, UNKNOWN],
    }
    second = {**memory, "memory_id": other, "content": "The context has a logger", "associations": []}
    text = file_of(memory, second, export_timestamp="2025-07-11T00:00:00", export_scope=None, total_memories=2)
    packed = base64.b64encode(gzip.compress(text))
    files.write("plain.json", text)
    files.write("packed.json", b"# Compressed MCP Memory Export (base64-encoded gzip)\n" + packed)
    assert counts(imported(ana, "plain.json")) == {"imported": 2}
    assert counts(imported(ana, "packed.json")) == {"skipped": 2}
    kept = records(ana)[one]
    assert (kept["created_at"], kept["scope"]) == ("2025-07-10T12:34:56.789012+00:00", "learning/mcp")
    assert [link["target_id"] for link in kept["links"]] == [other]


# What doesn't fit

MEMORY = {"memory_id": UNKNOWN, "content": "x"}
BAD = {
    "not JSON": (b"hello", "is not JSON"),
    "no UTF-8": (b'{"format_version": "1.0", "memories": ["\xff"]}', "is not JSON"),
    "nothing": (b"", "is not JSON"),
    "too deep": (b"[" * 200_000, "nested too deep"),
    "a list": (b"[]", "no list `memories`"),
    "no memories": (b'{"format_version": "1.0"}', "no list `memories`"),
    "no version": (b'{"memories": []}', "`format_version` is null"),
    "another version": (b'{"format_version": "2.0", "memories": []}', "`format_version` is '2.0'"),
    "no gzip after all": (b"\x1f\x8b and then nothing", "damaged"),
    "half a gzip": (gzip.compress(file_of(MEMORY) * 100)[:-20], "damaged"),
    "no base64": (b"# Compressed\n%%%=", "damaged|no base64|not JSON"),
    "a text for a memory": (file_of("x"), "must be a JSON object"),  # type: ignore[arg-type]
    "no id": (file_of({"content": "x"}), "`memory_id` is required"),
    "no UUID": (file_of({"memory_id": "1", "content": "x"}), "`memory_id` must be a UUID"),
    "no content": (file_of({"memory_id": UNKNOWN}), "`content` is required"),
    "blank content": (file_of({**MEMORY, "content": "  "}), "must not be empty"),
    "huge content": (file_of({**MEMORY, "content": "x" * 40_000}), "32,768"),
    "NUL": (file_of({**MEMORY, "content": "a\x00b"}), "NUL"),
    "half a surrogate": (file_of({**MEMORY, "content": "\ud800"}), "surrogate"),
    "a scope that leaves": (file_of({**MEMORY, "scope": "../x"}), "'work/project-x'"),
    "a number for tags": (file_of({**MEMORY, "tags": 5}), "`tags`"),
    "metadata too large": (file_of({**MEMORY, "metadata": {"a": "b" * 17_000}}), "16,384"),
    "a word for a time": (file_of({**MEMORY, "created_at": "yesterday"}), "`created_at`"),
    "an unknown field": (file_of({**MEMORY, "user_id": "ben"}), "no field `user_id`"),
    "a version of its own": (file_of({**MEMORY, "version": 7}), "no field `version`"),
    "a turn": (file_of({**MEMORY, "source": "conversation"}), "conversation"),
    "deleted": (file_of({**MEMORY, "deleted_at": "2026-01-01T00:00:00Z"}), "no field `deleted_at`"),
    "twice": (file_of(MEMORY, MEMORY), "memory 0 has the same"),
    "associations no list": (file_of({**MEMORY, "associations": "x"}), "`associations` must be a list"),
    "an association to nothing": (file_of({**MEMORY, "associations": [{}]}), "`associations`"),
    "an association to no id": (file_of({**MEMORY, "associations": ["x"]}), "`associations.0.target_id` must"),
    "too strong": (
        file_of({**MEMORY, "associations": [{"target_id": UNKNOWN, "strength": 2}]}),
        "`associations.0.strength` must",
    ),
    "NaN": (file_of({**MEMORY, "confidence": float("nan")}), "confidence|JSON|finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_does_not_fit_is_refused_whole_in_a_sentence(
    ana: Callable[..., Any], files: ExportFiles, name: str
) -> None:
    content, says = BAD[name]
    good = {"memory_id": "3f2b8c1e-9d4a-4f6b-8a2e-1c5d7e9f0a3b", "content": "fine"}
    if content.startswith(b'{"format_version": "1.0", "memories": [{'):
        content = content.replace(b"[{", b"[" + json.dumps(good).encode() + b", {", 1)
        says = says.replace("memory 0", "memory 1")
    files.write("bad.json", content)
    code, message = refusal(ana, "bad.json")
    assert code in ("invalid_input", "too_large")
    assert any(said in message for said in says.split("|")), message
    assert "\n" not in message
    assert message.endswith(".")
    assert records(ana) == {}


@pytest.mark.parametrize(
    "path",
    ["../a.json", "/etc/passwd", "a/../../b", "..\\a", ".hidden", "a//b", "é.json", "x" * 201, "a/b/c/d/e/f", " "],
)
@pytest.mark.parametrize("operation", ["export", "import"])
def test_a_path_that_leads_elsewhere_is_refused(
    ana: Callable[..., Any], files: ExportFiles, operation: str, path: str
) -> None:
    body = ana("associative.memory_sync", operation=operation, file_path=path).body
    assert body["error"]["code"] == "invalid_input"
    assert "`file_path`" in body["error"]["message"]
    assert files.names() == []


def test_one_users_files_are_nobody_elses(ana: Callable[..., Any], ben: Callable[..., Any]) -> None:
    stored(ana, LONG)
    exported(ana, file_path="a.json")
    assert refusal(ben, "a.json") == ("not_found", "No file `a.json` among the exported files.")


# "100 MB cap", both ways


@pytest.fixture
def cap(monkeypatch: pytest.MonkeyPatch) -> int:
    """A small cap: what holds for it holds for the real one."""
    assert exchange_file.MAX_FILE_BYTES == 100 * 1024 * 1024
    monkeypatch.setattr("steeltrap.engine.exchange_file.MAX_FILE_BYTES", 20_000)
    monkeypatch.setattr("steeltrap.engine.syncing.MAX_FILE_BYTES", 20_000)
    return 20_000


@pytest.mark.parametrize("compression", [False, True])
def test_an_export_over_the_cap_is_refused_and_leaves_no_file(
    ana: Callable[..., Any], files: ExportFiles, cap: int, compression: bool
) -> None:
    for i in range(3):
        stored(ana, f"{i} " + "otter " * 1500, allow_duplicates=True)
    body = ana("associative.memory_sync", operation="export", file_path="a.json", compression=compression).body
    assert body["error"]["code"] == "too_large"
    assert "scope by scope" in body["error"]["message"]
    assert files.names() == []


def test_an_import_over_the_cap_is_refused(ana: Callable[..., Any], files: ExportFiles, cap: int) -> None:
    files.write("a.json", file_of({**MEMORY, "metadata": {"a": "x" * cap}}))
    assert refusal(ana, "a.json")[0] == "too_large"


@pytest.mark.parametrize("packing", ["gzip", "base64", "many"])
def test_a_bomb_is_not_unpacked_beyond_the_cap(
    ana: Callable[..., Any], files: ExportFiles, cap: int, packing: str
) -> None:
    packed = gzip.compress(b" " * 1000) * 100 if packing == "many" else gzip.compress(b" " * 5_000_000)
    files.write("bomb", b"# Compressed\n" + base64.b64encode(packed) if packing == "base64" else packed)
    assert refusal(ana, "bomb")[0] == "too_large"


def test_without_a_place_for_files_it_says_what_to_use_instead(door: Door) -> None:
    without = replace(door, files=None)
    for arguments in ({"operation": "export"}, {"operation": "import", "file_path": "a.json"}):
        body = without.invoke("associative.memory_sync", arguments, Caller(UserRef("ana"))).body
        assert body["error"]["code"] == "unavailable"
        assert "core.export" in body["error"]["message"]


def told_by_core(ask: Callable[..., Any], tool: str, **arguments: Any) -> Any:
    result = ask(f"core.{tool}", **arguments)
    assert result.error is None, result.error
    return result.body


@pytest.mark.parametrize("strategy", ["overwrite", "merge_metadata"])
def test_an_undone_import_gives_what_it_changed_its_earlier_text_again(ana: Callable[..., Any], strategy: str) -> None:
    kept = told_by_core(ana, "save", content="The heron fishes at dawn.", scope="work", tags=["old"])["id"]
    also = told_by_core(ana, "save", content="The otter swims.", scope="work", tags=["old"])["id"]
    exported(ana, file_path="a.json", scope="work")
    for id, text in ((kept, "The heron fishes at noon."), (also, "The otter dives.")):
        told_by_core(ana, "update", id=id, content=text, tags=["new"])
    before = {id: told_by_core(ana, "get", id=id) for id in (kept, also)}
    imported(ana, "a.json", merge_strategy=strategy)
    [run] = told_by_core(ana, "list_imports")["imports"]
    assert (run["name"], run["written"], run["updated"]) == ("a.json", 0, 2)
    told_by_core(ana, "update", id=also, content="The otter sleeps.")
    undone = told_by_core(ana, "undo_import", id=run["id"])
    assert (undone["removed"], undone["restored"], [left["id"] for left in undone["left"]]) == (0, 1, [also])
    after = told_by_core(ana, "get", id=kept)
    assert [after[name] for name in ("content", "tags")] == [before[kept][name] for name in ("content", "tags")]
    assert "import_id" not in after
    assert told_by_core(ana, "get", id=also)["content"] == "The otter sleeps."
    assert ana("core.undo_import", id=run["id"]).error.code == "conflict"


def test_an_undone_import_takes_versions_and_new_memories_away(ana: Callable[..., Any]) -> None:
    kept = told_by_core(ana, "save", content="The heron fishes at dawn.", scope="work")["id"]
    exported(ana, file_path="a.json", scope="work")
    told_by_core(ana, "update", id=kept, content="The heron fishes at noon.")
    imported(ana, "a.json", merge_strategy="create_versions")
    imported(ana, "a.json", scope="copies")
    assert told_by_core(ana, "stats")["memories"] == 3
    for run in told_by_core(ana, "list_imports")["imports"]:
        assert told_by_core(ana, "undo_import", id=run["id"])["removed"] == 1
    [left] = told_by_core(ana, "list")["memories"]
    assert (left["id"], left.get("links")) == (kept, None)


def test_calls_of_one_import_id_are_one_import(ana: Callable[..., Any]) -> None:
    id = "00000000-0000-4000-8000-0000000000aa"
    for text in ("one", "two"):
        saved = told_by_core(ana, "save", content=f"Record {text}.")["id"]
        records = told_by_core(ana, "export")["records"]
        told_by_core(ana, "forget", id=saved)
        told_by_core(ana, "import", records=records, import_id=id)
    [run] = told_by_core(ana, "list_imports")["imports"]
    assert (run["id"], run["written"], run["skipped"], run["state"]) == (id, 2, 1, "complete")
    assert told_by_core(ana, "undo_import", id=id[:9])["removed"] == 2
    refused = (
        ana("core.import", records=[], import_id=id).error or ana("core.import", records=records, import_id=id).error
    )
    assert refused.code in ("conflict", "invalid_input")
    assert ana("core.import", records=records, import_id="notes-of-ana").error.code == "invalid_input"
