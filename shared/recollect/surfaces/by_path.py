"""Finds a route by its path at once: Starlette tries one after the other, dozens here, with a pattern each."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Match, Route, get_route_path
from starlette.types import Receive, Scope, Send


class ByPath(BaseRoute):
    """Routes whose paths have no parameters, as one route."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = {route.path: route for route in routes}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or (route := self._routes.get(get_route_path(scope))) is None:
            return Match.NONE, {}
        return route.matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._routes[get_route_path(scope)].handle(scope, receive, send)


def by_path(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """The same routes, quicker to choose from. No two have the same path."""
    fixed = [route for route in routes if isinstance(route, Route) and "{" not in route.path]
    return [ByPath(fixed), *(route for route in routes if route not in fixed)]
