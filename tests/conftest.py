"""Hypothesis without deadlines, the same examples at every run in CI; a clock that stands still; the store of a run."""

import gc
import logging
import os
import ssl
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import certifi
import httpx
import pytest
from hypothesis import HealthCheck, settings

# By default pytest explains only the failed asserts of test modules. Modules that tests share assert too. Tests import
# them by their own name or by their folder's, and pytest must know both names before the first import.
_FILES = Path(__file__).parent.glob("*/*.py")
_SHARED = [path for path in _FILES if not path.name.startswith(("test_", "_", "conftest."))]
pytest.register_assert_rewrite(*(path.stem for path in _SHARED))
pytest.register_assert_rewrite(*(f"{path.parent.name}.{path.stem}" for path in _SHARED))

from clock import SettableClock  # noqa: E402
from stores import Opening, chosen, opening  # noqa: E402

# Functions' bundles leave these out (infra/bundle.py): what needs one fails here as it would there. NumPy itself
# imports `ma` for some calls of `np.unique` and `np.isin`.
sys.modules.update(dict.fromkeys(("numpy.ma", "numpy.fft", "numpy.polynomial")))

# Stores sync each write: on a disk that others use too, most of a test's time goes there. Some tests run programs from
# their folder, and some write gigabytes.
_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30
if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK):
    _of_memory = os.statvfs(_MEMORY)
    if not _of_memory.f_flag & os.ST_NOEXEC and _of_memory.f_bavail * _of_memory.f_frsize >= _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# Each client of httpx reads the certificates of all authorities, which takes 40 ms: certifi's are read once.
_new_context = ssl.create_default_context


@cache
def _usual_context() -> ssl.SSLContext:
    return _new_context(cafile=certifi.where())


def _context(*given: Any, **named: Any) -> ssl.SSLContext:
    is_usual = not given and named == {"cafile": certifi.where()}
    return _usual_context() if is_usual else _new_context(*given, **named)


ssl.create_default_context = _context

# httpx waits for 5 s unless a call says otherwise. A server that a test runs may need longer where all processors and
# the disk are busy; one that never answers still fails its test.
httpx.get.__kwdefaults__["timeout"].read = 60.0

_QUIET = {
    "deadline": None,
    "database": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
settings.register_profile("local", max_examples=60, **_QUIET)
settings.register_profile("ci", max_examples=60, derandomize=True, print_blob=True, **_QUIET)
settings.register_profile("quick", max_examples=10, derandomize=True, print_blob=True, **_QUIET)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _log_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command line sends the log to its own stderr; the next test's log is read by pytest again."""
    for logger in map(logging.getLogger, ("steeltrap", "uvicorn")):
        monkeypatch.setattr(logger, "handlers", list(logger.handlers))
        monkeypatch.setattr(logger, "level", logger.level)
        monkeypatch.setattr(logger, "propagate", logger.propagate)


@pytest.fixture
def clock() -> SettableClock:
    clock = SettableClock()
    if chosen() == "aws":
        clock.stand()  # real parts take seconds on a busy machine: no call's time is over by that
    return clock


@pytest.fixture(scope="session")
def open_store() -> Iterator[Opening]:
    """Opens stores of the kind that STEELTRAP_TEST_STORE names."""
    with opening(chosen()) as found:
        yield found


@pytest.fixture
def without_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine where nothing of AWS is set up."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return monkeypatch


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first case of each test in the folders and files that STEELTRAP_TEST_FIRST names, and in those of
    STEELTRAP_TEST_EACH the first case with each value: every surface and every input, not every input on every surface.

    Another Python, library or store differs in kind, which one case shows; hundreds of inputs were tried on the first.
    A run on the cloud's store keeps what opens a store: anything else would be the same test again.
    """
    if chosen() == "aws":
        _keep(config, items, [item for item in items if "open_store" in getattr(item, "fixturenames", ())])
    first, each = _named("STEELTRAP_TEST_FIRST"), _named("STEELTRAP_TEST_EACH")
    if not first | each:
        return
    seen: set[tuple[str, str, int]] = set()
    kept = []
    for item in items:
        test, cases = item.nodeid.partition("[")[0], getattr(item, "callspec", None)
        places = {item.path, item.path.parent}
        values = {(test, "", 0)}
        if places & each and cases is not None:
            values = {(test, name, id(value)) for name, value in cases.params.items()}
        if not places & (first | each) or not values <= seen:
            kept.append(item)
        seen |= values
    _keep(config, items, kept)


def _keep(config: pytest.Config, items: list[pytest.Item], kept: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def _named(name: str) -> set[Path]:
    return {Path(__file__).parent / place for place in os.environ.get(name, "").split()}


# Collecting makes millions of objects that stay: looking for garbage among them takes a fifth of its time, and some of
# each test's.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line on what was left out, and why."""
    skipped = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())]
    if skipped:
        why = "; ".join(f"{reason} ({count})" for reason, count in Counter(skipped).most_common())
        terminalreporter.write_line(f"left out: {len(skipped)} tests: {why}")
