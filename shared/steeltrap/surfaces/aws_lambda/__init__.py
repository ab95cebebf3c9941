"""AWS Lambda: the handlers of all functions, and the events that they understand.

Here: events, contexts, and what a function reports. Not here: what a tool or an index does. Only `functions/` imports
it.
"""

from typing import Final

ENVIRONMENT: Final = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""What a function's environment has beside the settings, so that it starts sooner: NumPy's library for matrices starts
no threads, which would first wait busily, and pydantic looks through no package for a plugin."""
