"""What the tests of whole delegations share: tasks, and waiting for what comes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from support.daemon import Daemon
from support.processes import PATIENCE_S
from support.stub import script, text


def tasks(*each: str, role: str = "worker", **further: Any) -> list[dict[str, Any]]:
    """One task for each script."""
    return [{"task": does, "role": role, **further} for does in each]


def says(what: str) -> str:
    """A child that answers at once."""
    return script(text(what))


async def delegate(daemon: Daemon, *each: str, role: str = "worker", **further: Any) -> str:
    """Delegate these scripts; the delegation's id."""
    reply = await daemon.must("delegate", tasks=tasks(*each, role=role), **further)
    return str(reply["delegation"])


async def over(daemon: Daemon, delegation: str) -> list[dict[str, Any]]:
    """The children of a delegation, once it is over."""
    reply = await daemon.must("wait", names=[delegation], timeout_s=60)
    assert reply["done"], reply
    sessions: list[dict[str, Any]] = reply["sessions"]
    return sessions


async def ends(daemon: Daemon, delegation: str) -> dict[str, str]:
    """How each child ended, by the one notice of its delegation."""
    await over(daemon, delegation)
    notice = await daemon.notice(delegation)
    return {child["name"]: child["end"] for child in notice["children"]}


async def until_state(daemon: Daemon, name: str, *states: str) -> dict[str, Any]:
    """The session object of a child, once it is in one of these states."""
    return await _until(daemon, name, lambda session: session["state"] in states)


async def until_there(daemon: Daemon, name: str, field: str) -> Any:
    """A field of a child's session object, once it has a value."""
    session = await _until(daemon, name, lambda session: session[field] is not None)
    return session[field]


async def _until(
    daemon: Daemon, name: str, condition: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    with anyio.fail_after(PATIENCE_S):
        while not condition(session := await daemon.must("status", name=name)):  # noqa: ASYNC110
            await anyio.sleep(0.02)
        return session
