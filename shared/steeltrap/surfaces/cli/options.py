"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Folder of the memories (STEELTRAP_DATA, else ~/.steeltrap)."),
]
User = Annotated[str | None, typer.Option("--user", metavar="ID", help="Whose memories (STEELTRAP_USER, else local).")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="ID", help="As which agent (STEELTRAP_AGENT, else default).")
]
Conversation = Annotated[str | None, typer.Option("--conversation", metavar="ID", help="In which conversation.")]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Toolset = Annotated[str | None, typer.Option("--toolset", metavar="NAME", help="One toolset, such as core or notes.")]
