"""An MCP server of somebody else on loopback, which notes who called."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from e2e.fake_api import Server


@dataclass
class Extra:
    """Where it listens, what was said to it, and with which Authorization."""

    url: str
    heard: list[str] = field(default_factory=list)
    authorizations: set[str] = field(default_factory=set)


@asynccontextmanager
async def extra_server() -> AsyncIterator[Extra]:
    """One server with the tools `tell` and `hush`."""
    listener = socket.create_server(("127.0.0.1", 0))
    extra = Extra(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
    server = MCPServer("extra", log_level="WARNING")

    @server.tool()
    async def tell(words: str) -> str:
        """Say something to the extra server."""
        extra.heard.append(words)
        return "heard"

    @server.tool()
    async def hush() -> str:
        """Say nothing."""
        return "hushed"

    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(stateless_http=True, transport_security=security)
    config = uvicorn.Config(
        _noting(app, extra), lifespan="off", log_level="critical", timeout_graceful_shutdown=1
    )
    serving = Server(config)
    async with server.session_manager.run(), anyio.create_task_group() as group:
        group.start_soon(lambda: serving.serve(sockets=[listener]))
        try:
            yield extra
        finally:
            serving.should_exit = True


def _noting(app: ASGIApp, extra: Extra) -> ASGIApp:
    async def noting(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            extra.authorizations.add(Request(scope).headers.get("authorization", ""))
        await app(scope, receive, send)

    return noting
