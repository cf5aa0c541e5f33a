"""The owner's side: calls the daemon's tools and writes what came of it into the ledger."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import anyio
from mcp import Client
from mcp.types import CallToolResult

from chaos import processes
from chaos.daemon import Daemon
from chaos.ledger import Call

CALL_S = 300.0


class Owner:
    """One connection to one life of a daemon."""

    def __init__(self, daemon: Daemon, client: Client) -> None:
        self.daemon = daemon
        self._client = client

    async def tool(self, name: str, /, **arguments: Any) -> CallToolResult:
        """Call one tool. Raises whatever the transport does when the daemon is gone."""
        return await self._client.call_tool(name, arguments, read_timeout_seconds=CALL_S)

    async def make(self, call: Call) -> bool:
        """Carry out `start` or `continue`; whether it was answered well."""
        call.sent = time.time()
        result = await self.tool(call.tool, **_arguments(self.daemon, call))
        call.answered = time.time()
        if result.is_error:
            call.answer, call.error = "error", text(result)
            return False
        reply = result.structured_content or {}
        call.answer, call.session_id, call.pid = "well", reply["session_id"], reply["pid"]
        return True

    async def see_out(self, call: Call, token: str) -> None:
        """Wait for the end of a run, then look for what is left of it."""
        result = await self.tool("wait", names=[call.name], timeout_s=CALL_S / 2)
        view = (result.structured_content or {"sessions": [{}]})["sessions"][0]
        if view.get("session_id") == call.session_id:
            call.view = view
        self.look_for_rest(call, token)

    def look_for_rest(self, call: Call, token: str) -> None:
        """Intervention what is alive of a run that is over."""
        call.left = list(processes.naming(f"3600.{token}").values())
        if call.session_id and call.session_id in _command(call.pid):
            call.left.append(f"claude itself, pid {call.pid}")

    async def pester(self, calls: list[Call], random: Random, answered: anyio.Event) -> None:
        """Interrupt what runs under a name, as often as it takes if that never ends.

        `answered` is set with the first answer; some interrupts come before it.
        """
        endless = any(not call.plan.endings for call in calls)
        if not endless and random.random() < 0.6:
            return
        accepted: list[bool] = []
        if random.random() < 0.7:
            await answered.wait()
        await anyio.sleep(random.choice([0.0, 0.05, 0.3, 0.6]) * random.random())
        while True:
            async with anyio.create_task_group() as tasks:
                for _ in range(random.choice([1, 1, 2])):
                    force = random.random() < 0.4
                    tasks.start_soon(self._interrupt, calls[0], force, accepted)
            if not endless or all(each.answered and not self._lives(each) for each in calls):
                break
            await anyio.sleep(0.1)
        for call in calls:
            call.interrupted = any(accepted)

    async def interrupt(self, call: Call, *, force: bool) -> bool:
        """Stop what runs under the call's name; whether anything was."""
        result = await self.tool("interrupt", name=call.name, force=force)
        return not result.is_error

    async def _interrupt(self, call: Call, force: bool, accepted: list[bool]) -> None:
        accepted.append(await self.interrupt(call, force=force))

    def _lives(self, call: Call) -> bool:
        return call.answer == "well" and call.session_id in _command(call.pid)


def text(result: CallToolResult) -> str:
    """The words of an answer."""
    return "\n".join(part.text for part in result.content if part.type == "text")


@asynccontextmanager
async def owner_of(daemon: Daemon) -> AsyncIterator[Owner]:
    """Connect to a daemon that serves."""
    async with Client(f"{daemon.url}/mcp") as client:
        yield Owner(daemon, client)


def _arguments(daemon: Daemon, call: Call) -> dict[str, Any]:
    plan = call.plan
    directive = f"[[STUB {json.dumps(plan.script)}]]"
    arguments: dict[str, Any] = {"name": call.name}
    if plan.goal:
        arguments["max_turns"] = plan.max_turns
    if call.dir:
        arguments["dir"] = call.dir
    # every turn of a goal run repeats the goal, so the script travels with it
    arguments["goal"] = f"{directive} call {call.number}" if plan.goal else ""
    prompt = "Go on." if plan.goal else f"{directive} Go on."
    if call.tool == "continue":
        return arguments | {"prompt": prompt}
    return arguments | {"trigger": prompt, "prompt_file": str(brief(daemon))}


def brief(daemon: Daemon) -> Path:
    """The file with everybody's instructions."""
    file = daemon.root / "brief.md"
    if not file.exists():
        file.write_text("Do what you are told.\n")
    return file


def _command(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
