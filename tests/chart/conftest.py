"""The Helm chart, as `make chart` lints, renders and validates it."""

import os

collect_ignore_glob = [] if os.environ.get("STEELTRAP_TEST_CHART") == "1" else ["test_*.py"]
