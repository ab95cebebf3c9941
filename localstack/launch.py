"""Starts and ends the parts that production runs on, without Docker: `launch.py up|down|status [part ...]`.

Everything binds to the loopback. `up` leaves alone what runs already, `down` ends only what `up` started.
`launch.py run part ... -- command` starts what isn't running, runs the command, and ends what it started.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from parts import PARTS, STATE, Missing, Part

HEALTHY_SECONDS = 90
ENDING_SECONDS = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("up", "down", "status", "run"))
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(part.name for part in PARTS)}")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    command = sys.argv[at + 1 :]
    arguments = parser.parse_args(sys.argv[1:at])
    known = {part.name: part for part in PARTS}
    if unknown := set(arguments.parts) - set(known):
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(known)}")
    chosen = [known[name] for name in arguments.parts] or with_this_python(list(PARTS))
    try:
        if arguments.action == "run":
            return run(chosen, command)
        return {"up": up, "down": down, "status": status}[arguments.action](chosen)
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 1


def with_this_python(parts: list[Part]) -> list[Part]:
    """The parts that this Python can start, or that run already; one line names what is left out."""
    left = [part for part in parts if not part.fits() and not part.answers()]
    for part in left:
        print(f"{part.name:<11} is left out: it needs Python {'.'.join(map(str, part.python or ()))}")
    return [part for part in parts if part not in left]


def up(parts: list[Part]) -> int:
    """Start what isn't running and wait until all of it answers."""
    for part in parts:
        if part.answers():
            continue
        part.check()
        part.prepare()
        start(part)
    for part in parts:
        wait(part)
    return status(parts)


def run(parts: list[Part], command: list[str]) -> int:
    """The exit code of a command that runs while the parts do."""
    ours = [part for part in parts if not part.answers()]
    try:
        return up(parts) or subprocess.run(command, check=False).returncode
    finally:
        down([part for part in ours if running(part) is not None])


def down(parts: list[Part]) -> int:
    """End what `up` started, and nothing else. What doesn't end when asked is killed: nothing in it is kept."""
    for part in parts:
        if (process := running(part)) is None:
            print(f"{part.name:<11} was not started here")
            continue
        if not (_ends(process, part.end) or _ends(process, signal.SIGKILL)):
            raise Missing(f"{part.name} does not end")
        _note(part).unlink(missing_ok=True)
        part.clear()
        print(f"{part.name:<11} ended")
    return 0


def status(parts: list[Part]) -> int:
    """Say what runs where."""
    for part in parts:
        state = part.url if part.answers() else "is not running"
        print(f"{part.name:<11} {state}")
    return 0


def start(part: Part) -> None:
    """Start a part as a process group of its own, its output in a log."""
    part.clear()
    part.temporary.mkdir(exist_ok=True)
    with (part.home / "log").open("w") as log:
        process = subprocess.Popen(
            part.command(part.home),
            cwd=part.home,
            env={**os.environ, "TMPDIR": str(part.temporary), **dict(part.environment)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _note(part).write_text(json.dumps({"pid": process.pid, "started": _started(process.pid)}))


def wait(part: Part) -> None:
    """Return when a part answers. Raises Missing with the end of its log when it doesn't."""
    ends = time.monotonic() + HEALTHY_SECONDS
    while not part.answers():
        if time.monotonic() > ends or running(part) is None:
            log = (part.home / "log").read_text(errors="replace").strip()[-2000:]
            raise Missing(f"{part.name} does not answer on port {part.port}; its log ends:\n{log}")
        time.sleep(0.2)


def running(part: Part) -> int | None:
    """The process that `up` started for a part, while it lives; a number that was used again is not ours."""
    try:
        note = json.loads(_note(part).read_text())
    except (OSError, ValueError):
        return None
    pid = int(note["pid"])
    return pid if _alive(pid) and _started(pid) == note["started"] else None


def _note(part: Part) -> Path:
    return STATE / f"{part.name}.json"


def _alive(pid: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _started(pid: int) -> str:
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()


def _ends(process: int, by: signal.Signals) -> bool:
    """Whether a process group ends within ENDING_SECONDS when it gets a signal."""
    with suppress(ProcessLookupError):
        os.killpg(process, by)
    ends = time.monotonic() + ENDING_SECONDS
    while _alive(process):
        if time.monotonic() > ends:
            return False
        time.sleep(0.1)
    return True


if __name__ == "__main__":
    sys.exit(main())
