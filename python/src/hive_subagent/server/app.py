"""The HTTP surface: what the port and the operator socket serve, behind which guards; lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from hive_subagent.models.replies import Health
from hive_subagent.server.api.app import PREFIX, build_api
from hive_subagent.server.api.routes import Services, endpoints
from hive_subagent.server.guards import (
    LocalNames,
    LocalOnly,
    OwnerOnly,
    RightAgentOnly,
    TokenHoldersOnly,
)
from hive_subagent.server.http_messages import Messages, PostOnly, Streams
from hive_subagent.server.metrics import PATH as METRICS
from hive_subagent.server.operator_socket import NamesAgent, NoPages
from hive_subagent.server.request_bodies import OneAtATime, WholeBodies

PATH = "/mcp"

BODY_LIMIT = 20 * 1024 * 1024
"""Bytes of a request; a prompt of the largest size fits even with every character escaped once."""

SIGNAL_LIMIT = 64 * 1024
"""Bytes of a subagent's request: a sentence or two, and a path."""


@dataclass(frozen=True)
class Apps:
    """What is served: `public` at the port, with the lifespan of both, `operator` at the socket."""

    public: ASGIApp
    operator: ASGIApp


def build_apps(
    *,
    agent: MCPServer,
    signal: MCPServer,
    knows_token: Callable[[str], bool],
    health: Callable[[], Health],
    services: Services,
    metrics: Callable[[Request], Awaitable[Response]],
    auth_token: str | None,
    local: LocalNames,
    streams: Streams,
) -> Apps:
    """The apps of one daemon; the public one's lifespan runs both servers."""
    agent_name = services.settings.agent_name
    agent_app: ASGIApp = _mountable(agent, streams, lambda app: WholeBodies(app, limit=BODY_LIMIT))
    api = build_api(endpoints(services), services.journal, body_limit=BODY_LIMIT)

    # an app, as the guard in front of it takes one
    figures = Starlette(routes=[Route(METRICS, metrics, methods=["GET"])])

    def for_owner(app: ASGIApp) -> ASGIApp:
        return app if auth_token is None else OwnerOnly(app, auth_token)

    signal_app = TokenHoldersOnly(
        _mountable(signal, streams, lambda app: OneAtATime(app, limit=SIGNAL_LIMIT)), knows_token
    )

    async def healthz(request: Request) -> Response:
        # a count that grows with the runs that have ended is a leak
        about = health().model_copy(update={"tasks": len(asyncio.all_tasks())})
        return JSONResponse(about.model_dump())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # the lifespan of a mounted app never runs
        async with AsyncExitStack() as stack:
            for server in (agent, signal):
                await stack.enter_async_context(server.session_manager.run())
            yield

    public = Starlette(
        routes=[
            Route("/healthz", healthz, methods=["GET"]),
            Mount("/signal/{token}", app=signal_app),
            Mount(PREFIX, app=for_owner(RightAgentOnly(api, agent_name) if agent_name else api)),
            Route(METRICS, for_owner(figures)),
            Mount("/", app=for_owner(agent_app)),
        ],
        middleware=[Middleware(LocalOnly, local=local)],
        lifespan=lifespan,
    )
    operator = Starlette(
        routes=[
            Route("/healthz", healthz, methods=["GET"]),
            Mount(PREFIX, app=api),
            Route(METRICS, figures),
            Mount("/", app=NamesAgent(agent_app, agent_name) if agent_name else agent_app),
        ],
        middleware=[Middleware(NoPages)],
    )
    return Apps(public, operator)


def _mountable(
    server: MCPServer, streams: Streams, with_bodies: Callable[[ASGIApp], ASGIApp]
) -> Starlette:
    """The server's route below the layers that bound and check what reaches it."""
    # stateless: a restarted daemon serves a client that kept its old session id, and a refused
    # request leaves nothing behind
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=BODY_LIMIT,
        # LocalOnly stands in front of every route, in one place
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Starlette(routes=[Route(PATH, PostOnly(with_bodies(Messages(app, streams))))])
