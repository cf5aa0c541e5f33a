"""The CLI without the daemon: what another user of the same machine does with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from e2e.world import World

ARGUMENTS = ("-p", "--verbose", "--output-format=stream-json", "--dangerously-skip-permissions")


async def speak(world: World, prompt: str, *flags: str, directory: Path | None = None) -> str:
    """One turn in text mode; the id of its session."""
    done = await anyio.run_process(
        [world.program, *ARGUMENTS, *flags],
        input=prompt.encode(),
        cwd=directory or world.sandbox.dir,
        env=world.sandbox.alone(world.api.url),
    )
    return str(events(done.stdout)[-1]["session_id"])


def events(output: bytes) -> list[dict[str, Any]]:
    """The lines of a stream."""
    return [json.loads(line) for line in output.split(b"\n") if line]


@dataclass
class Speaker:
    """A CLI spoken to over stream-json: what it has said, and a way to wait for more."""

    process: anyio.abc.Process
    said: list[dict[str, Any]] = field(default_factory=list)
    _moved: anyio.Event = field(default_factory=anyio.Event)

    async def send(self, text: str) -> None:
        """One user message."""
        message = {"type": "user", "message": {"role": "user", "content": text}}
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(message).encode() + b"\n")

    async def results(self, count: int, *, within_s: float = 60.0) -> list[dict[str, Any]]:
        """The first results, once there are that many."""
        with anyio.fail_after(within_s):
            while len(found := [e for e in self.said if e["type"] == "result"]) < count:
                await self._moved.wait()
        return found[:count]

    async def listen(self) -> None:
        """Read until the output ends."""
        assert self.process.stdout is not None
        rest = b""
        async for chunk in self.process.stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            self.said += [json.loads(line) for line in lines]
            moved, self._moved = self._moved, anyio.Event()
            moved.set()


@asynccontextmanager
async def speaking(
    world: World, *flags: str, environment: dict[str, str], bypass: bool = True
) -> AsyncIterator[Speaker]:
    """A CLI that stays for more messages; its input is closed in the end."""
    arguments = ARGUMENTS if bypass else ARGUMENTS[:-1]
    process = await anyio.open_process(
        [world.program, *arguments, "--input-format=stream-json", *flags],
        stderr=None,
        cwd=world.sandbox.dir,
        env=world.sandbox.alone(world.api.url, **environment),
    )
    async with process, anyio.create_task_group() as group:
        speaker = Speaker(process)
        group.start_soon(speaker.listen)
        yield speaker
        assert process.stdin is not None
        await process.stdin.aclose()
        await process.wait()
