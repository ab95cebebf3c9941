"""Tools and toolsets.

A tool is a typed function, registered once: `run(call, input) -> answer`. Its docstring is the description that a
model reads, its pydantic input model has names, limits and descriptions, and its return annotation is the answer.
Everything else (routes, schemas, MCP tools, functions, docs, the command line) is derived from these. This module
knows no surface.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter

from .engine.call import Call, SecretsMode
from .errors import SteeltrapError
from .model import JsonObject
from .text.schemas import Bounds, bounds_of, plain_schema, without_keys

Access = Literal["read", "write"]
Needs = Literal["store", "embedder", "index"]
Media = Literal["application/json", "text/plain", "text/markdown"]
Repeats = Literal["always", "by_key", "never"]

# A batch may hold 3 MB of text, and JSON escapes can double it.
MAX_BODY_BYTES: Final = 8 * 1024 * 1024
READ_SECONDS: Final = 15.0
WRITE_SECONDS: Final = 10.0
IN_PROJECT: Final = "x-in-project"
"""The schema key of a field that only callers with a project are shown; without one it is accepted all the same."""


class GivenId(str):
    """A memory's id in arguments: whole, or the start that an answer showed. The door makes it whole."""

    __slots__ = ()


class Input(BaseModel):
    """A tool's arguments. Unknown fields, NaN and Infinity are rejected.

    `one_by_one` names lists whose items are validated one by one, so that one invalid item doesn't fail the call.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)
    one_by_one: ClassVar[tuple[str, ...]] = ()


class Answer(BaseModel):
    """A tool's answer as JSON."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)


@dataclass(frozen=True)
class Tool:
    """One operation of a dialect, with all that a surface derives from it.

    `operation` names the Lambda function that serves it, and `access` what that function may do. `needs` says what the
    tool uses: only the store, also the embedder, or also the search index. `timeout` is in seconds.
    Only a tool with `files` gets the user's files, to read and write, so its access is write.
    `destructive` and `idempotent` are hints for clients that ask the user first. With `keyed`, a call that is repeated
    under its idempotency key has one effect. `paths` are additional HTTP paths.
    `max_bytes` limits the arguments' JSON, whatever their schema allows. `cursor` makes the value that `after` takes to
    continue after an item of the answer's list. With `writes_json`, `run` returns what its answer's model would be
    dumped to: for answers with many parts, where a model takes longer than they are worth.
    """

    toolset: str
    name: str
    operation: str
    access: Access
    timeout: float
    description: str
    input: type[Input]
    run: Callable[[Call, Any], Any]
    answer: Any
    examples: tuple[JsonObject, ...]
    media: Media = "application/json"
    needs: Needs = "store"
    files: bool = False
    destructive: bool = False
    idempotent: bool = False
    keyed: bool = False
    paths: tuple[str, ...] = ()
    max_bytes: int = MAX_BODY_BYTES
    cursor: Callable[[JsonObject], str | int] | None = None
    writes_json: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.toolset}.{self.name}"

    @property
    def repeats(self) -> Repeats:
        """When a client may repeat a call whose answer was lost."""
        if self.keyed:
            return "by_key"
        return "always" if self.access == "read" or self.idempotent else "never"

    @cached_property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of the arguments: self-contained, no titles, no nulls for optional fields."""
        schema = self.project_schema
        properties = schema.get("properties", {})
        of_project = {
            name: field for name, field in self.own_schema.get("properties", {}).items() if IN_PROJECT in field
        }
        if not of_project:
            return schema
        return {**schema, "properties": {name: field for name, field in properties.items() if name not in of_project}}

    @cached_property
    def project_schema(self) -> JsonObject:
        """The same, as a caller with a project is shown it."""
        return dict(without_keys(self.own_schema, IN_PROJECT))

    @cached_property
    def own_schema(self) -> JsonObject:
        """The input schema with the size limits that clients are not shown."""
        return plain_schema(self.input.model_json_schema())

    @cached_property
    def bounds(self) -> Bounds:
        """The largest size of its arguments as JSON."""
        return bounds_of(self.own_schema, self.max_bytes)

    @cached_property
    def answer_schema(self) -> JsonObject:
        return plain_schema(self.answer_adapter.json_schema(mode="serialization"), optional_nulls=True)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The arguments as keyword arguments of a Python function, with types and defaults."""
        hints = get_type_hints(self.input)
        parameters = []
        for name, info in self.input.model_fields.items():
            default = inspect.Parameter.empty if info.is_required() else info.get_default(call_default_factory=True)
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, kind, default=default, annotation=hints[name]))
        return inspect.Signature(parameters)

    @cached_property
    def answer_adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.answer)


class _WhenAsked(Mapping[str, Tool]):
    """Tools by name; the module that registers a tool is imported when the tool is first looked up."""

    def __init__(self, modules: Mapping[str, str], registered: Mapping[str, Tool]) -> None:
        self._modules = modules
        self._registered = registered
        # Not `registered`: a module that another thread is importing has registered some of its tools.
        self._imported: dict[str, Tool] = {}

    def __getitem__(self, name: str) -> Tool:
        if (known := self._imported.get(name)) is not None:
            return known
        __import__(self._modules[name])  # waits where another thread is importing it
        self._imported[name] = tool = self._registered[name]
        return tool

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


@dataclass
class Toolset:
    """A dialect: its tools by name and how it words an error.

    `instructions` tell a model when to save and when to search, by the names of these tools.
    `omit_nulls` leaves fields without a value out of answers. `render_error` makes the dialect's error body; with
    `standard_errors`, a surface with its own error format (such as HTTP) uses that instead. With `errors_are_answers`,
    an error that the model can mend is an ordinary answer over HTTP, so that no client hides its sentence.
    `secrets` is what happens to secrets in saved text if the settings don't say. `modules` names the module of each
    tool, for a toolset whose modules are imported one by one, when needed.
    """

    name: str
    description: str
    instructions: str
    render_error: Callable[[SteeltrapError, Tool], Any]
    omit_nulls: bool = False
    standard_errors: bool = False
    errors_are_answers: bool = False
    secrets: SecretsMode = "off"
    modules: Mapping[str, str] = field(default_factory=dict)
    registered: dict[str, Tool] = field(default_factory=dict)

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools by name, in the order in which clients see them."""
        return _WhenAsked(self.modules, self.registered) if self.modules else self.registered

    def tool(
        self,
        operation: str,
        access: Access,
        *,
        examples: tuple[JsonObject, ...],
        name: str | None = None,
        timeout: float | None = None,
        answer: Any = None,
        **rest: Any,
    ) -> Callable[[Callable[[Call, Any], Any]], Callable[[Call, Any], Any]]:
        """Register a function `(call, input: Model) -> answer` as a tool. One that writes JSON names the model of
        it as `answer`."""

        def register(run: Callable[[Call, Any], Any]) -> Callable[[Call, Any], Any]:
            hints = get_type_hints(run)
            parameter = list(inspect.signature(run).parameters)[1]
            tool = Tool(
                toolset=self.name,
                name=name or run.__name__.rstrip("_"),
                operation=operation,
                access=access,
                timeout=timeout or (READ_SECONDS if access == "read" else WRITE_SECONDS),
                description=inspect.cleandoc(run.__doc__ or ""),
                input=hints[parameter],
                run=run,
                answer=answer or hints["return"],
                examples=examples,
                **rest,
            )
            self.registered[tool.name] = tool
            return run

        return register
