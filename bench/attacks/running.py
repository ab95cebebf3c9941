"""Runs attacks one by one against a real server, and tells how long everybody waited beside each."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, Final

from steeltrap.cli.session import say
from steeltrap.model import Caller, UserRef

from ..servers import COMMAND, HttpServer, http_server
from .hostile import ATTACKS
from .imports import IMPORTS
from .pages import PAGES
from .probing import LONGEST
from .target import Attack, Target, nothing
from .texts import records
from .tools import MCP, TOOLS

ALL: Final = [
    Attack("nothing", lambda _: time.sleep(2), nothing),
    *TOOLS,
    *MCP,
    *PAGES,
    *IMPORTS,
    *ATTACKS,
]
MOST_MS: Final = 200
"""No probe may wait longer."""
_CALLER: Final = Caller(UserRef("bench"), "default")
_OTHER_SECONDS: Final = 5.0
_PREPARE_SECONDS: Final = 60.0
_FAULT: Final = "Traceback (most recent call last)"
"""Each line of the log that begins one is a fault: the log of errors has a traceback for what nobody expected."""


@dataclass(frozen=True, slots=True)
class Row:
    """An attack's outcome. `others_ms` is how long a call of another user took after it, None without an answer;
    `machine_ms` is how late a thread beside it woke that only sleeps: what the machine itself took of the wait."""

    attack: str
    seconds: float
    statuses: dict[str, int]
    ended: bool
    probes: int
    longest_ms: float
    machine_ms: float
    others_ms: float | None
    faults: int
    whole: bool

    @property
    def is_fine(self) -> bool:
        return self.whole and self.longest_ms <= MOST_MS and self.others_ms is not None and not self.faults


def run(names: Sequence[str], seconds: float, *, workers: int = 1) -> Iterator[Row]:
    """The outcome of each attack whose name contains one of `names` (all of them without any), of `seconds` at most."""
    attacks = [attack for attack in ALL if not names or any(name.lower() in attack.name.lower() for name in names)]
    memories = records()
    with TemporaryDirectory(prefix="steeltrap-attacks-") as folder:
        waiting = list(attacks)
        while waiting:
            options = waiting[0].options
            with _attacked(Path(folder) / "-".join(options).strip("-"), options, workers) as (server, probes):
                while waiting and waiting[0].options == options:
                    row = _attack(waiting.pop(0), server, probes, memories, seconds)
                    yield row
                    if not row.ended or row.others_ms is None or row.longest_ms >= LONGEST * 1000:
                        break  # a new server: what goes on in this one would be counted for the next attack


def show(rows: Iterator[Row], as_json: bool) -> bool:
    """Print the rows as they come, the longest wait at the end. Whether all were fine."""
    all_rows = []
    if not as_json:
        say(f"{'attack':58} {'took s':>7} {'healthz ms':>10} {'machine ms':>10} {'others ms':>9}  answers")
    for row in rows:
        all_rows.append(row)
        if not as_json:
            say(_line(row))
    if as_json:
        print(json.dumps([asdict(row) for row in all_rows], indent=1))
    elif all_rows:
        worst = max(all_rows, key=lambda row: row.longest_ms)
        say(
            f"{sum(row.is_fine for row in all_rows)} of {len(all_rows)} are fine; the longest wait is "
            f"{worst.longest_ms:g} ms ({worst.attack}), {MOST_MS} are allowed."
        )
    return all(row.is_fine for row in all_rows)


def _line(row: Row) -> str:
    others = "none" if row.others_ms is None else f"{row.others_ms:.0f}"
    statuses = " ".join(f"{status}x{count}" for status, count in sorted(row.statuses.items()))
    notes = [statuses, *(["no end"] if not row.ended else []), *([f"{row.faults} faults"] if row.faults else [])]
    mark = "" if row.is_fine else "  <--"
    waited = f"{row.longest_ms:>10.0f} {row.machine_ms:>10.0f} {others:>9}"
    return f"{row.attack[:58]:58} {row.seconds:>7.1f} {waited}  {', '.join(notes)}{mark}"


def _attack(
    attack: Attack, server: HttpServer, probes: "subprocess.Popen[str]", memories: list[dict[str, Any]], seconds: float
) -> Row:
    me = f"attacker {time.monotonic_ns()}"
    target = Target(server.port, me, time.monotonic() + _PREPARE_SECONDS, memories)
    attack.prepare(target)
    target.statuses.clear()
    _probed(probes)
    logged = len(server.logged)
    began = time.monotonic()
    target.ends = began + seconds
    working = Thread(target=_run, args=(attack, target), daemon=True)
    working.start()
    working.join(seconds + 1)
    took = time.monotonic() - began
    ended = not working.is_alive() and target.statuses[0] == 0
    others = _others(server.port)
    probed = _probed(probes)
    faults = sum(_FAULT in line for line in server.logged[logged:])
    return Row(
        attack=attack.name,
        seconds=round(took, 2),
        statuses={str(status): count for status, count in target.statuses.items()},
        ended=ended,
        probes=probed["probes"],
        longest_ms=probed["longest_ms"],
        machine_ms=probed["machine_ms"],
        others_ms=others,
        faults=faults,
        whole=not attack.whole or set(target.statuses) == {200},
    )


def _run(attack: Attack, target: Target) -> None:
    try:
        attack.run(target)
    except (OSError, TypeError, KeyError):  # no connection, or an error where the attack needs an answer
        target.statuses[0] += 1


def _others(port: int) -> float | None:
    """The milliseconds of a call of somebody else, None when it isn't answered within seconds."""
    began = time.monotonic()
    other = Target(port, "somebody else", began + _OTHER_SECONDS)
    other.call("core.stats")
    return None if other.statuses[0] else round((time.monotonic() - began) * 1000, 1)


def _probed(probes: "subprocess.Popen[str]") -> dict[str, Any]:
    """The probes since the last time."""
    assert probes.stdin is not None
    assert probes.stdout is not None
    probes.stdin.write("\n")
    probes.stdin.flush()
    figures: dict[str, Any] = json.loads(probes.stdout.readline())
    return figures


@contextmanager
def _attacked(
    folder: Path, options: tuple[str, ...], workers: int
) -> Iterator[tuple[HttpServer, "subprocess.Popen[str]"]]:
    """A server, and the process that asks it how it is."""
    folder.mkdir(exist_ok=True)
    if "keys" in options:
        arguments = ["keys", "add", "--user", "ana", "--data", str(folder)]
        subprocess.run([*COMMAND, *arguments], check=True, capture_output=True)
    with ExitStack() as stack:
        server = stack.enter_context(http_server(folder, _CALLER, workers, options))
        command = [sys.executable, "-m", "bench.attacks.probing", str(server.port)]
        probes = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(probes.terminate)
        yield server, probes
