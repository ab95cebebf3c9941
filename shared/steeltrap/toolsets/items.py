"""List items that are validated one by one, so that an invalid item is an error of its own, not of the call."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from ..errors import InvalidInput
from ..model import JsonObject
from ..text.limits import check_json
from ..text.schemas import plain_schema, sentence, show

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
