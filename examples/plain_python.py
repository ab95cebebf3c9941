"""A program with a memory, without a server: save, search, correct, undo, forget.

    python examples/plain_python.py

It prints:

    found: Ana moved to Lisbon in March.
    corrected: Ana moved to Porto in March.
    undone: Ana moved to Lisbon in March.
    forgotten; stored: 0
    an empty search says why: Nothing is stored yet.
"""

from tempfile import TemporaryDirectory

from steeltrap import open_memory

# A folder that is gone afterwards. `open_memory()` opens ~/.steeltrap.
with TemporaryDirectory() as folder, open_memory(folder, user="ana") as memory:
    saved = memory.core.save(content="Ana moved to Lisbon in March.", tags=["home"])

    [hit] = memory.core.search(query="Where does Ana live?", limit=1)["results"]
    print("found:", hit["content"])

    corrected = memory.core.update(id=saved["id"], content="Ana moved to Porto in March.")
    print("corrected:", corrected["content"])

    print("undone:", memory.core.undo(id=saved["id"])["content"])

    memory.core.forget(id=saved["id"])
    print("forgotten; stored:", memory.core.stats()["memories"])

    print("an empty search says why:", memory.core.search(query="Ana")["outcome"]["message"])
