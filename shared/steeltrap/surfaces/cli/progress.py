"""Progress bars with rate and time left, on stderr, only where someone watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .output import terminal

Advance = Callable[[float, int], None]
"""Says how far the work is (in the bar's own unit) and how many memories, or other units, are done."""


@contextmanager
def shown(title: str, total: float | None, *, unit: str = "memories") -> Iterator[Advance]:
    """A bar of this length while the block runs, with a count of what is done; None shows the count only."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            count, seconds = task.fields["count"], task.elapsed or 0
            return Text(f"{count:,} {unit}, {count / seconds:,.0f}/s" if seconds else f"{count:,} {unit}")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        Rate(Column(no_wrap=True)),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=terminal(error=True), transient=True) as progress:
        bar = progress.add_task(title, total=total, count=0)
        yield lambda reached, count: progress.update(bar, completed=reached, count=count)


def _silent(reached: float, count: int) -> None:
    """Nobody watches."""
