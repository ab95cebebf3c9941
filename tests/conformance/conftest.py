"""Other projects' checks of an MCP server, on the Node that `make conformance` installs here."""

import os

collect_ignore_glob = [] if os.environ.get("STEELTRAP_TEST_CONFORMANCE") == "1" else ["test_*.py"]
