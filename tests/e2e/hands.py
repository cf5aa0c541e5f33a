"""An owner's hand on a run, and what its model is told of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from e2e.fake_api import Call
from e2e.script import Say, Step, bash
from e2e.world import World

MARK = "[PARENT INTERVENTION]"


@dataclass(frozen=True)
class Gate:
    """A shell tool that waits for its file."""

    file: Path

    @property
    def tool(self) -> Say:
        pause = "perl -e 'select undef, undef, undef, 0.02'"
        waiting = f"touch {self.file}.begun; until [ -e {self.file} ]; do {pause}; done"
        return bash(f"{waiting}; touch {self.file}.passed")

    async def begun(self) -> None:
        """Wait until the tool runs."""
        begun = anyio.Path(f"{self.file}.begun")
        with anyio.fail_after(30):
            while not await begun.exists():  # noqa: ASYNC110
                await anyio.sleep(0.02)

    @property
    def passed(self) -> bool:
        """Whether the tool has run to its end."""
        return Path(f"{self.file}.passed").exists()

    def open(self) -> None:
        self.file.touch()


def gate(world: World, name: str = "gate") -> Gate:
    return Gate(world.sandbox.root / name)


def told(calls: list[Call], words: str) -> list[int]:
    """For each request, how often it holds these words."""
    return [json.dumps(call.messages).count(words) for call in calls]


async def in_tool(world: World, name: str, *, count: int = 1) -> None:
    """Until that many requests were made and this run sits in a tool."""
    with anyio.fail_after(30):
        while True:
            status = await world.must("status", name=name)
            if len(world.api.calls) >= count and status["open_tool"]:
                return
            await anyio.sleep(0.02)


async def begin(world: World, *steps: Step, name: str = "lint", **arguments: Any) -> str:
    """Start a run with this script, and wait until it is in its first tool; names the script."""
    named = world.api.script(*steps)
    await world.start(name, named, **arguments)
    await in_tool(world, name)
    return named


async def intervene(
    world: World, kind: str, text: str, *, name: str = "lint", **arguments: Any
) -> str:
    """The state in the receipt."""
    reply = await world.must("intervene", name=name, kind=kind, text=text, **arguments)
    return str(reply["state"])


async def pending(world: World, name: str = "lint") -> list[str]:
    """The states of what has not arrived."""
    session = await world.must("status", name=name)
    return [note["state"] for note in session["interventions"]]
