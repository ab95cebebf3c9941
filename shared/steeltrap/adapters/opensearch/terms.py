"""Between values and the terms that stand for them in an index, the same for documents and for queries."""

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

from ...model import JsonObject
from ...text.matching import fold_tag

_LONGEST: Final = 200
_OF_USER: Final = 16
_NOT_SCALAR: Final = (list, dict, tuple)


def document_id(user: str, id: str) -> str:
    """A document's `_id`. Two users may hold memories of one id: an export that both imported."""
    return f"{id}.{user[:_OF_USER]}"


def exact(value: str) -> str:
    """A value as a term: itself, or a digest where it is longer than Lucene takes."""
    if len(value) <= _LONGEST:
        return value
    return "\N{PILCROW SIGN}" + blake2b(value.encode(errors="surrogatepass"), digest_size=24).hexdigest()


def token_term(user: str, token: str) -> str:
    """A user's word. Another user's same word is another term, with statistics of its own."""
    return f"{user[:_OF_USER]}{exact(token)}"


def tag_term(tag: str) -> str:
    return exact(fold_tag(tag))


def scopes_above(scope: str) -> list[str]:
    """A scope and those above it: "a" is above "a/b"."""
    return [exact(scope[:at]) for at, letter in enumerate(scope) if letter == "/"] + [exact(scope)]


def metadata_terms(metadata: JsonObject) -> list[str]:
    """A term for each top-level pair whose value is no list or object; 1 and 1.0 are equal, 1 and true are not."""
    return [metadata_term(key, value) for key, value in metadata.items() if not isinstance(value, _NOT_SCALAR)]


def metadata_term(key: str, value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return blake2b(json.dumps([key, value]).encode(), digest_size=16).hexdigest()


def present(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The pairs whose value is there."""
    return ((name, value) for name, value in pairs if value is not None)
