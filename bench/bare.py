"""The server that the daemon is held against: the same SDK and uvicorn, one tool that does nothing.

python -m bench.bare PORT
"""

from __future__ import annotations

import logging
import sys

import uvicorn
from mcp.server import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def main() -> None:
    """Serve until killed."""
    logging.basicConfig(level=logging.WARNING)  # before the SDK does it, in colours
    server = MCPServer("bare")

    @server.tool()
    def noop() -> str:
        """Do nothing."""
        return "done"

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    app = server.streamable_http_app(streamable_http_path="/mcp", stateless_http=True)
    app.router.routes.append(Route("/healthz", healthz))
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        log_config=None,
        access_log=False,
        http="h11",
        ws="none",
        loop="asyncio",
    )


if __name__ == "__main__":
    main()
