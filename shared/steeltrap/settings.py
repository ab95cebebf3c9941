"""The settings of a process, read once: from options, the environment, and the data folder's own file, in this order.

Invalid values and misspelt names are rejected by name.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from . import settings_file
from .errors import InvalidInput
from .settings_table import FIELDS, SCOPE, Settings, model, taken_plainly
from .text.patterns import lazy_pattern
from .text.schemas import describe, plain_schema, show

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = [
    "FIELDS",
    "PREFIX",
    "SCOPE",
    "SettingValue",
    "SettingValues",
    "Settings",
    "checked_value",
    "gather",
    "read_settings",
    "setting_named",
    "settings_of",
]

_log = logging.getLogger("steeltrap")

PREFIX = "STEELTRAP_"

_INJECTED: Final = lazy_pattern(
    r"(?:^|_)(?:SERVICE_PORT_.|(?:SERVICE_(?:HOST|PORT)|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?)\Z)"
)
"""Names that Kubernetes and Docker links set for a service called `steeltrap`, or `steeltrap-opensearch`: never
misspelt."""
_OF_TESTS: Final = lazy_pattern(r"TEST_.+|REQUIRE_ALL")
_LIKENESS: Final = 0.82
"""From which a name counts as misspelt: EMBEDDING_MODEL does (0.83), OPENSEARCH_HOST (0.80) doesn't."""


Source = Literal["option", "argument", "environment", "file", "typed"]
"""An option of the command line, an argument of a Python call, a variable, the folder's file, or `config set`."""


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A value that somebody gave, and where."""

    value: object
    source: Source


@dataclass(frozen=True, slots=True)
class SettingValues:
    """The given values by the name of their setting, and remarks on names that are no setting."""

    by_name: Mapping[str, SettingValue]
    remarks: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The data folder, which may have a file of settings."""
        return Path(str(self.by_name["data"].value)) if "data" in self.by_name else Path.home() / ".steeltrap"


def _raise(error: InvalidInput) -> None:
    raise error


def read_settings(
    environment: Mapping[str, str] | None = None, *, source: Source = "option", **overrides: object
) -> Settings:
    """The settings of this process: `overrides` (None is left out), its environment, and the file of the data folder.

    An environment that is given stands alone, without a file. A name that is nearly a setting's is an error. Other
    unknown names are one warning. `source` says how the overrides were given. Raises InvalidInput.
    """
    return settings_of(gather(environment, refuse=_raise, source=source, **overrides))


def gather(
    environment: Mapping[str, str] | None = None,
    *,
    refuse: Callable[[InvalidInput], None] = _raise,
    source: Source = "option",
    **overrides: object,
) -> SettingValues:
    """The values that options, the environment and the file give, not checked yet.

    `refuse` takes what is wrong with the file, whose other values still count. Raises InvalidInput, as `refuse` does
    by default.
    """
    variables = os.environ if environment is None else environment
    unknown = ", ".join(PREFIX + name for name in _unknown(variables))
    remarks = [f"These environment variables are not settings and are ignored: {unknown}."] if unknown else []
    values = {name: SettingValue(value, source) for name, value in overrides.items() if value is not None}
    for name in FIELDS:
        if value := variables.get(PREFIX + name.upper()):
            values.setdefault(name, SettingValue(value, "environment"))
    if environment is None:
        folder = SettingValues(values).folder
        path = settings_file.path_in(folder)
        for name, text in _file_values(folder, refuse).items():
            try:
                is_setting = _is_setting(name, path)
            except InvalidInput as error:
                refuse(error)
                continue
            if is_setting:
                values.setdefault(name, SettingValue(text, "file"))
            else:
                remarks.append(f"{show(name)} in {path} is not a setting of this version and is ignored.")
    return SettingValues(values, tuple(remarks))


def _file_values(folder: Path, refuse: Callable[[InvalidInput], None]) -> dict[str, str]:
    try:
        return settings_file.read(folder)
    except InvalidInput as error:
        refuse(error)
        return {}


