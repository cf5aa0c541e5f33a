"""A daemon beside the one that is being killed: it keeps all its children all the time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import anyio

from chaos import processes
from chaos.daemon import Daemon
from chaos.ledger import Call, Findings, Violation, judge
from chaos.owner import Owner, owner_of
from chaos.plans import Plan, finishing
from chaos.storm import SETTINGS
from chaos.work import Work, left_alive

LONG = 3


class Neighbour:
    """Three runs that go on for ever and a stream of short ones, under a `state_dir` of its own."""

    def __init__(self, daemon: Daemon, seed: int) -> None:
        self.daemon = daemon
        self._work = Work(seed, 0)
        self._random = Random(f"{seed}:neighbour")
        self._long: list[Call] = []
        self._left: list[Violation] = []

    @classmethod
    @asynccontextmanager
    async def beside(cls, root: Path, seed: int) -> AsyncIterator[Neighbour]:
        """Run it; at the end its long runs are interrupted and it is stopped."""
        neighbour = cls(Daemon(root, **SETTINGS), seed)
        try:
            await neighbour.daemon.start()
            async with owner_of(neighbour.daemon) as owner:
                await neighbour._start_long(owner)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(neighbour._short, owner)
                    yield neighbour
                    neighbour._work.total = 0
                await neighbour._end_long(owner)
            await neighbour.daemon.stop()
        finally:
            neighbour.daemon.abandon()

    def look(self) -> list[Violation]:
        """Whether all long runs are still there."""
        return [
            Violation("the other daemon lost this child", call)
            for call in self._long
            if not processes.alive(call.pid)
        ]

    def findings(self) -> Findings:
        """What came of all its runs."""
        notices = self.daemon.notices()
        wrong = judge(self._work.calls, notices)
        return Findings(self._work.calls, notices, wrong + self._left)

    async def _start_long(self, owner: Owner) -> None:
        for index in range(LONG):
            token = self._work.token(len(self._work.calls))
            steps = ({"spawn": f": ; sleep 3600.{token}; :", "setsid": True}, {"hang": True})
            plan = Plan("long", (steps,), frozenset())
            call = self._work.new("start", f"long-{index}", self._random, plan)
            self._long.append(call)
            await owner.make(call)

    async def _short(self, owner: Owner) -> None:
        work = self._work
        work.total = 1_000_000
        while not work.full:
            plan = finishing(self._random, work.token(len(work.calls)))
            call = work.new("start", "short", self._random, plan)
            if await owner.make(call):
                await owner.see_out(call, work.token(call.number))
            await anyio.sleep(0.2)

    async def _end_long(self, owner: Owner) -> None:
        for call in self._long:
            token = self._work.token(call.number)
            if len(processes.naming(f"3600.{token}")) < 2:
                self._left.append(Violation("the other daemon lost a grandchild", call))
            call.interrupted = await owner.interrupt(call, force=True)
            await owner.see_out(call, token)
        self._left += left_alive(self.daemon, self._work, "beside, after its last run")
