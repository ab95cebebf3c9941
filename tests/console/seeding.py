"""The data of tests and pictures of the pages: a person's memories over a few weeks, and many of them."""

from typing import Any
from uuid import UUID

from clock import SettableClock
from steeltrap.client.in_process import Memory

MANY = 3_000

_DAYS: list[dict[str, dict[str, Any]]] = [
    {
        "job": {"content": "Ana works at Acme as a data engineer.", "scope": "people/ana", "category": "fact"},
        "key": {
            "content": "The staging deploy key rotates every 90 days; the last rotation was on 2 October.",
            "scope": "work/infra",
            "tags": ["deploy", "keys"],
            "category": "fact",
            "context": "Agreed after the incident in September.",
        },
        "theme": {
            "content": "User prefers dark mode and large fonts.",
            "tags": ["ui", "preferences"],
            "pinned": True,
        },
    },
    {
        "trip": {
            "content": "京都への旅行は四月の第二週。桜の季節なので、宿は早めに予約すること。",
            "scope": "travel/japan",
            "tags": ["旅行", "京都"],
        },
        "report": {
            "content": "The quarterly report goes to Farid before the 5th; he wants the churn table first.",
            "scope": "work/reports",
            "tags": ["report", "deadline"],
        },
        "food": {
            "content": "Bob is allergic to peanuts, and Elif is vegetarian.",
            "scope": "people",
            "tags": ["food"],
        },
    },
    {
        "deploys": {
            "content": "Production deploys happen on Tuesdays and Thursdays before noon, never on a Friday.",
            "scope": "work/infra",
            "tags": ["deploy"],
            "conversation_id": "standup-112",
        },
        "code": {
            "content": "def retry(call, times=3):\n    for left in range(times, 0, -1):\n        try:\n"
            "            return call()\n        except TimeoutError:\n            if left == 1:\n                raise",
            "content_type": "code",
            "scope": "work/snippets",
            "tags": ["python"],
        },
    },
    {
        "episode": {
            "content": "Moving to Lisbon: the flat is in Graça, and the keys are handed over on 1 December.",
            "scope": "home",
            "tags": ["lisbon", "moving"],
            "conversation_id": "chat-42",
            "messages": [
                {"role": "user", "content": "We found a flat in Lisbon!", "speaker": "Ana"},
                {"role": "assistant", "content": "Congratulations! Which neighbourhood?"},
                {"role": "user", "content": "Graça. We get the keys on 1 December.", "speaker": "Ana"},
            ],
        },
        "pipeline": {
            "content": "The deploy pipeline needs two approvals since last week; the key alone is not enough.",
            "scope": "work/infra",
            "tags": ["deploy"],
        },
    },
]


def a_few(memory: Memory, clock: SettableClock) -> dict[str, str]:
    """Save them over three weeks, edit one, correct one, delete one; the id of each by its name."""
    ids: dict[str, str] = {}
    for items in _DAYS:
        for name, item in items.items():
            clock.advance(minutes=47)
            ids[name] = memory.core.save(**item)["id"]
        clock.advance(days=6)
    edited = "The staging deploy key rotates every 60 days; the last rotation was on 20 November."
    memory.core.update(id=ids["key"], content=edited, tags=["deploy", "keys", "security"])
    memory.core.associate(id=ids["pipeline"], target_id=ids["key"], strength=0.8)
    memory.core.associate(id=ids["deploys"], target_id=ids["key"], strength=0.6)
    clock.advance(hours=20)
    ids["new_job"] = memory.core.save(content="Ana works at Globex.", scope="people/ana", supersedes=[ids["job"]])["id"]
    toner = "The printer on the third floor is out of toner."
    ids["deleted"] = memory.core.save(content=toner, scope="work/office")["id"]
    memory.core.delete(id=ids["deleted"])
    clock.advance(minutes=5)
    return ids


def many(memory: Memory, number: int) -> None:
    """So many memories, of which every one says its number."""
    for start in range(0, number, 1000):
        memory.core.import_(
            records=[
                {
                    "id": str(UUID(int=n + 1)),
                    "content": f"Note {n} of the long list, about topic {n % 37} and place {n % 11}.",
                    "scope": f"list/{n % 7}",
                    "tags": [f"topic-{n % 37}"],
                    "created_at": f"2026-01-{n % 28 + 1:02}T09:{n % 60:02}:00+00:00",
                    "updated_at": f"2026-01-{n % 28 + 1:02}T09:{n % 60:02}:00+00:00",
                }
                for n in range(start, min(start + 1000, number))
            ]
        )
