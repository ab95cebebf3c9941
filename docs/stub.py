"""The types of `client/in_process.py` and of its twin for asyncio, `client/in_loop.py`: their own, and each tool as a
method, from the tools' input and answer models.

A type checker reads the `.pyi` in place of the module, so what the module declares by hand is copied there as it is.
Here too: the table of the tools that the client carries, so that it needs no tool's code to call it.
"""

import ast
import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from steeltrap.model import JsonObject
from steeltrap.tools import Tool, Toolset
from steeltrap.toolsets import Catalogue

MODULE: Final = Path(__file__).parents[1] / "shared" / "steeltrap" / "client" / "in_process.py"
STUB: Final = MODULE.with_suffix(".pyi")
ASYNC_MODULE: Final = MODULE.with_name("in_loop.py")
ASYNC_STUB: Final = ASYNC_MODULE.with_suffix(".pyi")
TABLE: Final = MODULE.with_name("tool_table.py")

_INDENT: Final = "    "
_IMPORTS: Final = """\
import builtins
from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from ..invoke import Door, Result
from ..model import Caller, JsonObject
from ..ports import Clock, Embedder
"""
_ASYNC_IMPORTS: Final = """\
import builtins
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Literal

from ..invoke import Result
from ..model import JsonObject
from ..ports import Clock, Embedder
"""
_NAMES: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def stub(catalogue: Catalogue) -> str:
    """The text of `in_process.pyi`."""
    toolsets = catalogue.toolsets.values()
    parts = [_head(MODULE), _IMPORTS, *_declared(MODULE, toolsets, "")]
    for types in map(_Types, toolsets):
        methods = types.methods()
        parts += [*types.dictionaries.values(), methods]
    return _formatted(parts)


def async_stub(catalogue: Catalogue) -> str:
    """The text of `in_loop.pyi`."""
    toolsets = catalogue.toolsets.values()
    types = [_Types(each, is_async=True) for each in toolsets]
    methods = [each.methods() for each in types]
    names = ", ".join(sorted(["Memory", *(name for each in types for name in each.dictionaries)]))
    imports = f"{_ASYNC_IMPORTS}from .calling import Awaited, CallThreads\nfrom .in_process import {names}\n"
    return _formatted([_head(ASYNC_MODULE), imports, *_declared(ASYNC_MODULE, toolsets, "Async"), *methods])


def _head(module: Path) -> str:
    return f'"""Written by docs/generate.py from the tools and `{module.name}`: change those, then run `make docs`."""'


def _formatted(parts: list[str]) -> str:
    """The text of a stub, with the imports that it needs and in our format."""
    checked = _ruff("check", "--quiet", "--fix", "--select", "F401,I", text="\n\n".join(parts))
    return _ruff("format", text=checked)


def _ruff(*command: str, text: str, path: Path = STUB) -> str:
    words = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
    return subprocess.run(words, input=text, cwd=path.parents[3], capture_output=True, text=True, check=True).stdout


def _declared(module: Path, toolsets: Iterable[Toolset], prefix: str) -> list[str]:
    """The module's public functions and classes without bodies; `Memory` has an attribute for each toolset."""
    found = []
    for node in ast.parse(module.read_text()).body:
        match node:
            case ast.ClassDef(name=name) if not name.endswith("Dialect"):
                is_memory = name == f"{prefix}Memory"
                fields = [f"{each.name}: {prefix}{_title(each.name)}" for each in toolsets if is_memory]
                attributes = [ast.parse(field).body[0] for field in fields]
                methods = [each for each in node.body if isinstance(each, _FUNCTION) and not _is_dynamic(each)]
                node.body = [node.body[0], *attributes, *map(_bodiless, methods)]
                found.append(ast.unparse(node))
            case ast.FunctionDef() if not node.name.startswith("_"):
                found.append(ast.unparse(_bodiless(node)))
    return found


_FUNCTION: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)


