"""Shared by several tools: fields with their limits and descriptions, and list items that are validated one by one."""

from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, core_schema

from ..errors import InvalidInput
from ..model import MAX_CONTENT_BYTES, MAX_METADATA_BYTES, JsonObject
from ..model import When as Happened
from ..record import in_utc, read_time, read_when
from ..text.json_limits import check_json
from ..text.limits import (
    MAX_CONTEXT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_ROLE_CHARACTERS,
    MAX_SCOPE_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
)
from ..text.schemas import MaxBytes, plain_schema, sentence, show
from ..tools import GivenId


def _time(value: Any, call: ValidationInfo) -> datetime:
    if isinstance(value, datetime):
        return in_utc(value)
    # Numbers are rejected: seconds, milliseconds and years can't be told apart.
    return read_time(value if isinstance(value, str) else "", call.context)


Time = Annotated[datetime, BeforeValidator(_time)]
"""An ISO 8601 time, in UTC where it has no offset, or a date: the moment at which that day begins in the caller's zone,
which is the context of the validation. Answers always use UTC."""

Moment = Annotated[datetime, AfterValidator(lambda at: at.replace(microsecond=0))]
"""A time in an answer, in whole seconds: `2025-01-15T10:30:00Z`."""


def _when(value: Any) -> Happened:
    if isinstance(value, date):
        return in_utc(value) if isinstance(value, datetime) else value
    return read_when(value if isinstance(value, str) else "")


When = Annotated[
    Happened, BeforeValidator(_when), WithJsonSchema({"type": "string", "format": "date-time"}, mode="validation")
]
"""The same, but a date alone is a day without a time, in every time zone; answers show it as it was given."""


def _bound(value: Any, call: ValidationInfo) -> Happened:
    _time(value, call)  # refuses a day that begins outside the years that there are
    return _when(value)


Bound = Annotated[
    Happened, BeforeValidator(_bound), WithJsonSchema({"type": "string", "format": "date-time"}, mode="validation")
]
"""A time, or a day that is still known as one: what has no time is compared with the day, whatever its zone."""

Content = Annotated[
    str, Field(min_length=1, max_length=MAX_CONTENT_BYTES, description="The text to remember, in plain language.")
]


def _not_blank(id: str) -> str:
    if not id.strip("[]` \t\r\n\v\f"):
        raise ValueError("must not be empty: give the memory's id")
    return id


NamedId = Annotated[str, AfterValidator(_not_blank)]
"""An id, or the start of one, with the marks that answers show it with; never empty."""
AnyId = Annotated[NamedId, AfterValidator(GivenId), Field(max_length=64)]
MemoryId = Annotated[AnyId, Field(min_length=1, description="The memory's id, from save or search.")]
ImportId = Annotated[str, Field(min_length=8, max_length=64, description="The import's id, from list_imports.")]
MemoryIds = Annotated[list[MemoryId], Field(min_length=1, max_length=1000, description="Ids of the memories.")]
Query = Annotated[str, Field(min_length=1, max_length=8192, description="What to look for, in plain language.")]
LongText = Annotated[str, Field(max_length=4 * 1024 * 1024)]
"""The text of a message, which the engine cuts into several turns if it is long."""
AnyText = Annotated[str, MaxBytes(MAX_CONTENT_BYTES)]
"""A text whose schema has no length, because the document's schema has none; the engine checks the length."""

Metadata = Annotated[JsonObject, MaxBytes(MAX_METADATA_BYTES)]
TagList = Annotated[list[str], MaxBytes(MAX_TAGS * MAX_TAG_CHARACTERS)]
Tags = Annotated[TagList, Field(max_length=MAX_TAGS, description="Labels to find it by; case is ignored.")]
# The engine checks the lengths, without the spaces around a tag; as a filter, a tag that none can have finds nothing.
_NewTag = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_TAG_CHARACTERS})]
NewTags = Annotated[
    list[_NewTag],
    MaxBytes(MAX_TAGS * MAX_TAG_CHARACTERS),
    Field(max_length=MAX_TAGS, description="Labels to find it by; case is ignored."),
]
Scope = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_SCOPE_CHARACTERS,
        description="Path to file the memory under, such as 'work/project-x'.",
    ),
]
Label = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]
Context = Annotated[str, Field(max_length=MAX_CONTEXT_CHARACTERS)]
Role = Annotated[str, Field(min_length=1, max_length=MAX_ROLE_CHARACTERS)]
OuterId = Annotated[str, Field(min_length=1, max_length=512)]
"""The id of a conversation or of a message in it, as the caller's own system gives it."""
Unit = Annotated[float, Field(ge=0, le=1)]


_DEPTH: Final = 2
"""The nesting depth of an item in the arguments."""


@dataclass(frozen=True)
class OneByOne:
    """`list[Annotated[Item | InvalidInput, OneByOne(Item)]]`: an invalid item becomes its InvalidInput.

    The schema that a model reads is the item's. The input's `one_by_one` names the list.
    """

    model: type[BaseModel]

    @cached_property
    def _schema(self) -> JsonObject:
        return plain_schema(self.model.model_json_schema())

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._read, handler.generate_schema(self.model))

    def _read(self, item: Any, read: core_schema.ValidatorFunctionWrapHandler) -> Any:
        if not isinstance(item, dict):
            fields = ", ".join(f"`{name}`" for name in self._schema.get("required", ()))
            return InvalidInput(f"an item must be a JSON object with at least {fields}; got {show(item)}.")
        try:
            check_json(item, _DEPTH)
            return read(item)
        except InvalidInput as refusal:
            return refusal
        except ValidationError as error:
            return InvalidInput(sentence(error, self._schema, "an item"))
