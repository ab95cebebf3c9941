"""`python docs/packages.py`: the packages of an install, what each costs and why; the tables in `packages.md`.

Sizes are those of the files in this environment, without compiled bytecode.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("packages.md")
REASONS: Final = {
    "apsw": "a current SQLite, the same on every machine",
    "fastapi": "HTTP: routes and OpenAPI",
    "fsrs": "how fast a memory fades (FSRS)",
    "google-re2": "finds secrets in time that grows with the text alone",
    "httptools": "the one HTTP parser, which refuses requests that can be read in two ways",
    "jinja2": "the console's pages",
    "markdown-it-py": "Markdown of memories as the console shows it",
    "mcp": "MCP over stdio and HTTP",
    "nh3": "removes what is not allowed from rendered HTML",
    "numpy": "vectors and scores",
    "prometheus-client": "`/metrics`",
    "pydantic": "arguments and answers of tools: types, limits, schemas",
    "pyjwt": "tokens of OpenID Connect",
    "pystemmer": "forms of a word, for the search by words",
    "python-multipart": "files that are dropped on the console",
    "pyyaml": "front matter of Markdown notes that are imported",
    "rich": "tables and progress on a terminal",
    "steeltrap": "the code (4 MB), and the default embedder with its languages",
    "tomlkit": "settings files of clients, with their comments kept",
    "typer": "the command line",
    "tzdata": "time zones, where the system has none",
    "urllib3": "embedders behind an endpoint",
    "uvicorn": "the server's process",
    "uvloop": "a faster event loop",
}
"""Why each package is here that pyproject.toml names. Those that they require in turn are theirs."""

_TABLES: Final = re.compile(r"(<!-- packages -->\n).*?(<!-- end -->)", re.DOTALL)
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Package:
    """One package of an install, in MB, and what it is for or which packages need it."""

    name: str
    size: float
    reason: str


def packages(*extras: str) -> list[Package]:
    """What `pip install steeltrap` brings here, with these extras; the largest first."""
    needed: dict[str, set[str]] = {"steeltrap": set()}
    asked = [("steeltrap", frozenset(extras))]
    for name, wanted in asked:  # it grows meanwhile
        for each, further in _required(name, wanted):
            known = each in needed
            needed.setdefault(each, set()).add(name)
            if not known or further:
                asked += [(each, further)] if (each, further) not in asked else []
    found = [Package(name, _size(name), _reason(name, sorted(users - {name}))) for name, users in needed.items()]
    return sorted(found, key=lambda package: (-package.size, package.name))


def _reason(name: str, users: list[str]) -> str:
    """Why it is here, or the packages that need it where steeltrap itself doesn't."""
    if name == "steeltrap" or "steeltrap" in users:
        return REASONS[name]
    return f"for {', '.join(users[:3])}" + (" and others" if len(users) > 3 else "")


def tables() -> str:
    """The packages of the library, and those that the extra `server` adds."""
    library, product = packages(), packages("server")
    known = {package.name for package in library}
    added = [package for package in product if package.name not in known]
    return "\n".join(
        [
            f"Python, the command line and MCP over stdio: {_summary(library)}.",
            *_table(library),
            f"The extra `server` adds {_summary(added)}.",
            *_table(added),
        ]
    )


def with_tables(text: str) -> str:
    """The page with its tables."""
    return _TABLES.sub(lambda found: f"{found[1]}{tables()}\n{found[2]}", text)


def _table(listed: list[Package]) -> list[str]:
    rows = [f"| {each.name} | {max(each.size, 0.1):.1f} | {each.reason} |" for each in listed]
    return ["", "| package | MB | for |", "|---|---|---|", *rows, ""]


def _summary(listed: list[Package]) -> str:
    return f"{len(listed)} packages, {sum(each.size for each in listed):.0f} MB"


def _required(name: str, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    # `make dist` imports this module beside the product alone, which lacks it.
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    if name == "steeltrap":  # as pyproject.toml has it now; this environment may be of an earlier one
        project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]
        lines = [
            *project["dependencies"],
            *(line for each in extras for line in project["optional-dependencies"][each]),
        ]
    else:
        lines = _distribution(name).requires or []
    for line in lines:
        asked = Requirement(line)
        if asked.marker is None or any(asked.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(asked.name), frozenset(asked.extras)


def _size(name: str) -> float:
    files = [Path(str(each.locate())) for each in _distribution(name).files or ()]
    if name == "steeltrap":  # installed from this folder, which an entry of its files only names
        files = [*(Path(__file__).parents[1] / "shared" / "steeltrap").rglob("*")]
    # RECORD lists the bytecode too, where an installer has made it.
    kept = (each for each in files if each.suffix != ".pyc" and each.name != "RECORD" and each.is_file())
    return sum(each.stat().st_size for each in kept) / _MB


@cache
def _distribution(name: str) -> Distribution:
    return distribution(name)


if __name__ == "__main__":
    print(tables())
