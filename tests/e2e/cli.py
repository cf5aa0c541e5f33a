"""The CLI without the daemon: what another user of the same machine does with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio

from e2e.world import World

ARGUMENTS = ("-p", "--verbose", "--output-format=stream-json", "--dangerously-skip-permissions")


async def speak(world: World, prompt: str, *flags: str, directory: Path | None = None) -> str:
    """One turn in text mode; the id of its session."""
    done = await anyio.run_process(
        [world.program, *ARGUMENTS, *flags],
        input=prompt.encode(),
        cwd=directory or world.sandbox.dir,
        env=world.sandbox.environment(world.api.url),
    )
    return str(events(done.stdout)[-1]["session_id"])


def events(output: bytes) -> list[dict[str, Any]]:
    """The lines of a stream."""
    return [json.loads(line) for line in output.split(b"\n") if line]
