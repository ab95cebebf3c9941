"""From the table into the index on the real parts: replays, disorder, poison and outages."""

import base64
import json
import logging
import random
from collections.abc import Callable
from contextlib import closing
from typing import Any

import boto3
import pytest

from contracts.entries import found as ids_of
from contracts.entries import save, search, vector
from faults.indexing_homes import NOWHERE, SECONDS, Home, RealParts, Records, story
from spaces import space_of
from steeltrap.engine.upkeep import mend
from steeltrap.model import UserRef
from steeltrap.ports import DeadLetter
from steeltrap.runtime import aws as runtime_aws
from steeltrap.servers.aws_lambda.stream import stream_handler
from steeltrap.stores.dynamodb.stream import DeadLetterQueue


def _shuffled(records: Records) -> Records:
    return random.Random(7).sample(records, len(records))


# Replays and disorder


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(lambda records: records, id="once"),
        pytest.param(lambda records: [*records, *records], id="from the beginning again"),
        pytest.param(lambda records: records[::-1], id="backwards"),
        pytest.param(_shuffled, id="shuffled"),
        pytest.param(lambda records: [each for one in _shuffled(records) for each in (one, one)], id="doubled"),
    ],
)
def test_in_whatever_order_and_however_often_records_come_the_index_is_as_the_table(
    home: Home, order: Callable[[Records], Records]
) -> None:
    expected = story(home)
    for record in order(home.records()):
        assert home.take([record]) == []
    assert home.held() == expected
    assert home.differences() == {}


def test_a_batch_of_everything_shuffled_is_as_good_as_one_record_after_the_other(home: Home) -> None:
    expected = story(home)
    assert home.take(_shuffled(home.records())) == []
    assert home.held() == expected


def test_a_delete_that_comes_before_its_creation_is_kept(home: Home) -> None:
    memory = save(home.space, "the heron")
    home.space.purge([memory.id])
    records = home.of(memory.id)
    assert home.take(records[-1:]) == []
    assert home.take(records[:1]) == []
    assert home.held() == {memory.id: False}
    assert home.found_by_the_index("heron") == set()


def test_an_old_creation_that_is_replayed_when_the_index_has_forgotten_its_deletes_brings_nothing_back(
    home: Home,
) -> None:
    memory = save(home.space, "the heron")
    [created] = home.of(memory.id)
    assert home.take([created]) == []
    home.space.purge([memory.id])
    assert home.take(home.of(memory.id)) == []
    assert home.held() == {memory.id: False}  # refreshed: versions of deletes older than 1 ms are forgotten
    assert home.take([created]) == []
    assert home.held() == {memory.id: False}
    assert home.found_by_the_index("heron") == set()


def test_an_id_that_is_written_again_after_a_forget_is_found_whatever_is_replayed(home: Home) -> None:
    memory = save(home.space, "the heron")
    home.space.purge([memory.id])
    home.clock.advance(seconds=1)
    save(home.space, "an otter", id=memory.id)
    records = home.of(memory.id)
    assert home.take(records) == []
    assert home.take(records[:-1][::-1]) == []
    assert home.held() == {memory.id: True}
    assert home.found_by_the_index("otter") == {memory.id}
    assert home.found_by_the_index("heron") == set()


# What the index permanently rejects, and what it can't accept now


def _spoilt(record: dict[str, Any]) -> dict[str, Any]:
    image = {**record["dynamodb"]["NewImage"], "image": {"S": '{"content": "the secret zebra'}}
    return {**record, "dynamodb": {**record["dynamodb"], "NewImage": image}}


