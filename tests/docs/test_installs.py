"""The pages and the program name no index that steeltrap isn't in, and one setting changes what they say."""

import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from docs import installs
from steeltrap.version import RELEASED

ROOT = installs.ROOT
FROM_AN_INDEX = re.compile(
    r"pip install (?:--[\w-]+ )*[\"']?steeltrap|uvx [\"']?steeltrap|uv tool install [\"']?steeltrap|ghcr\.io/|"
    r"npm install steeltrap|"
    r"marketplace add steeltrap-memory"
)
TOLD = [
    *(ROOT / "README.md", ROOT / "examples" / "README.md", ROOT / "models" / "small" / "README.md"),
    installs.TYPESCRIPT,
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("deploy/*")),
    *(path for path in sorted((ROOT / "shared/steeltrap").rglob("*.py")) if path.name != "installation.py"),
]
"""The texts that readers and users see. `installation.py` names an index only where steeltrap came from one."""


@pytest.mark.parametrize("page", installs.PAGES, ids=lambda page: page.name)
def test_a_page_says_how_one_gets_steeltrap_as_the_setting_has_it(page: Path) -> None:
    text = page.read_text()
    assert "<!-- install: " in text
    assert installs.with_installs(text) == text, "run `make docs`"


def test_the_plugins_script_asks_an_index_as_the_setting_has_it() -> None:
    text = installs.SCRIPT.read_text()
    assert "\nreleased=" in text
    assert installs.script(text) == text, "run `make docs`"


@pytest.mark.skipif(RELEASED, reason="it is in the indexes")
def test_before_the_first_release_nobody_is_sent_to_an_index_that_lacks_it() -> None:
    sent = [path for path in TOLD if path.is_file() and FROM_AN_INDEX.search(path.read_text())]
    assert sent == []


def test_the_setting_turns_every_text_from_the_clone_to_the_index() -> None:
    for page in installs.PAGES:
        text = page.read_text()
        before, after = (installs.with_installs(text, released=released) for released in (False, True))
        assert not FROM_AN_INDEX.search(before)
        assert FROM_AN_INDEX.search(after)
        assert installs.with_installs(after, released=False) == before


@pytest.mark.parametrize(("released", "starts"), [(False, ""), (True, "uvx steeltrap mcp\n")])
def test_the_plugin_starts_what_an_index_has_only_once_it_is_there(released: bool, starts: str, tmp_path: Path) -> None:
    script, uvx = tmp_path / "start.sh", tmp_path / "bin" / "uvx"
    script.write_text(installs.script(installs.SCRIPT.read_text(), released=released))
    uvx.parent.mkdir()
    uvx.write_text('#!/bin/sh\necho uvx "$@"\n')
    uvx.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", script, "mcp"], env={"PATH": str(uvx.parent)}, capture_output=True, text=True, check=False
    )
    assert done.stdout == starts
    assert ("not on PATH" in done.stderr) is not released


def test_an_index_shows_the_readme_with_links_and_pictures_that_lead_into_the_repository() -> None:
    project = ProjectMetadata(str(ROOT), PluginManager())
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", project.core.readme)
    text = (ROOT / "README.md").read_text()
    assert len(links) == len(re.findall(r"!?\[[^\]]*\]\([^)]+\)", text))
    repository = urlsplit(project.core.urls["Source"]).path
    for is_picture, link in links:
        url = urlsplit(link)
        assert url.scheme == "https", link
        if url.path.startswith(f"{repository}/"):
            kind, _, path = url.path.removeprefix(f"{repository}/").partition("main/")
            assert (url.netloc, kind) == (("raw.githubusercontent.com", "") if is_picture else ("github.com", "blob/"))
            assert (ROOT / path).is_file(), link
