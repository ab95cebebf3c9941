"""The fields that several tools share, each with its limits and the sentence that a model reads."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from ..model import MAX_CONTENT_BYTES


def _text_only(value: Any) -> Any:
    if isinstance(value, str | datetime):
        return value
    raise ValueError("must be a time such as '2026-01-31T09:30:00Z'")


def _in_utc(value: datetime) -> datetime:
    # A time without a zone is taken as UTC, which is how every answer gives it.
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must be a time within the years 1 to 9999 in UTC") from None


Time = Annotated[datetime, BeforeValidator(_text_only), AfterValidator(_in_utc)]
"""An ISO 8601 time."""

Content = Annotated[
    str, Field(min_length=1, max_length=MAX_CONTENT_BYTES, description="The text to remember, in plain language.")
]
MemoryId = Annotated[
    str, Field(min_length=1, max_length=64, description="The memory's id, as a save or search gave it.")
]
MemoryIds = Annotated[list[MemoryId], Field(min_length=1, max_length=1000, description="Ids of memories.")]
Query = Annotated[str, Field(min_length=1, max_length=8192, description="What to look for, in plain language.")]
Tags = Annotated[list[str], Field(max_length=64, description="Labels to find it by; compared without regard to case.")]
Scope = Annotated[
    str,
    Field(
        min_length=1,
        max_length=512,
        description="Path that the memory is filed under, such as 'work/project-x'.",
    ),
]
Unit = Annotated[float, Field(ge=0, le=1)]
