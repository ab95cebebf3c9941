"""Calls that models get wrong, written down: taken where the meaning is beyond doubt, else refused so that a second
call can be right.

`malformed_calls.jsonl` has one call per line: what was `sent`, and either what was `meant` or the `field` that the
refusal must name.
"""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from steeltrap import arguments
from steeltrap.errors import InvalidInput
from steeltrap.tools import Tool
from steeltrap.toolsets import CATALOGUE

CALLS = [json.loads(line) for line in (Path(__file__).parent / "malformed_calls.jsonl").read_text().splitlines()]
TAKEN = [call for call in CALLS if "meant" in call]
REFUSED = [call for call in CALLS if "field" in call]


def shown(call: dict[str, Any]) -> str:
    return f"{call['tool']} {json.dumps(call['sent'], ensure_ascii=False)}"[:80]


def refusal(tool: Tool, sent: Any) -> str | None:
    try:
        arguments.read(tool, sent)
    except InvalidInput as refused:
        return refused.message
    return None


@pytest.mark.parametrize("call", TAKEN, ids=shown)
def test_what_is_meant_beyond_doubt_is_taken(call: dict[str, Any]) -> None:
    tool = CATALOGUE.tool(call["tool"])
    assert arguments.read(tool, call["sent"]) == arguments.read(tool, call["meant"])


@pytest.mark.parametrize("call", REFUSED, ids=shown)
def test_a_refusal_names_the_field_and_quotes_the_right_form(call: dict[str, Any]) -> None:
    message = refusal(CATALOGUE.tool(call["tool"]), call["sent"])
    assert message is not None
    assert message.startswith(f"`{call['field']}` ")
    assert re.search(r" must be | is required: give |did you mean `| takes `| takes no arguments", message), message
    assert "\n" not in message


def test_most_malformed_calls_are_taken_and_nearly_all_others_are_mended_by_a_second_call() -> None:
    mended = [call for call in REFUSED if is_mended(call)]
    not_mended = sorted(shown(call) for call in REFUSED if call not in mended)
    assert (len(CALLS), len(TAKEN), len(REFUSED), len(mended)) == (215, 130, 85, 81)
    assert not_mended == NOT_MENDED


NOT_MENDED = [
    'core.batch_save {"items": "x"}',
    'core.batch_save {"items": []}',
    'core.batch_save {"items": [{"content": "x"}, "y"]}',
    'core.search {"query": "tea", "Limit": 3, "LIMIT": 4}',
]
"""Calls that are still wrong after the second one did only what the refusal of the first one said."""


def is_mended(call: dict[str, Any]) -> bool:
    tool = CATALOGUE.tool(call["tool"])
    message = refusal(tool, call["sent"])
    assert message is not None
    return refusal(tool, corrected(call["sent"], message)) is None


def corrected(sent: Any, message: str) -> Any:
    """The call that a model makes which does to the letter what a refusal says, and nothing else."""
    second = deepcopy(sent)
    path = message[1:].partition("`")[0].split(".")
    at = second
    for part in path[:-1]:
        at = at[int(part) if isinstance(at, list) else part]
    last: Any = int(path[-1]) if isinstance(at, list) else path[-1]
    if found := re.search(r"did you mean `(\w+)`", message):
        at[found[1]] = at.pop(last)
    elif found := re.search(r"is not a field here; .* takes (.*)\.", message):
        value, fields = at.pop(last), re.findall(r"`(\w+)`", found[1])
        needed = [name for name in re.findall(r"`(\w+)` \(required\)", found[1]) if name not in at]
        if needed and len(needed) <= 1 and fields:
            at[needed[0]] = value
    else:
        form = re.search(r"(?: is required: give | must be )(.*?)(?:; got |\.$)", message)
        assert form is not None, message
        at[last] = example(form[1])
    return second


def example(form: str) -> Any:
    """A value of the form that a refusal quotes."""
    if found := re.match(r"one of '([^']*)'", form):
        return found[1]
    if found := re.search(r"a time such as '([^']*)'", form):
        return found[1]
    if form.startswith(("an integer", "a number")):
        return int(next(iter(re.findall(r"-?\d+", form)), "1"))
    if form.startswith("true or false"):
        return True
    if form.startswith("a list"):
        return ["text"]
    return {} if form.startswith("a JSON object") else "text"