def test_a_record_that_can_not_be_read_becomes_a_dead_letter_without_its_text_and_the_others_are_indexed(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    poison, fine = save(home.space, "the secret zebra"), save(home.space, "the heron")
    records = [_spoilt(home.of(poison.id)[0]), *home.of(fine.id)]
    with caplog.at_level(logging.DEBUG, "steeltrap"):
        assert home.take(records) == []
    assert home.held() == {fine.id: True}
    assert poison.id in caplog.text
    assert "zebra" not in caplog.text
    assert home.differences() == {"missing": 1}
    assert mend(home.truth, home.parts.upkeep, home.key).written == 2
    assert home.found_without_refresh("zebra") == {poison.id}
    assert home.differences() == {}


def test_a_memory_that_the_index_rejects_becomes_a_dead_letter_and_the_rest_is_indexed(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    fine = save(home.space, "the heron")
    narrow = save(home.space, "the secret zebra", vectors=[vector(1)[:8]])
    assert home.take(home.records()) == []
    assert home.held() == {fine.id: True}
    assert narrow.id in caplog.text
    assert "mapper_parsing_exception" in caplog.text
    assert "zebra" not in caplog.text
    home.store.forget_user(UserRef(home.name))  # an index that is built anew would refuse it too


def test_a_dead_letter_goes_to_the_queue_with_what_a_replay_needs(parts: RealParts) -> None:
    from moto import mock_aws

    with mock_aws(), closing(boto3.client("sqs")) as client:
        url = client.create_queue(QueueName="dead-letters")["QueueUrl"]
        DeadLetterQueue(url)(DeadLetter(user="u", id="i", index_version=7, error="mapper_parsing_exception"))
        [message] = client.receive_message(QueueUrl=url)["Messages"]
        body = {"user": "u", "id": "i", "index_version": 7, "error": "mapper_parsing_exception"}
        assert json.loads(message["Body"]) == body


def test_a_change_whose_dead_letter_can_not_be_sent_is_retried(home: Home) -> None:
    poison, fine = save(home.space, "a"), save(home.space, "b")
    spoilt = _spoilt(home.of(poison.id)[0])
    settings = home.parts.settings.with_values(index_dead_letter_queue=f"{NOWHERE}/1/dead-letters")
    following = runtime_aws.open_indexer(settings)
    assert following.take([spoilt, *home.of(fine.id)], timeout=SECONDS) == [spoilt["dynamodb"]["SequenceNumber"]]
    following.close()
    assert home.held() == {fine.id: True}


def test_what_is_saved_while_the_index_is_down_is_found_at_once_and_indexed_later(home: Home) -> None:
    settings = home.parts.settings.with_values(opensearch_url=NOWHERE)
    store = runtime_aws.open_store(settings, home.parts.embedder, home.clock)
    memory = save(space_of(store, home.name), "the heron")
    matches = search(space_of(store, home.name), "heron")
    store.close()
    assert ids_of(matches) == {memory.id}
    assert matches.degraded is not None
    records = home.records()
    following = runtime_aws.open_indexer(settings)
    again = following.take(records, timeout=SECONDS)
    following.close()
    assert again == [each["dynamodb"]["SequenceNumber"] for each in home.of(memory.id)]
    assert home.take(records) == []
    assert home.found_by_the_index("heron") == {memory.id}


# The function, and following without one


def _as_lambda_has_it(record: Any) -> Any:
    if isinstance(record, dict):
        return {key: _as_lambda_has_it(value) for key, value in record.items()}
    return base64.b64encode(record).decode() if isinstance(record, bytes) else record


def test_the_function_indexes_an_event_of_the_stream_and_reports_only_what_may_pass_later(home: Home) -> None:
    memory = save(home.space, "the heron")
    records = json.loads(json.dumps([_as_lambda_has_it(each) for each in home.records()], default=str))
    down = runtime_aws.open_indexer(home.parts.settings.with_values(opensearch_url=NOWHERE))
    reported = stream_handler(open=lambda: down)({"Records": records}, None)
    down.close()
    place = home.of(memory.id)[0]["dynamodb"]["SequenceNumber"]
    assert reported == {"batchItemFailures": [{"itemIdentifier": place}]}
    assert stream_handler(open=lambda: home.following)({"Records": records}, None) == {"batchItemFailures": []}
    assert home.found_by_the_index("heron") == {memory.id}


def test_following_the_stream_to_its_end_indexes_everything_and_may_be_begun_anew(home: Home) -> None:
    expected = story(home)
    zebra = save(home.space, "the zebra")
    assert home.following.drain() >= len(home.records())
    assert home.found_without_refresh("zebra") == {zebra.id}
    expected |= {zebra.id: True}
    assert home.held() == expected
    assert home.following.drain() >= len(home.records())
    assert home.held() == expected
    assert home.differences() == {}
