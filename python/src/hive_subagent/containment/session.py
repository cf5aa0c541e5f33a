"""The form for everywhere: own session, subreaper, and a sweep of what carries the run's marks.

What escapes it: a process that drops the environment *and* resets the stamped limit *and* leaves
its session *and* has lost all its ancestors before anybody looked. While no other run is open
even that one is found, since whatever this process adopts can then only be this run's.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence

from hive_subagent.containment import launcher, marker, proc
from hive_subagent.containment.ending import Extinguished, extinguish
from hive_subagent.containment.interface import Kind, Usage
from hive_subagent.containment.proc import Process
from hive_subagent.containment.roll import STRAY, Entry, Roll, Sorted
from hive_subagent.containment.scanner import Scanner
from hive_subagent.models import ProcessInfo

logger = logging.getLogger(__name__)


class SessionEnclosure:
    """One run of the session form."""

    kind: Kind = "session"

    def __init__(
        self,
        entry: Entry,
        *,
        roll: Roll,
        scanner: Scanner,
        bound_s: float,
        on_closed: Callable[[Entry], None],
    ) -> None:
        self.entry = entry
        self._roll = roll
        self._scanner = scanner
        self._bound_s = bound_s
        self._on_closed = on_closed
        self._ending: asyncio.Task[Extinguished] | None = None
        self._cpu_ticks = 0
        self._spent_ticks = 0
        self.survivors: Sequence[ProcessInfo] = ()

    @property
    def environment(self) -> Mapping[str, str]:
        value = marker.variable_value(self._roll.identity, self.entry.run_id)
        return {marker.VARIABLE: value}

    def launcher(self, argv: Sequence[str]) -> list[str]:
        return launcher.session(argv, stamp=self.entry.stamp)

    def adopt(self, pid: int) -> None:
        root = proc.look(pid)
        if root is not None and root.parent == os.getpid():
            self._roll.set_root(self.entry, root)

    def processes(self) -> list[ProcessInfo]:
        return [proc.describe(process) for process in self._mine(self._scanner.near(self.entry))]

    async def end(self) -> list[ProcessInfo]:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        ended = await asyncio.shield(self._ending)
        return list(ended.killed)

    async def _end(self) -> Extinguished:
        try:
            ended = await extinguish(
                self._find, self._find_anywhere, bound_s=self._bound_s, groups=True
            )
        except BaseException:
            self._ending = None
            raise
        self.survivors = tuple(ended.survivors)
        if ended.survivors:
            self._ending = None  # another call tries again
            logger.warning(
                "run %s: not dead after %g s: %s",
                self.entry.run_id,
                self._bound_s,
                ", ".join(f"{p.pid} ({p.command})" for p in ended.survivors),
            )
        else:
            self.entry.ended = True
        return ended

    async def _find(self) -> list[Process]:
        async with self._scanner.turn:
            await asyncio.sleep(0)  # held over a turn of the loop, or nobody would queue
            members = self._mine(self._scanner.near(self.entry))
        self._count(members)
        return members

    async def _find_anywhere(self) -> list[Process]:
        members = self._mine(await self._scanner.fresh())
        self._count(members)
        return members

    def _mine(self, result: Sorted) -> list[Process]:
        owners = [self.entry.run_id]
        others = (e for e in self._roll.runs.values() if e is not self.entry and not e.ended)
        if self.entry.root is not None and not any(others):
            owners.append(STRAY)
        return result.of(*owners)

    def usage(self) -> Usage:
        if self.entry.ended:
            return Usage(cpu_s=self._cpu_ticks / proc.TICKS_PER_SECOND, running=0, sleeping=0)
        members = self._mine(self._scanner.near(self.entry, adopted_max_age_s=1.0))
        self._count(members)
        running = sum(process.state in "RD" for process in members)
        return Usage(
            cpu_s=self._cpu_ticks / proc.TICKS_PER_SECOND,
            running=running,
            sleeping=len(members) - running,
        )

    def reaped(self, process: Process) -> None:
        """Keep the time of an adopted process that this daemon has just reaped."""
        self._spent_ticks += process.cpu_ticks

    def _count(self, members: Sequence[Process]) -> None:
        ticks = self._spent_ticks + sum(process.cpu_ticks for process in members)
        self._cpu_ticks = max(self._cpu_ticks, ticks)

    def close(self) -> None:
        self._on_closed(self.entry)
