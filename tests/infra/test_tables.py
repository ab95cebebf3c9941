"""Parts of a deployed stage that can't be changed: CloudFormation would put something empty in their place."""

import json
from pathlib import Path
from typing import Any

import pytest
from infra.protect import HOLDING
from synthesised import template

from steeltrap.stores.dynamodb.keys import memory_table, usage_table

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("tables.json").read_text())
WHY = (
    "A table's keys and local indexes are fixed when it is made: a deployment that changes them would replace the "
    "table by an empty one, and the stack policy would refuse it. Add a global index instead, or attributes without an "
    "index. If nothing is deployed that must be kept, write the new form into tests/infra/tables.json."
)
WHICH = (
    "The name of a construct that holds memories changed, so a deployment would make a new one beside it, empty. Give "
    "it the name that it had."
)


@pytest.mark.parametrize("words", [memory_table("memories"), usage_table("usage")], ids=["memories", "usage"])
def test_a_deployment_never_replaces_a_table(words: dict[str, Any]) -> None:
    fixed = {name: words.get(name, []) for name in ("KeySchema", "LocalSecondaryIndexes")}
    kinds = {one["AttributeName"]: one["AttributeType"] for one in words["AttributeDefinitions"]}
    keys = {key["AttributeName"] for each in (words, *fixed["LocalSecondaryIndexes"]) for key in each["KeySchema"]}
    fixed["Keys"] = {name: kinds[name] for name in sorted(keys)}
    assert fixed == GOLDEN[words["TableName"]], WHY


def test_a_deployment_makes_no_second_table_bucket_or_key_beside_the_first() -> None:
    holding = sorted(id for id, one in template("domain").resources.items() if one["Type"] in HOLDING)
    assert holding == GOLDEN["holding"], WHICH
