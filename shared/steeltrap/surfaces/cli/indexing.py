"""setup, index, reindex and verify: the tables and the search index of STEELTRAP_STORE=aws."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .exits import Exit
from .logs import log_to_stderr
from .output import complain, say, write_json

if TYPE_CHECKING:
    from ...model import UserRef
    from ...runtime.aws import Upkeep
    from ...settings import Settings

Whose = Annotated[str | None, typer.Option("--user", metavar="ID", help="Only this user.")]
Tenant = Annotated[str, typer.Option("--tenant", metavar="ID", help="The user's tenant, if any.")]


def register(app: typer.Typer) -> None:
    for command in (setup, index, reindex, verify):
        app.command()(command)


def setup(as_json: options.Json = False) -> None:
    """Create the tables and the first search index if missing.

    This needs STEELTRAP_STORE=aws.
    """
    from ...runtime import local as runtime

    made = runtime.set_up(_settings())
    if as_json:
        write_json({"made": made})
    else:
        say(f"Created: {', '.join(made)}." if made else "Everything already exists.")


def index(
    once: Annotated[bool, typer.Option("--once", help="Stop when everything in the stream is indexed.")] = False,
    as_json: options.Json = False,
) -> None:
    """Update the search index from the table's stream.

    It runs until stopped. Use it if no Lambda function does this.
    """
    from threading import Event

    from ...runtime import local as runtime

    following = runtime.open_indexer(_settings())
    try:
        if not once:
            complain("Following the table's stream; Ctrl-C stops it.")
            following.follow(Event())
        taken = following.drain()
    finally:
        following.close()
    if as_json:
        write_json({"records": taken})
    else:
        say(f"{taken:,} records of the stream were processed.")


def reindex(
    user: Whose = None,
    tenant: Tenant = "",
    accept_refused: Annotated[
        bool, typer.Option("--accept-refused", help="Switch even if the new index rejects some memories.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Rebuild the search index from the table, then switch to it.

    Searches use the old index while the new one is built; writes go on. If the command was interrupted, run it again:
    it continues. With --user, the user's memories are written to the current index, and documents that the table
    doesn't have are removed from it.
    """
    from ... import maintenance
    from .progress import shown

    with _upkeep() as upkeep, shown("Indexing", None) as advance:
        if user is not None:
            done = maintenance.mend_index(upkeep.truth, upkeep.index, _named(user, tenant))
        else:
            done = maintenance.rebuild_index(
                upkeep.truth,
                upkeep.index,
                accept_refused=accept_refused,
                advance=lambda written: advance(written, written),
            )
    if as_json:
        write_json({"written": done.written, "refused": done.refused, "switched": done.switched})
    else:
        searched = ", and the new index is in use" if done.switched else ""
        say(f"{done.written:,} memories and tombstones were written{searched}.")
    if done.refused:
        kept = (
            ""
            if done.switched or user is not None
            else " The old index stays in use; --accept-refused switches anyway."
        )
        complain(f"{done.refused:,} were refused ({done.why}).{kept}")
        raise typer.Exit(Exit.OTHER)


def verify(user: Whose = None, tenant: Tenant = "", as_json: options.Json = False) -> None:
    """Compare the table and the search index, and list differences.

    The exit code is 1 if there are any.
    """
    from ... import maintenance
    from ...runtime.clock import SystemClock

    whose = None if user is None else _named(user, tenant)
    with _upkeep() as upkeep:
        found = maintenance.verify_index(upkeep.truth, upkeep.index, SystemClock(), user=whose)
    if as_json:
        listed = [{**asdict(one.user), "id": one.id, "kind": one.kind} for one in found.differences]
        write_json({**found.counts, "strays": found.strays, "differences": listed})
    else:
        for one in found.differences:
            of = f"{one.user.user_id} ({one.user.tenant})" if one.user.tenant else one.user.user_id
            say(f"{one.kind:11} {one.id} of {of}")
        if found.strays:
            say(f"{found.strays:,} documents of the index belong to no known user.")
        if not found.differences and not found.strays:
            say("The index matches the table.")
    if found.differences or found.strays:
        raise typer.Exit(Exit.OTHER)


@contextmanager
def _upkeep() -> "Iterator[Upkeep]":
    """Table and index, closed at the end."""
    from ...runtime import local as runtime

    upkeep = runtime.open_upkeep(_settings())
    try:
        yield upkeep
    finally:
        upkeep.close()


def _settings() -> "Settings":
    from ...settings import read_settings

    settings = read_settings()
    log_to_stderr(settings.log, format=settings.log_format)
    return settings


def _named(user: str, tenant: str) -> "UserRef":
    from ...model import UserRef

    return UserRef(user, tenant)
