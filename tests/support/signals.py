"""A `signal` server that connects and has no tools, for runs with a goal and no daemon."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Its address, on a free port of 127.0.0.1."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        asked: dict[str, Any] = json.loads(await reader.readexactly(size))
        body = b""
        if "id" in asked:
            body = json.dumps(
                {"jsonrpc": "2.0", "id": asked["id"], "result": _RESULTS.get(asked["method"], {})}
            ).encode()
        status = "200 OK" if body else "202 Accepted"
        about = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"HTTP/1.1 {status}\r\n{about}Connection: close\r\n\r\n".encode() + body)
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        return
    finally:
        writer.close()


_RESULTS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "signal", "version": "0"},
    },
    "tools/list": {"tools": []},
}