def _is_dynamic(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    is_private = function.name.startswith("_") and not function.name.startswith("__")
    return is_private or function.name in ("__getattr__", "__dir__", "__repr__")


def _bodiless(function: _Function) -> _Function:
    match function.returns:
        case ast.Constant(value=str(quoted)):
            function.returns = ast.parse(quoted, mode="eval").body
    documented = ast.get_docstring(function) is not None
    function.body = [*function.body[:1], ast.Expr(ast.Constant(...))] if documented else [ast.Expr(ast.Constant(...))]
    return function


class _Types:
    """The classes of one toolset: its tools as methods, and the dictionaries that they take and answer."""

    def __init__(self, toolset: Toolset, *, is_async: bool = False) -> None:
        self._toolset = toolset
        self._is_async = is_async
        self.dictionaries: dict[str, str] = {}
        """The text of each dictionary by its name, once the methods were written."""

    def methods(self) -> str:
        """The class of the toolset, with a method for each tool."""
        methods = [self._method(tool) for tool in self._toolset.tools.values()]
        name = "Async" * self._is_async + _title(self._toolset.name)
        head = f"class {name}:\n" + _documented(self._toolset.description)
        return "\n\n".join([head, *methods])

    def _method(self, tool: Tool) -> str:
        name = tool.name + "_" * keyword.iskeyword(tool.name)
        takes = _Schema(self, tool.input.model_json_schema(), is_answer=False)
        gives = _Schema(self, tool.answer_adapter.json_schema(mode="serialization"), is_answer=True)
        arguments = ["self", *(["*"] if takes.fields() else []), *takes.parameters()]
        define = "async def" if self._is_async else "def"
        line = f"{_INDENT}{define} {name}({', '.join(arguments)}) -> {gives.type()}:"
        return f"{line}\n{textwrap.indent(_documented(tool.description), _INDENT)}\n"

    def dictionary(self, title: str, lines: list[str], description: str) -> str:
        """The name of a TypedDict with these lines, written once."""
        name = _title(self._toolset.name) + title
        text = f"class {name}(TypedDict):\n" + (_documented(description) + "\n" if description else "")
        text += "".join(f"{_INDENT}{line}\n" for line in lines) or f"{_INDENT}...\n"
        if self.dictionaries.setdefault(name, text) != text:
            raise ValueError(f"two models of {self._toolset.name} are called {title} and differ")
        return name

    @property
    def omits_nulls(self) -> bool:
        return self._toolset.omit_nulls


class _Schema:
    """A JSON Schema as Python types: of arguments, which may be more than one type, or of an answer as it comes."""

    def __init__(self, types: _Types, schema: JsonObject, *, is_answer: bool) -> None:
        self._types = types
        self._schema = schema
        self._is_answer = is_answer

    def fields(self) -> dict[str, JsonObject]:
        return dict(self._schema.get("properties", {}))

    def parameters(self) -> list[str]:
        """The fields as arguments by name."""
        return [
            f"{name}: {self._type(field)}" + ("" if name in self._required(self._schema) else f" = {_default(field)}")
            for name, field in self.fields().items()
        ]

    def type(self) -> str:
        return self._type(self._schema)

    def _type(self, node: JsonObject) -> str:
        if "$ref" in node:
            return self._type({**self._schema["$defs"][node["$ref"].rsplit("/", 1)[-1]], **_without_ref(node)})
        if "anyOf" in node:
            return " | ".join(dict.fromkeys(self._type(kind) for kind in node["anyOf"]))
        if "const" in node or "enum" in node:
            values = node.get("enum", [node.get("const")])
            return f"Literal[{', '.join(_quoted(value) for value in values)}]"
        match node["type"]:
            case "array":
                items = self._type(node["items"])
                return f"builtins.list[{items}]" if self._is_answer else f"Sequence[{items}]"
            case "object":
                return self._object(node)
            case "string" if node.get("format") == "date-time" and not self._is_answer:
                return "str | datetime"
        return _NAMES[node["type"]]

    def _object(self, node: JsonObject) -> str:
        if "properties" not in node:
            values = node.get("additionalProperties")
            kind = self._type(values) if isinstance(values, dict) else "Any"
            return f"builtins.dict[str, {kind}]" if self._is_answer else f"Mapping[str, {kind}]"
        lines = [f"{name}: {self._field(node, name, field)}" for name, field in node["properties"].items()]
        return self._types.dictionary(node["title"], lines, node.get("description", ""))

    def _field(self, node: JsonObject, name: str, field: JsonObject) -> str:
        kind = self._type(field)
        if not self._is_answer:
            return kind if name in self._required(node) else f"NotRequired[{kind}]"
        # A toolset that omits nulls leaves every null out of its answers; others may where null is the default.
        if kind.endswith(" | None") and (self._types.omits_nulls or name not in self._required(node)):
            return f"NotRequired[{kind.removesuffix(' | None') if self._types.omits_nulls else kind}]"
        return kind

    @staticmethod
    def _required(node: JsonObject) -> list[str]:
        return list(node.get("required", ()))


def _title(name: str) -> str:
    return name.replace("_", " ").title().replace(" ", "")


def _documented(text: str) -> str:
    lines = textwrap.indent(text.replace("\\", "\\\\"), _INDENT).strip()
    return f'{_INDENT}"""{lines}"""' if "\n" not in text else f'{_INDENT}"""{lines}\n{_INDENT}"""'


def _default(field: JsonObject) -> str:
    default = field.get("default")
    return "..." if isinstance(default, list | dict) else _quoted(default)


def _quoted(value: Any) -> str:
    return '"' + value.replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


def _without_ref(node: JsonObject) -> JsonObject:
    return {key: value for key, value in node.items() if key not in ("$ref", "description", "default")}


_TABLE_HEAD: Final = '''\
"""Written by docs/generate.py from the tools: change those, then run `make docs`.

A client that calls a server knows the tools by this table and imports none of them.
"""

from collections.abc import Mapping
from typing import Final

from .answers import ToolRow

'''


def table(catalogue: Catalogue) -> str:
    """The text of `client/tool_table.py`."""
    toolsets = "".join(
        f"{name!r}: {{{', '.join(f'{tool.name!r}: {_row(tool)}' for tool in toolset.tools.values())}}},"
        for name, toolset in catalogue.toolsets.items()
    )
    text = f"{_TABLE_HEAD}TOOLS: Final[Mapping[str, Mapping[str, ToolRow]]] = {{{toolsets}}}\n"
    return _ruff("format", text=text, path=TABLE)


def _row(tool: Tool) -> str:
    schema = tool.answer_schema
    fields = tuple(schema.get("required", ()))
    values = [tool.operation, tool.repeats, tool.timeout, schema["type"], *([fields] if fields else [])]
    return f"ToolRow({', '.join(map(repr, values))})"
