"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FOLDER", help="Folder where memories are stored (STEELTRAP_DATA, else ~/.steeltrap)."
    ),
]
User = Annotated[str | None, typer.Option("--user", metavar="ID", help="The user's id (STEELTRAP_USER, else local).")]
Agent = Annotated[
    str | None, typer.Option("--agent", metavar="ID", help="The agent's id (STEELTRAP_AGENT, else default).")
]
Conversation = Annotated[str | None, typer.Option("--conversation", metavar="ID", help="The conversation's id.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The memory's id, or the start that an agent shows.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Toolset = Annotated[
    str | None, typer.Option("--toolset", metavar="NAME", help="Only this toolset, such as core or notes.")
]
