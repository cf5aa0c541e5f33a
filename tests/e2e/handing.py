"""Delegating to the real CLI, and waiting for what comes of it."""

from __future__ import annotations

import json
from typing import Any

from e2e.world import World


async def delegate(world: World, *each: tuple[str, str], **further: Any) -> dict[str, Any]:
    """Delegate (role, task) each; the answer."""
    tasks = [{"role": role, "task": task} for role, task in each]
    return await world.must("delegate", tasks=tasks, **further)


async def over(world: World, reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The sessions of a delegation, once it is over."""
    waited = await world.must("wait", names=[reply["delegation"]], timeout_s=90)
    assert waited["done"], waited
    print(json.dumps(waited["sessions"], indent=1))  # shown where the test failed
    sessions: list[dict[str, Any]] = waited["sessions"]
    return sessions
