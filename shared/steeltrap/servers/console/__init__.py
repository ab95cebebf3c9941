"""The console: pages on which a person sees, searches and changes what is remembered.

Here: HTML, forms, the cookie of who signed in. Not here: what a page does, which are calls of `core` through the door
as any server makes them. `servers.process` adds its routes to those of `asgi`.
"""

from .answering import Console
from .routes import console_routes
from .sessions import Sessions, open_secret

__all__ = ["Console", "Sessions", "console_routes", "open_secret"]
