"""A parent that writes into the files of a channel."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio

from hive_subagent.intervention.channel import Channel
from hive_subagent.models.session import InterventionKind
from hive_subagent.system import inotify

BOUND_S = 20.0


class Collected:
    """An inbox that keeps what it is given; `room` says whether anything but a stop may come."""

    def __init__(self, *, room: bool = True) -> None:
        self.texts: list[str] = []
        self.room = room

    def put(self, kind: InterventionKind, text: str, id: str) -> None:
        self.texts.append(text)

    def has_room(self, kind: InterventionKind, size: int) -> bool:
        return self.room or kind == "stop"


class Parent:
    """Writes files, and remembers what came out at the other end."""

    def __init__(self, directory: Path) -> None:
        self.got: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self._came = anyio.Event()
        self.channel = Channel(directory, watches=inotify.Watches(), inbox=self)
        self.directory = directory

    def put(self, kind: InterventionKind, text: str, id: str) -> None:
        self.got.append((kind, text))
        self.ids.append(id)
        self._came.set()

    def has_room(self, kind: InterventionKind, size: int) -> bool:
        return True

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
