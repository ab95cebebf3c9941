"""Finds a route by its path at once: Starlette tries one after the other, dozens here, with a pattern each."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send


class ByPath(BaseRoute):
    """Routes whose paths have no parameters, as one route."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = {route.path: route for route in routes}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or (route := self._routes.get(_path(scope))) is None:
            return Match.NONE, {}
        return route.matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._routes[_path(scope)].handle(scope, receive, send)


def by_path(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """The same routes, quicker to choose from. No two have the same path."""
    fixed = [route for route in routes if isinstance(route, Route) and "{" not in route.path]
    return [ByPath(fixed), *(route for route in routes if route not in fixed)]


def _path(scope: Scope) -> str:
    """The path below where the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))
