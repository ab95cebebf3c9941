"""Corrected labels of LoCoMo: a file of `errors.json`'s form, as github.com/dial481/locomo-audit publishes it.

Only wrong citations count: turns that don't say what the answer says. Where the answer itself is called wrong, the
question stays as it is.
"""

import re
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput

from .. import locomo
from .reading import parsed
from .sets import QuestionSet

_WRONG: Final = "WRONG_CITATION"
_ID: Final = re.compile(r"locomo_(\d+)_qa(\d+)")


def corrected(path: Path, labels: Path) -> QuestionSet:
    """The LoCoMo set in `path` with the turns that `labels` cites. Raises NotFound or InvalidInput."""
    conversations = locomo.read(path)
    for (conversation, place), cited in _citations(labels).items():
        try:
            conversations[conversation]["qa"][place]["evidence"] = cited
        except IndexError:
            raise InvalidInput(
                f"{labels.name} corrects question {place} of conversation {conversation}, which isn't in {path.name}."
            ) from None
    spaces = tuple(locomo.space(one) for one in conversations)
    return QuestionSet(name=f"{path.resolve().stem} ({labels.resolve().stem})", form="LoCoMo", spaces=spaces)


def _citations(path: Path) -> dict[tuple[int, int], list[str]]:
    """The turns to cite, by the places of conversation and question in LoCoMo's file."""
    entries: Any = parsed(path)
    try:
        wrong = [one for one in entries if one["error_type"] == _WRONG and one["correct_evidence"]]
        return {_place(one["question_id"]): list(one["correct_evidence"]) for one in wrong}
    except (KeyError, TypeError, ValueError):
        raise InvalidInput(
            f"{path.name} is no file of corrected labels. Expected a list of objects with `question_id`, `error_type` "
            "and `correct_evidence`."
        ) from None


def _place(id: str) -> tuple[int, int]:
    match = _ID.fullmatch(id)
    if match is None:
        raise ValueError(id)
    return int(match[1]), int(match[2])