def settings_of(inputs: SettingValues) -> Settings:
    """The settings of what was given. Raises InvalidInput, which names the variable, or the file and the name in it."""
    settings = _checked(inputs)
    if settings.log != "error":
        for remark in inputs.remarks:
            _warn(remark)
    return settings


def _checked(inputs: SettingValues) -> Settings:
    values = {name: each.value for name, each in inputs.by_name.items()}
    plain = {name: taken_plainly(name, value) for name, value in values.items()}
    if None not in plain.values():
        return Settings(**plain)
    from pydantic import ValidationError

    try:
        checked = model().model_validate(values)
    except ValidationError as error:
        raise InvalidInput(_refusal(error, inputs)) from None
    return Settings(**{name: getattr(checked, name) for name in values})


def checked_value(name: str, value: str) -> str | int | float | bool:
    """A setting's value as its file has it. Raises InvalidInput."""
    settings = settings_of(SettingValues({name: SettingValue(value, "typed")}))
    return settings.as_json()[name]  # type: ignore[no-any-return]


def setting_named(typed: str) -> str:
    """The setting that somebody means by `cache_mb`, `cache-mb` or STEELTRAP_CACHE_MB. Raises InvalidInput."""
    name = typed.strip().lower().replace("-", "_").removeprefix(PREFIX.lower())
    if name not in FIELDS:
        near = get_close_matches(name, FIELDS, 1)
        hint = f"did you mean `{near[0]}`?" if near else "`steeltrap config` lists them."
        raise InvalidInput(f"{show(typed)} is not a setting; {hint}")
    if name == "data":
        raise InvalidInput(_NO_DATA)
    return name


_NO_DATA: Final = (
    "`data` can't be set in a file that is in that folder: set STEELTRAP_DATA, or pass --data, to use another folder."
)


def _unknown(source: Mapping[str, str]) -> tuple[str, ...]:
    """The names after the prefix that are no setting. Raises InvalidInput for one that nearly is."""
    setting_names = [name.upper() for name in FIELDS]
    names = sorted(name.removeprefix(PREFIX) for name, value in source.items() if value and name.startswith(PREFIX))
    unknown = tuple(name for name in names if name not in setting_names and not _OF_TESTS.fullmatch(name))
    for name in unknown:
        near = get_close_matches(name.upper(), setting_names, 1, _LIKENESS)
        if near and not _INJECTED.search(name):
            raise InvalidInput(f"{PREFIX}{name} is not a setting; did you mean {PREFIX}{near[0]}?")
    return unknown


def _is_setting(name: str, path: Path) -> bool:
    """Whether a name in a file is a setting; another one may be a newer steeltrap's. Raises InvalidInput for one that
    is nearly a setting, and for the data folder."""
    if name == "data":
        raise InvalidInput(f"{path}: {_NO_DATA}")
    if name in FIELDS:
        return True
    near = get_close_matches(name.lower().removeprefix(PREFIX.lower()), FIELDS, 1, _LIKENESS)
    if near:
        raise InvalidInput(f"{show(name)} in {path} is not a setting; did you mean `{near[0]}`?")
    return False


@cache
def _warn(remark: str) -> None:
    """Once per process: a function reads its settings more than once."""
    _log.warning("%s", remark)


def _refusal(error: "ValidationError", inputs: SettingValues) -> str:
    first = error.errors()[0]
    setting = str(first["loc"][0])
    name = PREFIX + setting.upper()
    source = inputs.by_name[setting].source if setting in inputs.by_name else "environment"
    if source in ("file", "typed", "argument"):
        name = f"`{setting}`" + (f" in {settings_file.path_in(inputs.folder)}" if source == "file" else "")
    elif source == "option":
        name = f"`--{setting.replace('_', '-')}`"
    if first["type"] == "value_error":
        reason = str(first["ctx"]["error"])
        return f"{name} {reason}" if reason.startswith("must ") else f"{name}: {reason}"
    schema = plain_schema(model().model_json_schema())["properties"].get(setting)
    if schema is None:
        return f"{PREFIX}{setting.upper()} is not a setting."
    return f"{name} must be {describe(schema)}; got {show(first['input'])}."
