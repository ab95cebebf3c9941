"""The server of the stdio tests: `python -m surfaces.stdio_server FOLDER TOOLSET CALLER`, the caller as JSON.

TOOLS_OF_A_TEST may name a module whose `registered()` adds tools to the catalogue.
"""

import json
import os
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

from embedding import HashedWords
from steeltrap import settings_file
from steeltrap.model import Caller, UserRef
from steeltrap.runtime.local import open_door
from steeltrap.servers.mcp import run_stdio
from steeltrap.settings import read_settings

folder, toolset, caller = sys.argv[1:]
more = os.environ.get("TOOLS_OF_A_TEST")
with import_module(more).registered() if more else nullcontext():
    settings = read_settings({}, data=Path(folder), **settings_file.read(folder))
    door = open_door(settings, embedder=HashedWords())
    named = json.loads(caller)
    run_stdio(door, toolset, Caller(UserRef(named.pop("user_id"), named.pop("tenant", "")), **named))
    door.store.close()
