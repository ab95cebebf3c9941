"""Templates and static files: read once, named by what is in them, so that browsers may keep them for good."""

import gzip
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import Response

from ...model import JsonObject
from ...version import VERSION
from . import asked, bars, text

_HERE: Final = Path(__file__).parent
STATIC: Final = "/console/static"
_MEDIA: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_GOOD: Final = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent: plain and compressed."""

    media: str
    content: bytes
    digest: str
    zipped: bytes


@cache
def static_files() -> dict[str, StaticFile]:
    found = {}
    for path in sorted((_HERE / "static").iterdir()):
        if path.suffix in _MEDIA:
            content = path.read_bytes()
            digest = sha256(content).hexdigest()[:12]
            found[path.name] = StaticFile(_MEDIA[path.suffix], content, digest, gzip.compress(content, mtime=0))
    return found


def static_url(name: str) -> str:
    return f"{STATIC}/{static_files()[name].digest}/{name}"


def static_answer(digest: str, name: str, encodings: str) -> Response:
    """A file. Under another digest, of a page from before an upgrade, it is sent too, but not kept."""
    file = static_files().get(name)
    if file is None:
        return Response(status_code=404)
    headers = {
        "Cache-Control": _FOR_GOOD if digest == file.digest else "no-cache",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if "gzip" in encodings:
        return Response(file.zipped, 200, {**headers, "Content-Encoding": "gzip"}, media_type=file.media)
    return Response(file.content, 200, headers, media_type=file.media)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(shown=text.shown, plain=text.plain, lit=text.lit, number="{:,}".format)
    environment.globals.update(
        without=_without,
        static_url=static_url,
        url=asked.url,
        memory_url=asked.memory_url,
        bar=bars.bar,
        product_version=VERSION,
    )
    for name in environment.list_templates():
        environment.get_template(name)  # compiled now, so that nobody waits for it
    return environment


@dataclass(frozen=True, slots=True)
class Rendering:
    """Renders the templates."""

    environment: Environment = field(default_factory=_environment)

    def render(self, template: str, values: JsonObject) -> str:
        return self.environment.get_template(template).render(_with_defaults(values))


def _with_defaults(values: dict[str, Any]) -> dict[str, Any]:
    return {"said": None, "q": "", **values}


def _without(values: JsonObject, name: str) -> JsonObject:
    return {key: value for key, value in values.items() if key != name}
