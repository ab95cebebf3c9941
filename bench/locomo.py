"""LoCoMo: ten long conversations between two people, and questions with the turns that answer them.

Recall is the share of a question's gold turns among the first k results, averaged over the questions.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final

from steeltrap.engine.save import Draft
from steeltrap.engine.transfer.import_ import import_drafts
from steeltrap.errors import InvalidInput, NotFound
from steeltrap.model import Caller, UserRef
from steeltrap.surfaces.cli.importing import BLOCK_ITEMS
from steeltrap.surfaces.cli.opening import Opened
from steeltrap.surfaces.cli.progress import shown

from .place import opened
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
    "load_per_s": "loaded a second",
}
_LIMIT: Final = 10
_GOLD: Final = re.compile(r"D(\d+):(\d+)")
_TURN: Final = "turn"


@dataclass(frozen=True, slots=True)
class Asked:
    """How one question went."""

    category: int
    r5: float
    r10: float
    session_r10: float
    seconds: float


def measure(path: Path, most: int | None = None, store: Store = Store.SQLITE) -> dict[str, Any]:
    """The figures, recall in percent. Raises NotFound or InvalidInput for a file that isn't LoCoMo."""
    conversations = read(path)[:most]
    asked: list[Asked] = []
    loaded = 0
    seconds = 0.0
    with (
        TemporaryDirectory(prefix="steeltrap-bench-") as folder,
        opened(Path(folder), store) as place,
        shown("LoCoMo", len(conversations)) as advance,
    ):
        for number, conversation in enumerate(conversations, 1):
            by_user = Opened(place.door, Caller(UserRef(f"locomo-{number}"), "default"), place.settings)
            began = time.perf_counter()
            loaded += _load(by_user, conversation["conversation"])
            seconds += time.perf_counter() - began
            place.settle()
            asked += _ask_all(by_user, conversation["qa"])
            advance(number, loaded)
    if not asked:
        raise InvalidInput(f"{path.name} has no question of categories 1 to 4 with evidence.")
    return {
        **_recalls(asked),
        "by_category": {
            name: _recalls([one for one in asked if one.category == category])
            for category, name in CATEGORIES.items()
            if any(one.category == category for one in asked)
        },
        "search_p50_ms": milliseconds([one.seconds for one in asked], 0.5),
        "search_p95_ms": milliseconds([one.seconds for one in asked], 0.95),
        "load_per_s": round(loaded / seconds),
        "memories": loaded,
    }


def drafts(conversation: dict[str, Any]) -> Iterator[Draft]:
    """A memory a turn: who said what, in which session, when."""
    sessions = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for session in sessions:
        at = _session_time(conversation.get(f"session_{session}_date_time"))
        for turn in conversation[f"session_{session}"]:
            yield Draft(
                content=f"{turn['speaker']}: {turn['text']}",
                conversation_id=f"session_{session}",
                occurred_at=at,
                metadata={_TURN: _turns(turn["dia_id"])[0]},
            )


def read(path: Path) -> list[dict[str, Any]]:
    """The conversations. Raises NotFound or InvalidInput for a file that isn't LoCoMo."""
    try:
        conversations = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise NotFound(f"{path} can't be read ({error.strerror}).") from None
    except ValueError:
        raise InvalidInput(f"{path.name} is not JSON; the benchmark takes LoCoMo's locomo10.json.") from None
    fits = isinstance(conversations, list) and all(
        isinstance(one, dict) and isinstance(one.get("conversation"), dict) and isinstance(one.get("qa"), list)
        for one in conversations
    )
    if not fits:
        raise InvalidInput(f"{path.name} is not in LoCoMo's form: a list of objects with `conversation` and `qa`.")
    return list(conversations)


def _load(by_user: Opened, conversation: dict[str, Any]) -> int:
    turns = list(drafts(conversation))
    seen: Counter[Any] = Counter()
    blocks = [turns[i : i + BLOCK_ITEMS] for i in range(0, len(turns), BLOCK_ITEMS)]
    return sum(import_drafts(by_user.call(60), block, seen).written for block in blocks)


def _ask_all(by_user: Opened, questions: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    for question in questions:
        gold = set(_turns(" ".join(question.get("evidence", ()))))
        if question.get("category") in CATEGORIES and gold:
            yield _ask(by_user, question, gold)


def _ask(by_user: Opened, question: dict[str, Any], gold: set[str]) -> Asked:
    began = time.perf_counter()
    answer = by_user.ask("core.search", query=question["question"], limit=_LIMIT)
    seconds = time.perf_counter() - began
    found = [hit["metadata"][_TURN] for hit in answer["results"]]
    sessions = {turn.split(":")[0] for turn in gold}
    return Asked(
        category=question["category"],
        r5=len(gold & set(found[:5])) / len(gold),
        r10=len(gold & set(found)) / len(gold),
        session_r10=len(sessions & {turn.split(":")[0] for turn in found}) / len(sessions),
        seconds=seconds,
    )


def _recalls(asked: Sequence[Asked]) -> dict[str, Any]:
    def percent(name: str) -> float:
        return round(100 * fmean(getattr(one, name) for one in asked), 2)

    return {"questions": len(asked), "r5": percent("r5"), "r10": percent("r10"), "session_r10": percent("session_r10")}


def _turns(evidence: str) -> list[str]:
    """Turn ids in one spelling: some of the file's have leading zeros, some stand several in one string."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _GOLD.findall(evidence)]


def _session_time(said: str | None) -> datetime | None:
    try:
        return datetime.strptime(said or "", "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
