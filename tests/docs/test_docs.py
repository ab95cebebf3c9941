"""What the documentation shows is what happens."""

import json
import re
from pathlib import Path

import pytest

from docs import generate
from recollect.toolsets import CATALOGUE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")] + sorted(ROOT.glob("docs/**/*.md"))


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_the_tool_pages_are_as_generated(toolset: str) -> None:
    page = ROOT / "docs" / "tools" / f"{toolset}.md"
    assert page.read_text() == generate.toolset_page(CATALOGUE.toolsets[toolset]), "run `make docs`"


def test_the_settings_page_is_as_generated() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == generate.settings_page(), "run `make docs`"


@pytest.mark.slow
def test_the_readmes_transcripts_are_what_its_commands_print() -> None:
    readme = (ROOT / "README.md").read_text()
    assert generate.with_transcripts(readme) == readme, "run `make docs`, and look at what changed"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_json_in_the_readme_is_json() -> None:
    for block in re.findall(r"```json\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        json.loads(block)
