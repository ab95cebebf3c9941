"""A real server whose clock jumps: nothing acknowledged is lost, and what was in order stays in order."""

from pathlib import Path
from typing import Final

from faults.real_server import contents, save, serving

_JUMPING: Final = """
from datetime import UTC, datetime, timedelta
from pathlib import Path
from steeltrap import runtime

runtime.SystemClock.now = lambda self: datetime.now(UTC) + timedelta(days=float(Path({!r}).read_text()))
"""


def test_a_server_whose_clock_jumps_keeps_its_versions_in_order_and_finds_everything(tmp_path: Path) -> None:
    ahead = tmp_path / "days ahead"
    ahead.write_text("0")
    with serving(tmp_path / "data", before=_JUMPING.format(str(ahead))) as server:
        first = save(server, "ana", "the heron")
        saved = {first}
        for version, days in enumerate(("3650", "-3650", "-1", "0"), 2):
            ahead.write_text(days)
            assert server.request("GET", "/readyz")[0] == 200
            status, body = server.call("core.update", "ana", id=first, content=f"the heron {version}")
            assert (status, body["version"]) == (200, version)
            saved.add(save(server, "ana", f"otter {version}"))
            assert set(contents(server, "ana")) == saved
            assert len(server.call("core.search", "ana", query="otter", limit=50)[1]["results"]) == len(saved)
        revisions = server.call("core.history", "ana", id=first)[1]["revisions"]
        assert [revision["memory"]["version"] for revision in revisions] == [1, 2, 3, 4, 5]
        assert server.call("core.undo", "ana", id=first)[1]["content"] == "the heron 4"
