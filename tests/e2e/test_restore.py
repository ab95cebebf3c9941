"""The drill of docs/operate.md: tables come back from a backup, a new stage adopts them, its index is built anew.

An emulator keeps no backups, so that items are copied here into tables as a restore makes them: with the indexes, and
without stream and time to live.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest
from infra.preflight import misfits
from infra.stage import Adopted, Stage

from components import opensearch_url
from contracts.dynamodb_stores import projecting_all
from e2e.deployment import Aws, Deployment, deployed_stage, eventually
from e2e.issuer import AUDIENCE, Issuer
from steeltrap.engine.upkeep import verify
from steeltrap.runtime.local import open_upkeep
from steeltrap.settings import read_settings
from steeltrap.stores.dynamodb.keys import TIME_TO_LIVE, memory_table, usage_table

KEPT = "The lighthouse on Skerry has 117 steps."
CHANGED = "The keeper is called Morag."


@pytest.fixture(scope="module")
def lost(stack: Deployment, issuer: Issuer) -> Mapping[str, str]:
    """Ids of memories saved before the disaster, by their fate."""
    token = issuer.token("restored")
    ids = {
        what: stack.call("core.save", token, content=text)[1]["id"]
        for what, text in (
            ("kept", KEPT),
            ("changed", "The keeper is called Ailsa."),
            ("deleted", "The boat leaves at noon."),
        )
    }
    assert stack.call("core.update", token, id=ids["changed"], content=CHANGED)[0] == 200
    assert stack.call("core.delete", token, id=ids["deleted"])[0] == 200
    return ids


@pytest.fixture(scope="module")
def adopted(aws: Aws, stack: Deployment, lost: Mapping[str, str]) -> Adopted:
    """Both tables restored, and mended as the preflight says."""
    dynamodb, name = aws.client("dynamodb"), f"restored-{uuid4().hex[:8]}"
    settings = stack.settings()
    key = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    memories = _restore(dynamodb, settings["STEELTRAP_MEMORY_TABLE"], projecting_all(memory_table(name)))
    _restore(dynamodb, settings["STEELTRAP_USAGE_TABLE"], usage_table(f"{name}-usage"))
    incomplete = Adopted(stream=f"{memories['TableArn']}/stream/none", usage=f"{name}-usage", key=key)
    said = " ".join(misfits(memory_table(name), memories, "DISABLED", incomplete))
    assert "no stream" in said
    assert "time-to-live" in said
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    dynamodb.update_table(TableName=name, StreamSpecification=stream)
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=TIME_TO_LIVE)
    told = dynamodb.describe_table(TableName=name)["Table"]["LatestStreamArn"]
    return incomplete.model_copy(update={"stream": told})


@pytest.fixture(scope="module")
def drill(aws: Aws, issuer: Issuer, adopted: Adopted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A new stage over the restored tables, all of its tools in one function."""
    stage = Stage(
        name="drill",
        store="aws",
        auth="jwt",
        issuer=issuer.url,
        audience=(AUDIENCE,),
        search="endpoint",
        endpoint=opensearch_url(),
        retain=False,
        adopt=adopted,
        index=f"e2e-{uuid4().hex[:8]}",
    )
    with deployed_stage(aws, stage, tmp_path_factory.mktemp("drill")) as made:
        answered = aws.client("lambda").invoke(
            FunctionName=made.outputs["ReindexFunction"], Payload=b'{"rebuild": true}'
        )
        told = json.loads(answered["Payload"].read())
        assert (told["switched"], told["refused"]) == (True, 0), told
        yield made
    assert aws.client("dynamodb").describe_table(TableName=adopted.memories)["Table"]["TableStatus"] == "ACTIVE"


def test_restored_memories_are_found_as_they_were(drill: Deployment, issuer: Issuer, lost: Mapping[str, str]) -> None:
    token = issuer.token("restored")
    for what, text in (("kept", KEPT), ("changed", CHANGED)):
        status, found = drill.call("core.search", token, query=text)
        assert status == 200, found
        assert (found["results"][0]["id"], found["results"][0]["content"]) == (lost[what], text)
        assert found["outcome"]["kind"] == "found"
    assert drill.call("core.get", token, id=lost["changed"])[1]["version"] == 2
    assert drill.call("core.get", token, id=lost["deleted"])[0] == 404
    assert drill.call("core.undo", token, id=lost["deleted"])[0] == 200


def test_a_restored_stage_s_index_is_as_its_tables(drill: Deployment, adopted: Adopted) -> None:
    settings = drill.settings()
    assert settings["STEELTRAP_MEMORY_TABLE"] == adopted.memories
    given = settings | {"STEELTRAP_DYNAMODB_URL": drill.aws.url, "STEELTRAP_OPENSEARCH_URL": drill.opensearch}
    with pytest.MonkeyPatch.context() as shell:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            shell.setenv(name, "test")
        shell.setenv("AWS_DEFAULT_REGION", "us-east-1")
        upkeep = open_upkeep(read_settings(given))
        users = list(upkeep.truth.users())
        assert users
        # What the test before undid comes by the stream.
        eventually(lambda: not list(verify(upkeep.truth, upkeep.index, users, pause=lambda _: None)))
        upkeep.close()


def test_what_is_saved_after_a_restore_comes_into_the_index(drill: Deployment, issuer: Issuer) -> None:
    _, saved = drill.call("core.save", issuer.token("afterwards"), content="The lamp was lit again.")
    _, with_words = eventually(lambda: drill.indexed("afterwards", saved["id"]))
    assert with_words


def _restore(dynamodb: Any, source: str, words: dict[str, Any]) -> Any:
    """A table as a point-in-time restore makes it, and what describes it."""
    bare = {name: value for name, value in words.items() if name != "StreamSpecification"}
    dynamodb.create_table(**bare)
    for page in dynamodb.get_paginator("scan").paginate(TableName=source):
        for item in page["Items"]:
            dynamodb.put_item(TableName=words["TableName"], Item=item)
    return dynamodb.describe_table(TableName=words["TableName"])["Table"]
