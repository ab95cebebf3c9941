"""LoCoMo: ten long conversations between two people, and questions with the turns that answer them.

Recall is the share of a question's gold turns among the first k results, averaged over the questions.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from steeltrap.errors import InvalidInput
from steeltrap.model import Draft

from .quality.asking import ask
from .quality.scoring import Answered, means, scores
from .quality.sets import Question, QuestionSet, Space, parsed, turn_ids
from .report import milliseconds
from .stores import Store

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
TITLES: Final = {
    "questions": "questions",
    "memories": "memories",
    "r5": "turn recall@5, %",
    "r10": "turn recall@10, %",
    "session_r10": "session recall@10, %",
    "by_category": "by category",
    "search_p50_ms": "search, median, ms",
    "search_p95_ms": "search, 95th percentile, ms",
    "load_per_s": "loaded per second",
}


def measure(path: Path, most: int | None = None, store: Store = Store.SQLITE) -> dict[str, Any]:
    """The figures, recall in percent. Raises NotFound or InvalidInput for a file that isn't LoCoMo."""
    spaces = tuple(space(conversation) for conversation in read(path)[:most])
    if not any(one.questions for one in spaces):
        raise InvalidInput(f"{path.name} has no question of categories 1 to 4 with evidence.")
    run = ask(QuestionSet(name="LoCoMo", form="LoCoMo", spaces=spaces), store, in_full=False)
    answers = [one.answered for one in run.answers]
    of_category = {name: [one for one in answers if one.question.category == name] for name in CATEGORIES.values()}
    seconds = [one.seconds for one in run.answers]
    return {
        **_recalls(answers),
        "by_category": {name: _recalls(some) for name, some in of_category.items() if some},
        "search_p50_ms": milliseconds(seconds, 0.5),
        "search_p95_ms": milliseconds(seconds, 0.95),
        "load_per_s": round(run.memories / run.load_seconds),
        "memories": run.memories,
    }


def space(conversation: dict[str, Any]) -> Space:
    """A conversation: a memory per turn, and the questions of categories 1 to 4 that have evidence."""
    return Space(
        memories=memories(conversation["conversation"]),
        questions=tuple(
            Question(
                text=one["question"],
                category=CATEGORIES[one["category"]],
                relevant=frozenset(relevant),
                answer=str(one.get("answer", "")),
            )
            for one in conversation["qa"]
            if one.get("category") in CATEGORIES and (relevant := turn_ids(" ".join(one.get("evidence", ()))))
        ),
    )


def memories(conversation: dict[str, Any]) -> dict[str, Draft]:
    """A memory per turn, by the turn's id: who said what, in which session, when."""
    drafts: dict[str, Draft] = {}
    for session in sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key)):
        at = _session_time(conversation.get(f"session_{session}_date_time"))
        for turn in conversation[f"session_{session}"]:
            content = f"{turn['speaker']}: {turn['text']}"
            drafts[turn_ids(turn["dia_id"])[0]] = Draft(
                content=content, conversation_id=f"session_{session}", occurred_at=at
            )
    return drafts


def read(path: Path) -> list[dict[str, Any]]:
    """The conversations. Raises NotFound or InvalidInput for a file that isn't LoCoMo."""
    conversations = parsed(path)
    if not is_locomo(conversations):
        raise InvalidInput(f"{path.name} is not in LoCoMo's form: a list of objects with `conversation` and `qa`.")
    return list(conversations)


def is_locomo(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(one, dict) and isinstance(one.get("conversation"), dict) and isinstance(one.get("qa"), list)
        for one in content
    )


def _recalls(answers: Sequence[Answered]) -> dict[str, Any]:
    figures = means([scores(one) for one in answers])
    return {
        "questions": len(answers),
        "r5": figures["r5"],
        "r10": figures["r10"],
        "session_r10": figures.get("session_r10_of_turns", 0.0),
    }


def _session_time(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text or "", "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None


# Corrected labels: a file of `errors.json`'s form, as github.com/dial481/locomo-audit publishes it. Only wrong
# citations count: turns that don't say what the answer says. Where the answer itself is called wrong, the question
# stays as it is.

_WRONG: Final = "WRONG_CITATION"
_ID: Final = re.compile(r"locomo_(\d+)_qa(\d+)")


def corrected(path: Path, labels: Path) -> QuestionSet:
    """The LoCoMo set in `path` with the turns that `labels` cites. Raises NotFound or InvalidInput."""
    conversations = read(path)
    for (conversation, place), cited in _citations(labels).items():
        try:
            conversations[conversation]["qa"][place]["evidence"] = cited
        except IndexError:
            raise InvalidInput(
                f"{labels.name} corrects question {place} of conversation {conversation}, which isn't in {path.name}."
            ) from None
    spaces = tuple(space(one) for one in conversations)
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
