"""Levels of a model are learned once, by one process for all that share a table."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from clock import SettableClock
from contracts.bedrock_server import COHERE, TITAN, BedrockServer
from contracts.dynamodb_stores import emulated, tables
from contracts.test_bedrock import serving
from spaces import in_time
from steeltrap.embedders.bedrock import BedrockEmbedder
from steeltrap.embedders.calibration import PROBES
from steeltrap.errors import Unavailable
from steeltrap.ports import Calibrating, Levels
from steeltrap.runtime import SystemClock
from steeltrap.runtime import aws as runtime_aws
from steeltrap.settings import Settings
from steeltrap.stores.dynamodb.client import Connect, Tables
from steeltrap.stores.dynamodb.users import PARTITION, DynamoLevels

LEVELS = Levels(dimension=1024, unrelated=0.1, unrelated_japanese=0.4, novel=0.5, slope=0.05)


@pytest.fixture
def both() -> Iterator[tuple[BedrockServer, Any]]:
    with serving() as made:
        yield made


@pytest.fixture
def table() -> Iterator[tuple[Connect, Tables]]:
    with emulated() as connect, tables(connect, fetches=False) as names:
        made = Tables(connect, *names, SystemClock())
        yield connect, made
        made.close()


def _function(both: tuple[BedrockServer, Any], table: Tables, model: str = TITAN, **options: Any) -> BedrockEmbedder:
    """The embedder of a function that has just started."""
    embedder = BedrockEmbedder(model, connect=lambda: both[1], **options)
    embedder.share_levels(DynamoLevels(table))
    return embedder


def _embedded(both: tuple[BedrockServer, Any], embedder: BedrockEmbedder) -> int:
    """How many texts the model embeds for one."""
    before = len(both[0].embedded)
    embedder.embed(["tea"], purpose="document", timeout=10)
    return len(both[0].embedded) - before


def test_only_the_first_function_of_a_stage_has_its_model_embed_the_texts_to_calibrate_with(
    both: tuple[BedrockServer, Any], table: tuple[Connect, Tables]
) -> None:
    first, second = _function(both, table[1]), _function(both, table[1])
    assert _embedded(both, first) == len(PROBES) + 1
    assert _embedded(both, second) == 1
    assert _levels(second) == _levels(first)
    third = _function(both, table[1])
    assert _levels(third) == _levels(first)
    assert _embedded(both, third) == 1


@pytest.mark.parametrize(
    "other",
    [{"model": COHERE}, {"dimension": 256}, {"document_prefix": "passage: "}, {"unrelated": 0.3}],
    ids=lambda options: next(iter(options)),
)
def test_what_levels_depend_on_gives_levels_of_their_own(
    both: tuple[BedrockServer, Any], table: tuple[Connect, Tables], other: dict[str, Any]
) -> None:
    _function(both, table[1]).unrelated  # noqa: B018 - reading it learns it
    asked = _function(both, table[1], **other)
    asked.novel  # noqa: B018
    found = table[1].items(PARTITION, "k > :first", {":first": " "}, in_time(10), TableName=table[1].usage)
    assert len(list(found)) == 2


def test_given_levels_stay_as_they_are(both: tuple[BedrockServer, Any], table: tuple[Connect, Tables]) -> None:
    for _ in range(2):
        embedder = _function(both, table[1], unrelated=0.3)
        assert embedder.novel >= embedder.unrelated == 0.3


class _Failing:
    def __init__(self) -> None:
        self.asked = 0

    def read(self, key: str) -> Levels | None:
        self.asked += 1
        raise Unavailable("The memory store did not answer in time; try again.", part="store")

    def write(self, key: str, levels: Levels) -> None:
        raise Unavailable("The memory store did not answer in time; try again.", part="store")


def test_a_table_that_does_not_answer_keeps_nobody_from_embedding(
    both: tuple[BedrockServer, Any], caplog: pytest.LogCaptureFixture
) -> None:
    failing = _Failing()
    embedder = BedrockEmbedder(TITAN, connect=lambda: both[1])
    embedder.share_levels(failing)
    with caplog.at_level(logging.WARNING, "steeltrap"):
        assert _embedded(both, embedder) == len(PROBES) + 1
    assert _embedded(both, embedder) == 1
    assert failing.asked == 1
    assert "can't be read" in caplog.text
    assert "can't be kept" in caplog.text


@pytest.mark.parametrize(
    "written",
    [
        "",
        "[]",
        '{"dimension": 1024, "unrelated": 0.1, "unrelated_japanese": 0.4, "novel": 0.5}',
        '{"more": 1}',
    ],
    ids=["nothing", "no object", "without a slope", "other names"],
)
def test_what_another_version_wrote_is_learned_anew(table: tuple[Connect, Tables], written: str) -> None:
    connect, made = table
    client = connect(3.0)
    client.put_item(TableName=made.usage, Item={"u": {"S": PARTITION}, "k": {"S": "x"}, "levels": {"S": written}})
    client.close()
    shared = DynamoLevels(made)
    assert shared.read("x") is None
    shared.write("x", LEVELS)
    assert shared.read("x") == LEVELS


def test_the_cloud_s_store_shares_the_levels_of_its_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    shared: list[object] = []
    monkeypatch.setattr(BedrockEmbedder, "share_levels", lambda self, place: shared.append(place))
    embedder = BedrockEmbedder()
    assert isinstance(embedder, Calibrating)
    settings = Settings(store="aws", opensearch_url="http://127.0.0.1:1")
    runtime_aws.open_store(settings, embedder, SettableClock()).close()
    [place] = shared
    assert isinstance(place, DynamoLevels)


def _levels(embedder: BedrockEmbedder) -> tuple[float, ...]:
    return embedder.unrelated, embedder.unrelated_japanese, embedder.novel, embedder.slope
