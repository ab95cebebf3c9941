"""An agent's loop with function calling: the model chooses tools, the loop runs them and hands back their answers.

    python examples/agent_loop.py

The schemas and the loop are those for any API that is compatible with OpenAI's chat completions. The model here is
scripted, so that the example needs no key; the comment in `main` shows the call that replaces it.

It prints:

    the model is offered: memory_search, memory_save, memory_update, memory_delete
    the model gets an answer of memory_save
    the model gets an error: `top_k` must be an integer; got 'many'.
    the model gets an answer of memory_search
    agent: You asked me to remember it: your flight to Porto is on 3 May.
"""

import json
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

from steeltrap import open_memory
from steeltrap.client.in_process import Memory
from steeltrap.errors import SteeltrapError
from steeltrap.servers.schemas import schemas
from steeltrap.toolsets import CATALOGUE

TOOLSET = CATALOGUE.toolset("notes")
TOOLS = schemas(TOOLSET, "openai")  # or "anthropic", "bedrock"


def run_tool(memory: Memory, name: str, arguments: str) -> str:
    """What the model is told of a call. An error is an answer too: its sentence says how to mend the call."""
    try:
        answer = memory.call(f"{TOOLSET.name}.{name}", **json.loads(arguments))
    except SteeltrapError as error:
        print("the model gets an error:", error.message)
        return json.dumps({"error": error.message})
    print("the model gets an answer of", name)
    return json.dumps(answer)


def main() -> None:
    model = scripted()
    print("the model is offered:", ", ".join(tool["function"]["name"] for tool in TOOLS))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": TOOLSET.instructions},
        {"role": "user", "content": "My flight to Porto is on 3 May. And when do I fly?"},
    ]
    # The user comes from your application, never from the model.
    with TemporaryDirectory() as folder, open_memory(folder, user="ana") as memory:
        while True:
            # client.chat.completions.create(model=..., messages=messages, tools=TOOLS).choices[0].message.to_dict()
            message = next(model)
            messages.append(message)
            if "tool_calls" not in message:
                print("agent:", message["content"])
                return
            for call in message["tool_calls"]:
                name, arguments = call["function"]["name"], call["function"]["arguments"]
                answer = run_tool(memory, name, arguments)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})


def scripted() -> Iterator[dict[str, Any]]:
    """A model that always says the same, a wrong call included."""
    yield calling("memory_save", content="Ana's flight to Porto is on 3 May.")
    yield calling("memory_search", query="When does Ana fly?", top_k="many")
    yield calling("memory_search", query="When does Ana fly?")
    yield {"role": "assistant", "content": "You asked me to remember it: your flight to Porto is on 3 May."}


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "tool_calls": [{"id": f"call-{name}", "type": "function", "function": function}]}


if __name__ == "__main__":
    main()
