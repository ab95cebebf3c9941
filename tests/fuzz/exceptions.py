"""Exceptions to schemathesis's reports: no difference between the server and its document.

schemathesis loads this in its own environment, so it can't import steeltrap.
"""

import re
from typing import Any, Final

import jsonschema_rs
import schemathesis

REJECTED: Final = "ST202"
ACCEPTED: Final = "ST201"

RULES: Final = (
    # Between fields.
    r"Give `detail` or `detail_limit`, not both\.",
    r"give exactly one of: ",
    r"give `offset` or `max_tokens`, not both",
    r"give at least one message in `messages`, or `ended: true`",
    r"give what to change, besides the id",
    r"`version` goes with `id` only",
    r"`happened_after` and `happened_before` go with `order` \"happened\"\.",
    r"`deleted` goes with `limit` and `offset` only",
    r"`\w+` is for the operation '\w+' only",
    r"`\w+` is required for an? ",
    # About different ids, when an id and its start can be the same, or beside other fields.
    r"give 2 to 50 different memory ids to consolidate",
    r"An id is given twice; put each memory once\.",
    r"memory [0-9a-f-]+ is edited twice in one batch",
    # Of the memory tool, each of whose commands has arguments of its own.
    r"`\w+` (needs|takes) `",
    r"(Path|A path|The path) ",
    r"Invalid `(view_range|insert_line)` parameter",
    r"No replacement was performed",
    r"`old_str` must not be empty",
    r"Cannot (delete|rename) the /memories directory",
    # Among hundreds of names, or letters of every script, for which patterns aren't portable.
    r"No time zone is called ",
    r"`\w+` must be a path such as ",
    r"`file_path` must be a relative path such as ",
    r"`\w+` has a NUL character; leave it out\.",
    # The toolsets that take the place of others have their schemas to the letter, which don't say this.
    r"(`query`|query) must not be empty",
    r"Content cannot be empty",
    r"each tag must have 1 to 128 characters\.",
    r"`tags` must be a list of tags of 1 to 64 characters\.",
    r"top_k must be at least 1",
)
"""Sentences of rules that a JSON Schema, or the schema of another product, can't say."""


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether a failure is a difference between server and document."""
    if failure.code == REJECTED:
        return not any(re.match(rf"(Item \d+: )?{rule}", said) for rule in RULES for said in _sentences(response))
    if failure.code == ACCEPTED:
        return not (_is_refusal(response) or _fits_once_mended(case))
    return True


def _sentences(response: Any) -> list[str]:
    """The texts of an error, in whichever form its toolset has."""
    try:
        body = response.json()
    except ValueError:
        return [response.text]
    return list(_texts(body))


def _texts(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [text for value in node.values() for text in _texts(value)]
    return [node] if isinstance(node, str) else []


def _is_refusal(response: Any) -> bool:
    """Whether a 200 says that nothing, or not every item of a batch, was done."""
    if "x-steeltrap-error" in response.headers:
        return True
    try:
        body = response.json()
    except ValueError:
        return False
    return isinstance(body, dict) and bool(body.get("errors"))


def _fits_once_mended(case: Any) -> bool:
    """Whether a request fits the document when it is read as the server reads it, where the meaning is beyond doubt:
    the page on agents lists how slips of models are mended, and a blank header is none."""
    headers = {name: value for name, value in (case.headers or {}).items() if str(value).strip()}
    if case.media_type != "application/json" or "Content-Type" in headers:
        return False
    operation = case.operation.definition.raw
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    named = {parameter["name"]: parameter["schema"] for parameter in operation["parameters"]}
    return _fits(body, _mended(body, case.body)) and all(
        _fits(named[name], value) for name, value in headers.items() if name in named
    )


def _fits(schema: Any, value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


def _mended(schema: Any, value: Any) -> Any:
    """Without nulls for fields that may be left out, with one text as a list of one, and 0 and 1 as booleans."""
    if schema.get("type") == "object" and isinstance(value, dict):
        fields, required = schema.get("properties", {}), schema.get("required", ())
        return {
            name: _mended(fields.get(name, {}), item)
            for name, item in value.items()
            if not (item in (None, "null") and name in fields and name not in required)
        }
    if schema.get("type") == "boolean" and value in (0, 1):
        return bool(value)
    if schema.get("type") == "array":
        items = schema.get("items", {})
        if isinstance(value, str) and items.get("type") == "string":
            return [value]
        if isinstance(value, list):
            return [_mended(items, item) for item in value]
    return value
