"""The operator API as an app: bounded bodies in front of its routes, errors as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hive_subagent.outbox.event_journal import EventJournal
from hive_subagent.server.api import events, openapi
from hive_subagent.server.api.endpoints import Endpoint
from hive_subagent.server.api.errors import json_answer, on_http_exception, transport_error
from hive_subagent.server.request_bodies import WholeBodies

PREFIX = "/api/v1"


def build_api(
    routes: Sequence[Endpoint[Any]], journal: EventJournal, *, body_limit: int
) -> ASGIApp:
    """To be mounted at `PREFIX`."""
    by_path: dict[str, dict[str, Endpoint[Any]]] = defaultdict(dict)
    for endpoint in routes:
        by_path[endpoint.path][endpoint.method] = endpoint

    @cache
    def described() -> dict[str, Any]:
        return openapi.describe(routes, prefix=PREFIX)

    async def description(request: Request) -> Response:
        return json_answer(described())

    app = Starlette(
        routes=[
            *(_route(path, of_path) for path, of_path in by_path.items()),
            Route(openapi.PATH, description, methods=["GET"]),
            Route(events.PATH, partial(events.serve_events, journal), methods=["GET"]),
        ],
        exception_handlers={HTTPException: on_http_exception},
    )
    return WholeBodies(app, limit=body_limit, refuse=transport_error)


def _route(path: str, by_method: Mapping[str, Endpoint[Any]]) -> Route:
    """One route for all methods of a path: so that the answer 405 names them all."""

    async def serve(request: Request) -> Response:
        # HEAD is answered as GET, without the body
        method = "GET" if request.method == "HEAD" else request.method
        return await by_method[method].serve(request)

    return Route(path, serve, methods=list(by_method))
