"""Merge: several memories become one that says what they said."""

from secrets import token_urlsafe

from ...errors import InvalidInput
from .asked import Asked, Page, Redirect, Reply, first, memory_url, url
from .rows import row


def merge_form(asked: Asked) -> Page:
    """The memories that were chosen, to be looked at before they are merged."""
    ids = list(dict.fromkeys(asked.query.get("id", ())))[:50]
    if len(ids) < 2:
        raise InvalidInput("Choose at least two memories to merge.")
    rows = [row(asked.ask("get", id=id), asked.zone) for id in ids]
    return Page(template="merge.html", values={"rows": rows, "once": token_urlsafe(16)})


def merge(asked: Asked) -> Reply:
    """Merge them; the same form twice makes one memory."""
    merged = asked.ask(
        "consolidate",
        once=first(asked.form, "once") or None,
        ids=asked.form.get("id", []),
        preserve_originals=first(asked.form, "originals") == "keep",
    )
    return Redirect(url(memory_url(merged["id"]), said="merged"))
