"""Texts of the greatest size, each hard for something, and the memories that attacks find."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid5

from ..corpus import Corpus

KIB: Final = 1024
MOST: Final = 32 * KIB
_SPACE: Final = UUID("2f1b7c7e-0d6d-4d0e-9d4f-6a2a3f2b8c1e")
_DAY: Final = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def _of(unit: str, most: int = MOST) -> str:
    return unit * (most // len(unit.encode()))


HARD: Final = {
    "words": " ".join(Corpus().texts(400))[:MOST],
    "angle brackets": _of("<"),
    "ideographs": "".join(chr(0x4E00 + i % 20_000) for i in range(MOST // 3)),
    "one word": _of("a"),
    "spaces": "# a" + _of(" ", MOST - 4) + "b",
    "lines": _of("a\n"),
    "reminders": _of("<system-reminder>"),
    "private use": _of("\ue200"),
    "quotes": _of('"\\'),
    "digits": _of("2026-01-31 "),
    "brackets": _of("[x]("),
    "secrets": _of("password: hunter2 sk-"),
    "emoji": _of("👩‍👩‍👧‍👦"),
    "accents": "a" + _of("\u0301", MOST - 2),
    "hangul": _of("가"),
    "urls": _of("https://a.b/c?d=e&"),
    "mails": _of("a.b@"),
}
"""Each of at most 32 KiB."""


def hard(number: int) -> str:
    """One of the hard texts, each in turn, told apart by its number."""
    text = list(HARD.values())[number % len(HARD)]
    end = f" {number}"
    return within(text, MOST - len(end)) + end


def within(text: str, most: int) -> str:
    """The start of a text, of at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore")


def records() -> list[dict[str, Any]]:
    """1,000 memories as an import takes them: short ones, the hard texts twice, one of 20 versions, a long episode."""
    texts = [*map(hard, range(2 * len(HARD))), *Corpus().texts(964)]
    memories = [_record(number, text) for number, text in enumerate(texts)]
    for record in memories[:10]:
        record["tags"] = [f"tag {i} {'x' * 100}" for i in range(64)]
        record["metadata"] = {f"key {i}": "v" * 100 for i in range(120)}
    messages = [{"role": "user", "content": hard(i)[: 128 if i % 8 else 900]} for i in range(600)]
    memories.append({**_record(998, "An episode."), "messages": _within(messages, 120 * KIB)})
    memories.append({**_record(999, HARD["ideographs"]), "version": 20, "history": _versions(999)})
    return memories


def _record(number: int, content: str, version: int = 1) -> dict[str, Any]:
    at = (_DAY + timedelta(minutes=number)).isoformat()
    id = str(uuid5(_SPACE, str(number)))
    return {"id": id, "content": content, "created_at": at, "updated_at": at, "version": version}


def _versions(number: int) -> list[dict[str, Any]]:
    images = []
    for version in range(1, 20):
        text = HARD["ideographs"][version:] + str(version)
        image = _record(number, text, version)
        images.append({"memory": image, "replaced_at": image["created_at"], "replaced_by": None})
    return images


def _within(messages: list[dict[str, str]], most: int) -> list[dict[str, str]]:
    part, size = [], 0
    for message in messages:
        size += len(json.dumps(message, ensure_ascii=False).encode())
        if size > most:
            break
        part.append(message)
    return part
