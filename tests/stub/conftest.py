"""A home, a working directory and a way to start the stand-in in them; MCP servers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stub.process import TIMEOUT_S, Home, eventually
from stub.server import Fake

_SDK_SERVER = """
import logging, sys
logging.basicConfig(level=logging.ERROR)
import uvicorn
from mcp.server import MCPServer

server = MCPServer("signal")

@server.tool()
def report(text: str) -> str:
    return f"noted {text}"

class Announcing(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port}/mcp", file=open(sys.argv[1] + ".new", "w"), flush=True)
        import os
        os.replace(sys.argv[1] + ".new", sys.argv[1])

app = server.streamable_http_app(stateless_http=True)
Announcing(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")).run()
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.close()


@pytest.fixture
def fake() -> Iterator[Callable[[str], Fake]]:
    """Makes small MCP servers."""
    made: list[Fake] = []

    def make(way: str) -> Fake:
        made.append(Fake(way))
        return made[-1]

    yield make
    for server in made:
        server.close()


@pytest.fixture
def sdk_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file with the URL of a server built with the Python SDK."""
    url = tmp_path_factory.mktemp("sdk") / "url"
    process = subprocess.Popen([sys.executable, "-c", _SDK_SERVER, str(url)])
    try:
        eventually(lambda: url.exists() or process.poll() is not None)
        yield url
    finally:
        process.kill()
        process.wait(timeout=TIMEOUT_S)
