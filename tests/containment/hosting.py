"""Starting and speaking to `host.py`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

HOST = Path(__file__).with_name("host.py")


class Host:
    """A running host: its process, and the pids that its run printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.root = 0
        self.said: list[int] = []

    async def hear(self) -> tuple[str, Any]:
        assert self.process.stdout is not None
        read = asyncio.to_thread(self.process.stdout.readline)
        word, _, value = (await asyncio.wait_for(read, 30)).partition(" ")
        return word, json.loads(value or "null")

    async def ask(self, command: str) -> list[int]:
        """Send a command and return the pids of the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        word, pids = await self.hear()
        assert word == "died", word
        return list(pids)


@contextlib.asynccontextmanager
async def hosted(identity: str, script: str, *, strays: bool = False) -> AsyncIterator[Host]:
    """A host whose run has printed its pids and then "ready"; killed at the end."""
    argv = [sys.executable, str(HOST), identity, "strays" if strays else "no", script]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        host = Host(process)
        try:
            while (heard := await host.hear())[0] != "ready":
                word, value = heard
                assert word in ("root", "said"), heard
                if word == "root":
                    host.root = value
                else:
                    host.said.append(int(value))
            yield host
        finally:
            process.kill()
