"""The form that every format is read into: spaces of memories, and questions with the memories that answer them.

Here too: files of JSON, and the ids of turns in them. Everything that can be wrong with one is an error that names it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from steeltrap.errors import InvalidInput, NotFound
from steeltrap.model import Draft

Miss = Literal["near", "far"]
"""How an unanswerable question misses: the space has its topic but not the fact, or nothing about it at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and the ids of the memories that answer it. Without any it has a `miss`.

    `outdated` are the memories that those which answer it supersede. `answer` is what a good answer says, where the
    set tells.
    """

    text: str
    category: str
    relevant: frozenset[str] = frozenset()
    miss: Miss | None = None
    outdated: frozenset[str] = frozenset()
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One user's memories by id, oldest first, what some of them supersede, the questions that are asked, and the
    language of all that, where the set tells."""

    memories: Mapping[str, Draft]
    supersedes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    questions: tuple[Question, ...]
    language: str | None = None

    def sessions(self, ids: Iterable[str]) -> set[str]:
        """The conversations that these memories were said in; an id that isn't here was said in none."""
        said_in = (self.memories[id].conversation_id for id in ids if id in self.memories)
        return {session for session in said_in if session is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSet:
    """The spaces of one file or folder, and the name of their format."""

    name: str
    form: str
    spaces: tuple[Space, ...]


_TURN: Final = re.compile(r"D(\d+):(\d+)")


def text(path: Path) -> str:
    """A file's text. Raises NotFound or InvalidInput."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise NotFound(f"{path} can't be read ({error.strerror}).") from None
    except ValueError:
        raise InvalidInput(f"{path.name} is not text in UTF-8.") from None


def parsed(path: Path) -> Any:
    """A file's JSON. Raises NotFound or InvalidInput."""
    try:
        return json.loads(text(path))
    except ValueError:
        raise InvalidInput(f"{path.name} is not JSON.") from None


def turn_ids(text: str) -> list[str]:
    """The turns that a text names, in one spelling: some of LoCoMo have leading zeros, some stand several in a text."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(text)]
