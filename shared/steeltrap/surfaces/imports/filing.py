"""How imported items are filed, as the user's options say."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, tzinfo
from typing import Literal

from ...model.frozen import frozen

Split = Literal["sections", "bullets", "lines"]


@frozen
class Filing:
    """The scope and the tags of everything, and how files are read that don't say it themselves.

    With `by_project`, what was said in a git repository is filed under the repository's own scope instead. `zone` is
    that of times without one; None is this machine's own. `columns` tells a table's column by the field that it holds,
    and `split` what becomes one memory of a text (None: what suits the format). What has ended before `now` is left
    out; None is this machine's own time.
    """

    scope: str
    tags: tuple[str, ...] = ()
    by_project: bool = False
    zone: tzinfo | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    split: Split | None = None
    now: datetime | None = None
