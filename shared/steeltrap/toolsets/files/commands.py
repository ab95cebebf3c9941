"""files: memory, with its commands view, create, str_replace, insert, delete and rename."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Annotated, Final, Literal

from pydantic import Field

from ...engine import files
from ...engine.call import Call
from ...engine.secrets import redaction_notice
from ...errors import InvalidInput, counted
from ...model import MAX_FILE_BYTES
from ...text.file_paths import ROOT, resolved, size_text
from ...text.schemas import MaxBytes
from ...tools import Input
from . import FILES

_MAX_PATH: Final = 4096
_WIDTH: Final = 6
"""Characters that the number of a line takes, at least."""
_CONTEXT: Final = 2
"""Lines that a snippet shows before and after the first one that changed."""
_LEVELS: Final = 2
_LISTED_LINES: Final = 100

Command = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
Path = Annotated[str, MaxBytes(_MAX_PATH)]
Text = Annotated[str, MaxBytes(MAX_FILE_BYTES)]

_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}
"""The arguments that each command needs."""
_OPTIONAL: Final = {"view": ("view_range",)}


class MemoryInput(Input):
    command: Command = Field(description="What to do.")
    path: Path | None = Field(
        None, description="The file, such as /memories/preferences.md; for view and delete also a directory."
    )
    view_range: list[int] | None = Field(
        None, min_length=2, max_length=2, description="view: the first and the last line to show; -1 is the last one."
    )
    file_text: Text | None = Field(None, description="create: the text of the new file.")
    old_str: Text | None = Field(None, description="str_replace: the text to replace, which must be there once.")
    new_str: Text | None = Field(None, description="str_replace: the text to put in its place.")
    insert_line: int | None = Field(None, description="insert: the line after which to insert; 0 is the beginning.")
    insert_text: Text | None = Field(None, description="insert: the text to insert.")
    old_path: Path | None = Field(None, description="rename: the file or directory to rename.")
    new_path: Path | None = Field(None, description="rename: its new path.")

    def text_of(self, name: str) -> str:
        return str(getattr(self, name))

    def check(self) -> None:
        """Raises InvalidInput for a missing argument, and for one of another command."""
        required = _ARGUMENTS[self.command]
        names = [name for name in type(self).model_fields if getattr(self, name) is not None]
        for name in required:
            if name not in names:
                raise InvalidInput(f"`{self.command}` needs {_listed(required)}; `{name}` is missing.")
        for name in names:
            if name not in ("command", *required, *_OPTIONAL.get(self.command, ())):
                raise InvalidInput(f"`{self.command}` takes {_listed(required)}; leave out `{name}`.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@FILES.tool(
    "files",
    "write",
    needs="index",
    timeout=30.0,
    media="text/plain",
    destructive=True,
    examples=(
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": "/memories/preferences.md", "file_text": "The user is vegetarian.\n"},
        {"command": "view", "path": "/memories/preferences.md", "view_range": [1, 10]},
        {
            "command": "str_replace",
            "path": "/memories/preferences.md",
            "old_str": "is vegetarian",
            "new_str": "is vegan",
        },
        {"command": "insert", "path": "/memories/preferences.md", "insert_line": 1, "insert_text": "Likes jazz.\n"},
        {"command": "rename", "old_path": "/memories/preferences.md", "new_path": "/memories/user/preferences.md"},
        {"command": "delete", "path": "/memories/user"},
    ),
)
def memory(call: Call, input: MemoryInput) -> str:
    """Read and write files of long-term memory in /memories: view a file or directory, create a file, replace or
    insert text, delete or rename. View /memories before you begin a task, and write down what later conversations
    need."""
    input.check()
    answer = _COMMANDS[input.command](call, input)
    notice = redaction_notice(call.redacted)
    return answer if notice is None else f"{answer}\n{notice}"


def _view(call: Call, input: MemoryInput) -> str:
    path = resolved(input.text_of("path"))
    file = None if path == ROOT else files.read_file(call, path)
    if file is not None:
        first, lines = _range(file.text.split("\n"), input.view_range)
        return "\n".join([f"Here's the content of {input.path} with line numbers:", *_numbered(lines, first)])
    below = list(files.files_below(call, path))
    if not below and path != ROOT:
        raise files.missing(path, " Please provide a valid path.")
    header = f"Here're the files and directories up to {_LEVELS} levels deep in {path}, excluding hidden items:"
    return "\n".join([header, *_listing(path, below)])


def _range(lines: list[str], bounds: list[int] | None) -> tuple[int, list[str]]:
    """The number of the first line to show, and the lines."""
    if bounds is None:
        return 1, lines
    first, last = max(1, bounds[0]), len(lines) if bounds[1] == -1 else bounds[1]
    if last < first or first > len(lines):
        raise InvalidInput(
            f"Invalid `view_range` parameter: {bounds}. It should be [start, end] with 1 <= start <= end, and the file "
            f"has {counted(len(lines), 'line', 'lines')}; an `end` of -1 is the last one."
        )
    return first, lines[first - 1 : last]


def _numbered(lines: list[str], first: int) -> list[str]:
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _listing(directory: str, below: list[files.File]) -> list[str]:
    """The sizes of the directory and of what is up to two levels below it, in the order of a walk."""
    sizes: dict[tuple[str, ...], int] = {}
    total = 0
    for file in below:
        parts = file.path.removeprefix(f"{directory}/").split("/")
        if any(part.startswith(".") for part in parts):
            continue
        total += file.size
        for level in range(1, min(len(parts), _LEVELS) + 1):
            mark = "" if level == len(parts) else "/"
            place = (*parts[: level - 1], parts[level - 1] + mark) if level == 1 else (f"{parts[0]}/", parts[1] + mark)
            sizes[place] = sizes.get(place, 0) + file.size
    lines = [f"{size_text(size)}\t{directory}/{''.join(place)}" for place, size in sorted(sizes.items())]
    return [f"{size_text(total)}\t{directory}", *lines]


def _create(call: Call, input: MemoryInput) -> str:
    files.create_file(call, resolved(input.text_of("path")), input.text_of("file_text"))
    return f"File created successfully at: {input.path}"


def _str_replace(call: Call, input: MemoryInput) -> str:
    path, old, new = resolved(input.text_of("path")), input.text_of("old_str"), input.text_of("new_str")
    if not old:
        raise InvalidInput("`old_str` must not be empty: give the text to replace, or use `insert`.")
    line_number = 0

    def replaced(text: str) -> str:
        nonlocal line_number
        count = text.count(old)
        if count == 0:
            raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        if count > 1:
            lines = ", ".join(map(str, islice(_lines_with(text, old), _LISTED_LINES)))
            raise InvalidInput(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. Please "
                "ensure it is unique"
            )
        line_number = text[: text.index(old)].count("\n")
        return text.replace(old, new)

    lines = files.edit_file(call, path, replaced).text.split("\n")
    first = max(0, line_number - _CONTEXT)
    snippet = _numbered(lines[first : line_number + _CONTEXT + 1], first + 1)
    return "\n".join(
        ["The memory file has been edited. Here is the snippet showing the change (with line numbers):", *snippet]
    )


def _lines_with(text: str, part: str) -> Iterator[int]:
    """The number of the line of each occurrence."""
    line, last_at, at = 1, 0, text.find(part)
    while at != -1:
        line += text.count("\n", last_at, at)
        yield line
        last_at, at = at, text.find(part, at + 1)


def _insert(call: Call, input: MemoryInput) -> str:
    place = input.insert_line or 0

    def inserted(text: str) -> str:
        lines = text.removesuffix("\n").split("\n") if text else []
        if not 0 <= place <= len(lines):
            raise InvalidInput(
                f"Invalid `insert_line` parameter: {place}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(place, input.text_of("insert_text").rstrip("\n"))
        return "\n".join(lines) + "\n"

    files.edit_file(call, resolved(input.text_of("path")), inserted)
    return f"The file {input.path} has been edited."


def _delete(call: Call, input: MemoryInput) -> str:
    files.delete_path(call, resolved(input.text_of("path")))
    return f"Successfully deleted {input.path}"


def _rename(call: Call, input: MemoryInput) -> str:
    files.rename_path(call, resolved(input.text_of("old_path")), resolved(input.text_of("new_path")))
    return f"Successfully renamed {input.old_path} to {input.new_path}"


_COMMANDS: Final[dict[str, Callable[[Call, MemoryInput], str]]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}
