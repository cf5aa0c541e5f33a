"""A parent that writes into the files of a channel."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio

from hive_subagent.intervention.channel import Channel
from hive_subagent.system import inotify

BOUND_S = 20.0


class Parent:
    """Writes files, and remembers what came out at the other end."""

    def __init__(self, directory: Path) -> None:
        self.got: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self._came = anyio.Event()
        self.channel = Channel(directory, watches=inotify.Watches(), put=self._put)
        self.directory = directory

    def _put(self, kind: str, text: str, id: str) -> None:
        self.got.append((kind, text))
        self.ids.append(id)
        self._came.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(BOUND_S):
            while not condition():
                self._came = anyio.Event()
                await self._came.wait()

    def write(self, name: str, content: bytes) -> None:
        (self.directory / name).write_bytes(content)

    def move_in(self, name: str, content: bytes) -> None:
        draft = self.directory.parent / f"draft-{name}"
        draft.write_bytes(content)
        draft.rename(self.directory / name)

    @property
    def output(self) -> str:
        file = self.directory / "output.txt"
        return file.read_text() if file.exists() else ""

    @property
    def files(self) -> list[str]:
        return sorted(os.listdir(self.directory))
