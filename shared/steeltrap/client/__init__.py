"""Clients: the tools as calls of Python, in this process, against a server, or against deployed functions.

    connecting ─> calling ─> over_http, over_lambda ─> tool_table, answers
    in_process, in_loop: the engine on one folder, which `connecting` alone imports, when it is asked for one

Here: what a call looks like, its types for editors, and what is safe to repeat. Not here: what a tool does. Programs
import it, and so does `integrations`.
"""

from .calling import AsyncClient, Client
from .connecting import connect, connect_async

__all__ = ["AsyncClient", "Client", "connect", "connect_async"]
