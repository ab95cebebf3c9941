"""Which format a file or folder is in, by its content."""

import json
from pathlib import Path
from typing import Any

from steeltrap.errors import InvalidInput

from .. import locomo
from . import beam, dialogues, jsonl, longmemeval, precision
from .sets import QuestionSet, Space, text


def read(path: Path) -> QuestionSet:
    """The set in a file or folder, called by its name without the suffix. Raises NotFound or InvalidInput."""
    form, spaces = _folder(path) if path.is_dir() else _file(path)
    if not any(space.questions for space in spaces):
        raise InvalidInput(f"{path.name} has no question that can be scored.")
    return QuestionSet(name=path.resolve().stem, form=form, spaces=tuple(spaces))


def _folder(path: Path) -> tuple[str, list[Space]]:
    if chats := beam.chats(path):
        return "BEAM", [beam.space(chat) for chat in chats]
    if (path / precision.BELIEFS).is_file():
        return "PrecisionMemBench", precision.spaces(path)
    if (of_dialogues := dialogues.published(path)) is not None:
        return of_dialogues
    raise _unknown(path)


def _file(path: Path) -> tuple[str, list[Space]]:
    source = text(path)
    if jsonl.is_jsonl(source):
        return "JSON Lines", list(jsonl.spaces(source, path.name))
    content = _json(source)
    if content and longmemeval.is_longmemeval(content):
        return "LongMemEval", list(longmemeval.spaces(content))
    if content and locomo.is_locomo(content):
        return "LoCoMo", [locomo.space(one) for one in content]
    raise _unknown(path)


def _json(source: str) -> Any:
    try:
        return json.loads(source)
    except ValueError:
        return None


def _unknown(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path.name} is in no known format. Expected one of: LoCoMo's locomo10.json, LongMemEval's file, JSON Lines "
        "with `memories` and `questions`, or a folder of BEAM's chats, PrecisionMemBench's fixtures, REALTALK's data, "
        "RealMem's dataset or VehicleMemBench's benchmark (docs/ranking.md)."
    )
