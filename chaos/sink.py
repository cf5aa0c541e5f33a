"""A `unix:` sink of the harness: counts how often each notice is delivered."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

Heard = Callable[[dict[str, Any]], None]


class Deliveries:
    """How often each notice id came."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, notice: dict[str, Any]) -> None:
        self.counts[notice["id"]] += 1


@asynccontextmanager
async def listening(path: Path, heard: Heard) -> AsyncIterator[None]:
    """Serve the socket, calling `heard` with each notice before it is accepted."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if line := await reader.readline():
                heard(json.loads(line))
                writer.write(b'{"ok":true}\n')
                await writer.drain()
        except ConnectionError:
            pass  # the daemon was killed while it delivered: it will come again
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, path, limit=1 << 20)
    try:
        yield
    finally:
        server.close()
