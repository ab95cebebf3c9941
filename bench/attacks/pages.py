"""Every page and action of the console at its limits."""

from collections.abc import Callable
from typing import Final

from .target import Attack, Target
from .texts import HARD, hard


def _every(path: str) -> Callable[[Target], None]:
    """The page of each of the largest memories."""

    def run(target: Target) -> None:
        for id in (*target.ids[:17], *target.ids[-2:]):
            target.page(path.format(id=id))

    return run


def _searches(target: Target) -> None:
    for text in HARD.values():
        target.page("/", q=text[:4000])


def _written(target: Target) -> None:
    for number in range(len(HARD)):
        target.form("/console/new", content=hard(1000 + number), tags=",".join(f"tag {i}" for i in range(64)))


def _edited(target: Target) -> None:
    """A form that somebody else's change came before shows both texts and their difference."""
    for number, id in enumerate(target.ids[:17]):
        target.form(f"/console/memories/{id}/edit", content=hard(number + 1), version="1", scope="user/default")
        target.form(f"/console/memories/{id}/edit", content=hard(number + 2), version="1", scope="user/default")
        target.page(f"/console/memories/{id}")


def _merged(target: Target) -> None:
    ids = "&".join(f"id={id}" for id in target.ids[-500:])
    target.page(f"/console/merge?{ids}")


def _acted(action: str, **fields: str) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        for id in (*target.ids[:17], *target.ids[-2:]):
            target.form(f"/console/memories/{id}/{action}", **fields)

    return run


def _exported(target: Target) -> None:
    target.page("/console/export")


PAGES: Final = [
    Attack("console home", lambda target: [target.page("/", offset=offset) for offset in range(0, 1000, 100)]),
    Attack("console search", _searches),
    Attack("console browse", lambda target: [target.page("/console/browse") for _ in range(5)]),
    Attack(
        "console timeline", lambda target: [target.page("/console/timeline", offset=at) for at in range(0, 1000, 100)]
    ),
    Attack("console trash", lambda target: [target.call("core.delete", ids=target.ids), target.page("/console/trash")]),
    Attack("console memory", _every("/console/memories/{id}")),
    Attack("console edit form", _every("/console/memories/{id}/edit")),
    Attack("console forget form", _every("/console/memories/{id}/forget")),
    Attack("console new", _written),
    Attack("console edit", _edited),
    Attack("console merge form", _merged),
    Attack("console pin", _acted("pin", pinned="true")),
    Attack("console delete", _acted("delete")),
    Attack("console restore", _acted("restore")),
    Attack("console undo", _acted("undo")),
    Attack("console forget", _acted("forget")),
    Attack("console transfer", lambda target: target.page("/console/transfer")),
    Attack("console export", _exported, whole=True),
]
