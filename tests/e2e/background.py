"""Commands in the background, and the session that they hold."""

from __future__ import annotations

from typing import Any

import anyio

from e2e.hands import Gate
from e2e.script import Say, Use
from e2e.world import World

LONG = "perl -e 'sleep 300'"


def in_background(gate: Gate, **arguments: Any) -> Say:
    """The gate's tool, run in the background."""
    (tool,) = gate.tool.tools
    return Say(tools=(Use("Bash", tool.input | {"run_in_background": True} | arguments),))


async def held(world: World, name: str = "build") -> dict[str, Any]:
    """The session object of a run, once its turn has an answer and background work goes on."""
    with anyio.fail_after(30):
        while True:
            session = await world.must("status", name=name)
            if session["answers"] and session["background"]:
                return session
            assert session["state"] in ("starting", "running"), session
            await anyio.sleep(0.02)
