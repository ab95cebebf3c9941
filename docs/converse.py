"""Plays a dialect's scripted conversation against a running steeltrap, over HTTP or MCP, and prints it.

`python docs/converse.py http://127.0.0.1:8765/v1/notes` calls each tool by POST,
`python docs/converse.py http://127.0.0.1:8765/mcp/notes` the same by an MCP client. The script is
`conversations/{toolset}.json`: a list of `{"says", "tool", "arguments"}`. In the arguments `$2.id` stands
for the field `id` of the second answer, or for the first `[id]` where that is a text, and `$ago 2 days` for that time.
"""

import argparse
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "conversations"

Call = Callable[[str, dict[str, Any]], tuple[str, Any]]
"""Calls a tool; answers what stands before the answer (a status, `isError`) and the answer."""

_ANSWERED = re.compile(r"\$(\d+)\.(\w+)")
_SHOWN_ID = re.compile(r"\[([0-9a-f-]{8,36})\]")
_AGO = re.compile(r"\$ago (\d+) (minutes|hours|days)")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("url", help="where the toolset is served, such as http://127.0.0.1:8765/v1/notes")
    url = arguments.parse_args().url.rstrip("/")
    steps = json.loads((SCRIPTS / f"{url.rsplit('/', 1)[-1]}.json").read_text())
    if "/mcp/" in url:
        over_mcp(url, steps)
    else:
        play(steps, lambda tool, given: post(f"{url}/{tool}", given), verb="POST")


def play(steps: list[dict[str, Any]], call: Call, *, verb: str) -> None:
    """Call every tool in turn and print what was sent and what came back."""
    answers: list[Any] = []
    for step in steps:
        if "says" in step:
            print(f"# {step['says']}")
        given = filled(step["arguments"], answers)
        print(f"{verb} {step['tool']} {json.dumps(given, ensure_ascii=False)}")
        sign, answer = call(step["tool"], given)
        answers.append(answer)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        print(f"{sign}{text}\n")


def filled(value: Any, answers: list[Any]) -> Any:
    """The arguments with `$2.id` and `$ago 2 days` put in."""
    if isinstance(value, dict):
        return {name: filled(item, answers) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, answers) for item in value]
    if not isinstance(value, str):
        return value
    if found := _AGO.fullmatch(value):
        return (datetime.now(UTC) - timedelta(**{found[2]: int(found[1])})).isoformat(timespec="seconds")
    return _ANSWERED.sub(lambda found: str(field(answers[int(found[1]) - 1], found[2])), value)


def field(answer: Any, name: str) -> Any:
    """The first value of that name, at any depth."""
    if isinstance(answer, str) and (shown := _SHOWN_ID.search(answer)):
        return shown[1]
    below = answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else ()
    if isinstance(answer, dict) and name in answer:
        return answer[name]
    return next((found for item in below if (found := field(item, name)) is not None), None)


def post(url: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    """Call over HTTP; an error's status stands before its body."""
    request = urllib.request.Request(
        url, json.dumps(arguments).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answered:
            return "", read(answered.read().decode())
    except urllib.error.HTTPError as refused:
        with refused:
            return f"{refused.code} ", read(refused.read().decode())


def over_mcp(url: str, steps: list[dict[str, Any]]) -> None:
    """Play through an MCP client, as an agent has one."""
    import anyio.from_thread
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(streamable_http_client(url))) as client,
    ):

        def call(tool: str, arguments: dict[str, Any]) -> tuple[str, Any]:
            result = portal.call(client.call_tool, tool, arguments)
            return "isError " if result.is_error else "", read(result.content[0].text)

        play(steps, call, verb="tools/call")


def read(text: str) -> Any:
    """JSON as what it stands for, any other text as it is."""
    return json.loads(text) if text.startswith(("{", "[")) else text


if __name__ == "__main__":
    main()
