"""The toolsets, each thin over the one engine: names, input models, limits, wording, rendering.

Nothing here has heard of AWS, HTTP or SQL. Importing the catalogue needs no environment and no adapter.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Final

from ..tools import Catalogue, Toolset

_OUR_OWN: Final = ("agent", "core", "files")
_NAMES: Final = (*_OUR_OWN, "notes", "categories", "records", "associative", "episodic")


class _Toolsets(Mapping[str, Toolset]):
    """The toolsets by name, each imported when it is first asked for: a function's first call waits for one of them."""

    def __getitem__(self, name: str) -> Toolset:
        if name not in _NAMES:
            raise KeyError(name)
        path = f"{__name__}.{name}" if name in _OUR_OWN else f"{__name__}.dialects.{name}"
        __import__(path)  # waits where another thread is importing it
        toolset: Toolset = getattr(sys.modules[path], name.upper())
        return toolset

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


CATALOGUE = Catalogue(_Toolsets())
