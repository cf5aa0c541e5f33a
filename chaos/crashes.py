"""SIGKILL of the daemon at random moments, and what its successor owes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import anyio
import httpx2
from mcp.shared.exceptions import MCPError

from chaos.daemon import ELSEWHERE, Daemon
from chaos.ledger import Call, Findings, Violation, judge
from chaos.neighbour import Neighbour
from chaos.owner import Owner, owner_of
from chaos.plans import finishing
from chaos.storm import SETTINGS
from chaos.work import Work, left_alive

AT_ONCE = 5
DELIVERY_S = 30.0


async def crashes(root: Path, *, total: int, seed: int) -> Findings:
    """Kill a daemon `total` times amid its runs, with an untouched one beside it."""
    random = Random(f"{seed}:crashes")
    daemon = Daemon(root / "d", **SETTINGS)
    work = Work(seed, total)
    found: list[Violation] = []
    try:
        async with Neighbour.beside(root / "n", seed) as neighbour:
            await daemon.start()
            for number in range(total):
                calls = await _crash_amid(daemon, work, number, random)
                found += await _come_back(daemon, work, random)
                async with owner_of(daemon) as owner:
                    found += await _settle(owner, calls)
                    await _resume(owner, work, calls, random)
                found += neighbour.look()
            await daemon.stop()
            found += left_alive(daemon, work, "after the daemon's stop")
    finally:
        daemon.abandon()
    notices = daemon.notices()
    beside = neighbour.findings()
    found += [*judge(work.calls, notices), *beside.violations]
    return Findings([*work.calls, *beside.calls], [*notices, *beside.notices], found)


async def _crash_amid(daemon: Daemon, work: Work, number: int, random: Random) -> list[Call]:
    """Several calls at once, and a SIGKILL some time after they were sent."""
    calls: list[Call] = []
    for index in range(AT_ONCE):
        # now and then a name that has been used: its session is being archived, or goes on
        old = random.choice(work.calls) if work.calls and random.random() < 0.2 else None
        if old is not None and any(old.name == call.name for call in calls):
            old = None
        call = work.new("start", old.name if old else f"r{number}-{index}", random)
        # all sessions of a name begin where its first one did: which of them a call that nobody
        # answered has left behind is not known
        first = next(before for before in work.calls if before.name == call.name)
        call.dir = random.choice(["", ELSEWHERE]) if first is call else first.dir
        call.daemon_died = True
        calls.append(call)
    delay = random.uniform(0, random.choice([0.1, 1.0, 2.5]))
    async with _doomed(daemon) as owner, anyio.create_task_group() as tasks:
        for call in calls:
            tasks.start_soon(_lose, owner, call)
        await anyio.sleep(delay)
        await daemon.kill()
    return calls


async def _lose(owner: Owner, call: Call) -> None:
    # whatever the transport makes of the daemon's death, the call was not answered
    with suppress(Exception):
        await owner.make(call)


@asynccontextmanager
async def _doomed(daemon: Daemon) -> AsyncIterator[Owner]:
    """A connection whose other end dies: what that does to the client is no finding."""
    try:
        async with owner_of(daemon) as owner:
            yield owner
    except* (httpx2.TransportError, MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
        pass


async def _come_back(daemon: Daemon, work: Work, random: Random) -> list[Violation]:
    """Start it again, now and then killed once more before it serves: then nothing is left."""
    while random.random() < 0.2:
        daemon.spawn()
        await anyio.sleep(random.uniform(0, 1.0))
        await daemon.kill()
    await daemon.start()
    return left_alive(daemon, work, "once the next daemon is up")


async def _settle(owner: Owner, calls: list[Call]) -> list[Violation]:
    """Every owed notice arrives, and `status` says the same of the run."""
    daemon = owner.daemon
    with anyio.move_on_after(DELIVERY_S):
        while daemon.owed:  # noqa: ASYNC110  (its disk is all that tells)
            await anyio.sleep(0.02)
    for call in calls:
        if call.answer == "well":
            result = await owner.tool("status", name=call.name)
            view: dict[str, Any] = dict(result.structured_content or {})
            if view.get("session_id") == call.session_id:
                call.view = view
    if daemon.owed:
        return [Violation(f"{daemon.owed} notices were still owed after {DELIVERY_S} s")]
    return []


async def _resume(owner: Owner, work: Work, calls: list[Call], random: Random) -> None:
    """Every session that claude has kept goes on, without being told where."""
    async with anyio.create_task_group() as tasks:
        for call in calls:
            known = call.session_id or owner.daemon.titled(call.name)
            if known and owner.daemon.transcript(known):
                number = len(work.calls)
                plan = finishing(random, work.token(number))
                again = work.new("continue", call.name, random, plan)
                # of a start that was never answered the daemon may know nothing, claude does
                again.dir = "" if call.answer == "well" else call.dir
                tasks.start_soon(_go_on, owner, work, again)


async def _go_on(owner: Owner, work: Work, call: Call) -> None:
    if await owner.make(call):
        await owner.see_out(call, work.token(call.number))
