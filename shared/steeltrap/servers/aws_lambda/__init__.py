"""AWS Lambda: the handlers of all functions, and the events that they understand.

Here: events, contexts, and what a function reports. Not here: what a tool or an index does. Only `functions/` imports
it.
"""

import gc
import os
from typing import Final

ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""The environment of a function beside the settings, so that it starts sooner: NumPy's library for matrices starts
no threads, which would first wait busily, and pydantic looks through no package for a plugin."""

if "AWS_LAMBDA_RUNTIME_API" in os.environ:
    # A start makes 100,000 objects that stay. Python would look for garbage among them after every 700.
    gc.set_threshold(150_000)
