"""Many calls at once against one daemon: deaths, interrupts, names that several want."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import anyio

from chaos.daemon import Daemon
from chaos.ledger import Call, Findings, Notice, Violation, judge
from chaos.owner import Owner, owner_of
from chaos.plans import ERROR, Plan, finishing, hanging
from chaos.sink import Deliveries, listening
from chaos.work import Work, left_alive

WORKERS = 8
SETTINGS: dict[str, Any] = {
    "max_running": 64,
    "interrupt_grace_s": 0.4,
    "exit_grace_s": 0.5,
    # whatever the machine does meanwhile, the first event decides what a call says
    "resume_confirm_s": 60.0,
    "shutdown_grace_s": 3.0,
}


async def storm(root: Path, *, total: int, seed: int) -> Findings:
    """Run `total` calls against one daemon, then stop it amid a few more."""
    socket, deliveries = root / "todo.sock", Deliveries()
    sinks = [f"dir:{root / 'd' / 'state' / 'todos'}", f"unix:{socket}"]
    daemon = Daemon(root / "d", todo_sinks=sinks, **SETTINGS)
    work = Work(seed, total)
    try:
        async with listening(socket, deliveries):
            await daemon.start()
            async with owner_of(daemon) as owner, anyio.create_task_group() as tasks:
                for worker in range(WORKERS):
                    tasks.start_soon(_worker, owner, work, f"w{worker}", Random(f"{seed}:{worker}"))
            left = left_alive(daemon, work, "after the last run")
            left += await _stop_amid(daemon, work)
    finally:
        daemon.abandon()
    notices = daemon.notices()
    wrong = [*judge(work.calls, notices), *left, *_often(deliveries, notices)]
    return Findings(work.calls, notices, wrong)


async def _worker(owner: Owner, work: Work, name: str, random: Random) -> None:
    """Owns a name: one call, or several at once, then sees them out."""
    session = ""
    while not work.full:
        known = bool(session) and owner.daemon.transcript(session)
        count = random.randint(2, 5) if random.random() < 0.08 else 1
        calls = [
            work.new("continue" if known and random.random() < 0.5 else "start", name, random)
            for _ in range(count)
        ]
        if random.random() < 0.03:
            await _miss(owner, work, random)
        session = await _burst(owner, work, calls, random) or session


async def _burst(owner: Owner, work: Work, calls: list[Call], random: Random) -> str:
    """Send all at once; the session that the name means afterwards, if one began."""
    burst = next(work.bursts) if len(calls) > 1 else 0
    for call in calls:
        call.burst = burst
        # another call of the burst may have put a session that never began in its place
        call.resumable = not burst or call.tool == "start"
    answered = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(owner.pester, calls, random, answered)
        for call in calls:
            tasks.start_soon(_one, owner, work, call, answered)
    well = [call for call in calls if call.answer == "well"]
    if len(well) > 1:  # which of them a look at the name was about cannot be known
        for call in well:
            call.view = None
    return max(well, key=lambda call: call.answered or 0.0).session_id if well else ""


async def _one(owner: Owner, work: Work, call: Call, answered: anyio.Event) -> None:
    well = await owner.make(call)
    answered.set()
    if well:
        await owner.see_out(call, work.token(call.number))
    elif "is running already" not in call.error:
        owner.look_for_rest(call, work.token(call.number))


async def _miss(owner: Owner, work: Work, random: Random) -> None:
    """A session that does not exist."""
    number = len(work.calls)
    plan = Plan("miss", (({"text": "never"},),), frozenset({ERROR}))
    call = work.new("continue", f"nobody-{number}", random, plan)
    await owner.make(call)


async def _stop_amid(daemon: Daemon, work: Work) -> list[Violation]:
    """SIGTERM while runs go on: none is left, and each is told as killed."""
    async with owner_of(daemon) as owner:
        for index in range(4):
            make = hanging if index % 2 else finishing
            random = Random(f"{work.seed}:stop:{index}")
            number = len(work.calls)
            call = work.new("start", f"late-{index}", random, make(random, work.token(number)))
            call.daemon_died = True
            await owner.make(call)
    code = await daemon.stop()
    found = [Violation(f"the daemon exited with {code} after SIGTERM")] if code else []
    if daemon.owed:
        found.append(Violation(f"{daemon.owed} notices were not delivered before the stop"))
    return found + left_alive(daemon, work, "after the daemon's stop")


def _often(deliveries: Deliveries, notices: Sequence[Notice]) -> list[Violation]:
    """Without a crash each notice is delivered once, not only under one id."""
    wanted = Counter(str(notice["id"]) for notice in notices)
    wrong = (deliveries.counts - wanted) + (wanted - deliveries.counts)
    return [
        Violation(f"notice {id_} was delivered {deliveries.counts[id_]} times") for id_ in wrong
    ]
