"""Requests that schemathesis makes up from the OpenAPI document, in the environment that `make fuzz` installs."""

import os

collect_ignore_glob = [] if os.environ.get("STEELTRAP_TEST_FUZZ") == "1" else ["test_*.py"]
