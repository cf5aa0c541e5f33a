"""Places that take notices, for real: a socket whose answers a test chooses."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from hive_subagent.models.notices import Notice
from hive_subagent.outbox.sinks import NotAccepted

YES = b'{"ok":true}\n'


def make_notice(
    notice_id: str, *, text: str = "it ended", at: str = "2026-09-29T10:00:00Z"
) -> Notice:
    return Notice(
        id=notice_id,
        name="lint",
        session_id="0b5ed1b4-3a51-4d3c-9f6e-7a0d8c1f2e3a",
        kind="finished",
        text=text,
        report_file=None,
        at=at,
    )


class Owner:
    """Listens on `path` and answers each notice with what `answer` says; None closes instead."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answer: Callable[[dict[str, Any]], bytes | None] = lambda notice: YES
        self.received: list[dict[str, Any]] = []
        self._changed = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def ids(self) -> list[str]:
        return [notice["id"] for notice in self.received]

    async def listen(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.path, limit=1 << 24)

    async def received_ids(self, count: int) -> list[str]:
        """What came so far, as soon as it is `count` notices."""
        with anyio.fail_after(10):
            while len(self.received) < count:
                self._changed.clear()
                await self._changed.wait()
        return self.ids

    async def close(self) -> None:
        if self._server:
            self._server.close()
            for connection in self._connections:
                connection.cancel()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        try:
            notice = json.loads(await reader.readline())
            self.received.append(notice)
            self._changed.set()
            answer = self.answer(notice)
            if answer is not None:
                writer.write(answer)
                await reader.read()  # until the daemon hangs up
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()


class Place:
    """A sink in memory that outlives the outbox; `mood` says what happens to a notice."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.mood = "takes"
        self.received: list[Notice] = []

    async def deliver(self, notice: Notice) -> None:
        await anyio.lowlevel.checkpoint()
        if self.mood != "takes":
            raise NotAccepted(f"{self.key} {self.mood}", reached=self.mood == "refuses")
        self.received.append(notice)
