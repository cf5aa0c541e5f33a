"""Where measurements happen: a daemon, a bare server, and the stub started by hand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from chaos.daemon import STUB, Daemon
from mcp import Client

from hive_subagent.claude import protocol
from hive_subagent.claude.invocation import build_argv

ROOT = Path(__file__).parents[1]
CALL_S = 120.0


def directive(*steps: dict[str, Any], turns: list[list[dict[str, Any]]] | None = None) -> str:
    """A prompt that the stub follows."""
    return f"[[STUB {json.dumps({'turns': turns or [list(steps)]})}]]"


class Caller:
    """A connected client whose answers must not be errors."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments, read_timeout_seconds=CALL_S)
        if result.is_error:
            raise RuntimeError(f"{tool} {arguments}: {result.content}")
        return dict(result.structured_content or {})

    async def timed(self, tool: str, /, **arguments: Any) -> float:
        """Seconds that one call took."""
        began = time.perf_counter()
        await self(tool, **arguments)
        return time.perf_counter() - began


@asynccontextmanager
async def calling(url: str) -> AsyncIterator[Caller]:
    """Connect to a server."""
    async with Client(f"{url}/mcp") as client:
        await client.list_tools()
        yield Caller(client)


@asynccontextmanager
async def a_daemon(root: Path, **settings: Any) -> AsyncIterator[tuple[Daemon, Caller]]:
    """A daemon with the stub, and a client of it."""
    daemon = Daemon(root, max_running=1000, **settings)
    try:
        await daemon.start()
        async with calling(daemon.url) as call:
            yield daemon, call
        await daemon.stop()
    finally:
        daemon.abandon()


@asynccontextmanager
async def a_bare_server() -> AsyncIterator[tuple[int, Caller]]:
    """The bare server's pid, and a client of it."""
    port = free_port()
    process = spawn_bare(port)
    try:
        await answering(port)
        async with calling(f"http://127.0.0.1:{port}") as call:
            yield process.pid, call
    finally:
        process.kill()
        process.wait()


def spawn_bare(port: int) -> subprocess.Popen[bytes]:
    """Start it; does not wait until it serves."""
    return subprocess.Popen([sys.executable, "-m", "bench.bare", str(port)], cwd=ROOT)


async def answering(port: int) -> None:
    """Wait until /healthz answers 200."""
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    with anyio.fail_after(CALL_S):
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=CALL_S) as connection:
                    connection.sendall(request)
                    if b" 200 " in connection.recv(64):
                        return
            except OSError:
                await anyio.sleep(0.002)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def a_brief(daemon: Daemon) -> Path:
    """A file with instructions."""
    file = daemon.root / "brief.md"
    file.write_text("Do what you are told.\n")
    return file


def spawn_stub(daemon: Daemon, prompt: str) -> subprocess.Popen[bytes]:
    """The stub as the daemon starts it: same argv, message and environment, nothing around it."""
    argv = build_argv(STUB, session_id=str(uuid.uuid4()), name="raw", brief=a_brief(daemon))
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd=daemon.work,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(daemon.root),
            "LANG": "C.UTF-8",
            "IS_SANDBOX": "1",
            "CLAUDE_CONFIG_DIR": str(daemon.claude),
        },
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(protocol.user_message(prompt, uuid=str(uuid.uuid4())))
    return process
