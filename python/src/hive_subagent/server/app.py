"""The HTTP surface: routes, guards, lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from hive_subagent.models.replies import Health
from hive_subagent.server.guards import LocalNames, LocalOnly, OwnerOnly, TokenHoldersOnly
from hive_subagent.server.http_messages import Messages, PostOnly, Streams
from hive_subagent.server.request_bodies import OneAtATime, WholeBodies

PATH = "/mcp"

BODY_LIMIT = 20 * 1024 * 1024
"""Bytes of a request; a prompt of the largest size fits even with every character escaped once."""

SIGNAL_LIMIT = 64 * 1024
"""Bytes of a subagent's request: a sentence or two, and a path."""


def build_app(
    *,
    agent: MCPServer,
    signal: MCPServer,
    knows_token: Callable[[str], bool],
    health: Callable[[], Health],
    auth_token: str | None,
    local: LocalNames,
    streams: Streams,
) -> Starlette:
    """The app of one daemon; its lifespan runs both servers."""
    agent_app: ASGIApp = _mountable(agent, streams, lambda app: WholeBodies(app, limit=BODY_LIMIT))
    if auth_token is not None:
        agent_app = OwnerOnly(agent_app, auth_token)
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

    return Starlette(
        routes=[
            Route("/healthz", healthz, methods=["GET"]),
            Mount("/signal/{token}", app=signal_app),
            Mount("/", app=agent_app),
        ],
        middleware=[Middleware(LocalOnly, local=local)],
        lifespan=lifespan,
    )


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
