"""The TypeScript client's own tests, on the Node that `make typescript` installs in its folder."""

import os

collect_ignore_glob = [] if os.environ.get("STEELTRAP_TEST_TYPESCRIPT") == "1" else ["test_*.py"]
