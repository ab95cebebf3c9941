"""MCP's prompts: what a person picks from a menu to have a model use its memory."""

from collections.abc import Mapping
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPError

_USE: Final = "use_memory"
_KNOW: Final = "what_do_you_know"

PROMPTS: Final = (
    types.Prompt(
        name=_USE,
        title="Use memory well",
        description="Have the model look things up before it answers, and save what will matter later.",
    ),
    types.Prompt(
        name=_KNOW,
        title="What do you know about ...?",
        description="Have the model tell what it remembers about a subject.",
        arguments=[
            types.PromptArgument(name="topic", description="A person, project or subject.", required=True),
        ],
    ),
)


def get_prompt(instructions: str, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """A prompt in full. `instructions` are those of the toolset that is served. Raises MCPError for an unknown prompt,
    or one without an argument that it needs."""
    known = {prompt.name: prompt for prompt in PROMPTS}
    if name not in known:
        raise MCPError(types.INVALID_PARAMS, f"There is no prompt `{name}`; there are: {', '.join(known)}.")
    if name == _USE:
        text = f"In this conversation, use your memory tools as follows.\n\n{instructions}"
    else:
        topic = arguments.get("topic", "").strip()
        if not topic:
            raise MCPError(types.INVALID_PARAMS, f"The prompt `{name}` needs the argument `topic`.")
        text = (
            f"Search your memory for everything about this subject: {topic}\n\n"
            "Try a few different queries. Then tell me what you found, with dates, and what was corrected later. If "
            "you found nothing, say so, and add nothing that you did not find there."
        )
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=known[name].description, messages=[message])
