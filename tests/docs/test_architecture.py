"""docs/architecture.md names each file that a save and a search enter."""

import gc
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from starlette.testclient import TestClient

import steeltrap
from steeltrap.runtime.local import open_door
from steeltrap.servers.asgi.app import create_app
from steeltrap.servers.auth.identity import LocalUser
from steeltrap.settings import Settings

PACKAGE = Path(steeltrap.__file__).parent
PAGE = PACKAGE.parents[1] / "docs" / "architecture.md"


@contextmanager
def entered(files: dict[int, set[str]]) -> Iterator[None]:
    """Notes, by thread, the product's files whose functions are called in the block, in threads that begin in it, too.

    Nothing is collected meanwhile: what another test left would end here, in whichever thread it happens.
    """

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(PACKAGE):
            files[threading.get_ident()].add(path.relative_to(PACKAGE).as_posix())

    gc.collect()
    gc.disable()
    before = sys.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield
    finally:
        threading.setprofile(None)
        sys.setprofile(before)
        gc.enable()


def named(*headings: str) -> set[str]:
    """The files of the package to which the page links under some headings."""
    sections = dict(part.split("\n", 1) for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:])
    return {
        path for heading in headings for path in re.findall(r"\]\(\.\./shared/steeltrap/([^)]+)\)", sections[heading])
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "headings"),
    [
        ("save", {"content": "Ana moved to Porto in 2024."}, ("A save",)),
        ("search", {"query": "Where did Ana live in May?"}, ("A save", "A search")),
    ],
)
def test_the_page_names_every_file_that_a_call_enters(
    tmp_path: Path, tool: str, arguments: dict[str, str], headings: tuple[str, ...]
) -> None:
    by_thread: dict[int, set[str]] = defaultdict(set)
    app = create_app(open_door(Settings(data=tmp_path)), LocalUser("local", "default"))
    with entered(by_thread), TestClient(app, base_url="http://127.0.0.1:8000") as client:
        assert client.post("/v1/core/save", json={"content": "Ana works at Acme in Lisbon."}).is_success
        assert client.post(f"/v1/core/{tool}", json=arguments).is_success
        by_thread.clear()  # The first calls loaded and opened what later ones only use.
        assert client.post(f"/v1/core/{tool}", json=arguments).is_success
        # Threads that warm up or tidy go on beside the call: they are none of it.
        files = set().union(*(each for each in by_thread.values() if each & {"invoke.py", "servers/asgi/app.py"}))
    assert files > {"invoke.py", "engine/call.py"}
    assert files - named(*headings) == set()


def test_each_decision_names_a_function_of_the_file_that_it_links_to() -> None:
    table = PAGE.read_text(encoding="utf-8").split("\n## Where each decision is made\n")[1].split("\n## ")[0]
    places = re.findall(r"((?:`\w+`(?:, | and )?)+)[^`|]*\[`([^`]+\.py)`\]", table)
    missing = [
        f"{name} in {file}"
        for names, file in places
        for name in re.findall(r"`(\w+)`", names)
        if not re.search(rf"\b(?:def|class) {name}\b|^    {name}:", (PACKAGE / file).read_text(), re.MULTILINE)
    ]
    assert len(places) > 10
    assert not missing
