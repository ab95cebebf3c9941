"""`make screenshots`: pictures of the console with a person's memories, for the README and docs/console.md."""

import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, sync_playwright

from clock import SettableClock
from console import seeding
from console.conftest import chromium
from steeltrap.client.in_process import Memory
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.servers.console import Console, console_routes
from steeltrap.settings import read_settings
from surfaces.serving import served

START = datetime(2026, 10, 28, 8, 23, tzinfo=UTC)


class Picture(NamedTuple):
    """The subject of a picture: a page, or a search that is typed, in a theme and a size."""

    name: str
    path: str = "/"
    typed: str = ""
    dark: bool = False
    width: int = 1120
    height: int = 700


PICTURES = [
    Picture("console-search", typed="can we deploy on a Friday"),
    Picture("console-search-dark", typed="can we deploy on a Friday", dark=True),
    Picture("console-memory", path="/console/memories/{key}", height=960),
    Picture("console-phone", typed="deploy", width=390, height=720),
]


def main(folder: Path) -> None:
    path = chromium()
    if path is None:
        sys.exit("Chromium is not on the path: `apt-get install chromium` installs it.")
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(tempfile.mkdtemp())
    clock = SettableClock(START)
    door = open_door(read_settings({"STEELTRAP_TIMEZONE": "UTC"}, data=data), clock=clock)
    ids = seeding.a_few(Memory(door, Caller(UserRef("local"), "claude-code")), clock)
    pages = partial(console_routes, Console(door=door))
    with served(create_app(door, LocalUser("local", "default"), pages=pages)) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for picture in PICTURES:
            take(browser, url, ids, picture, folder)
        browser.close()
    shutil.rmtree(data)


def take(browser: Browser, url: str, ids: dict[str, str], picture: Picture, folder: Path) -> None:
    scheme: Any = "dark" if picture.dark else "light"
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(url + picture.path.format(**ids))
    if picture.typed:
        with page.expect_response(lambda response: "q=" in response.url and response.url.endswith(picture.typed[-3:])):
            page.locator("#q").press_sequentially(picture.typed)
        page.wait_for_function("document.getElementById('status').textContent.includes('found')")
    file = folder / f"{picture.name}.png"
    page.screenshot(path=file, caret="hide")
    context.close()
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--strip", "--speed", "1", "--output", str(file), str(file)], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
