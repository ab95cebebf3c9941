"""The dialects, each a thin toolset over the one engine: names, input models, limits, wording, rendering.

Nothing here has heard of AWS, HTTP or SQL. Importing the catalogue needs no environment and no adapter.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from ..tools import Catalogue, Toolset

_NAMES: Final = ("agent", "core", "notes", "categories", "records", "associative", "episodic")


class _Toolsets(Mapping[str, Toolset]):
    """The toolsets by name, each imported when it is first asked for: a function's first call waits for one of them."""

    def __init__(self) -> None:
        self._imported: dict[str, Toolset] = {}

    def __getitem__(self, name: str) -> Toolset:
        if name not in self._imported:
            if name not in _NAMES:
                raise KeyError(name)
            self._imported[name] = getattr(import_module(f"{__name__}.{name}"), name.upper())
        return self._imported[name]

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


CATALOGUE = Catalogue(_Toolsets())
