"""The form for everywhere: own session, subreaper, and a sweep of what carries the run's marks.

What escapes it: a process that drops the environment *and* resets the stamped limit *and* leaves
its session *and* has lost all its ancestors before anybody looked. While no other run is open
even that one is found, since whatever this process adopts can then only be this run's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hive_subagent.containment import marker, proc, termination
from hive_subagent.containment.interface import Kind, ProcessInfo, Usage
from hive_subagent.containment.ownership import STRAY, Entry, Ownership, Sorted
from hive_subagent.containment.proc import Process
from hive_subagent.containment.scanner import Scanner
from hive_subagent.containment.termination import Extinguished, extinguish

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shared:
    """What every run of one daemon shares."""

    ownership: Ownership
    scanner: Scanner
    bound_s: float
    on_closed: Callable[[Entry], None]


def report_incomplete(whose: str, ended: Extinguished, bound_s: float) -> None:
    """Log what an ending left, or that it could not look."""
    if ended.survivors:
        logger.warning("%s: not dead after %g s: %s", whose, bound_s, ended.named_survivors)
    if ended.blind:
        logger.error(
            "%s: cannot look whether all of it is dead, so something may live on: %s",
            whose,
            ended.blind,
        )


class SessionEnclosure:
    """One run of the session form."""

    kind: Kind = "session"

    def __init__(self, entry: Entry, shared: Shared) -> None:
        self.entry = entry
        self._ownership = shared.ownership
        self._scanner = shared.scanner
        self._bound_s = shared.bound_s
        self._on_closed = shared.on_closed
        self._ending: asyncio.Task[Extinguished] | None = None
        self._cpu_ticks = 0
        self._spent_ticks = 0
        self.remains = ""

    @property
    def environment(self) -> Mapping[str, str]:
        value = marker.variable_value(self._ownership.identity, self.entry.run_id)
        return {marker.VARIABLE: value}

    def launcher(self, argv: Sequence[str]) -> list[str]:
        return marker.session_launcher(argv, stamp=self.entry.stamp)

    def adopt(self, pid: int) -> None:
        root = proc.look(pid)
        if root is not None and root.parent == os.getpid():
            self._ownership.set_root(self.entry, root)

    def processes(self) -> list[ProcessInfo]:
        return [proc.describe(process) for process in self._members(self._near())]

    async def end(self) -> list[ProcessInfo]:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(), name=f"end of {self.entry.run_id}")
        ended = await asyncio.shield(self._ending)
        return list(ended.killed)

    async def _end(self) -> Extinguished:
        try:
            ended = await self._extinguish()
        except BaseException:
            self._ending = None
            raise
        self.remains = ended.remains
        self.entry.ended = ended.complete
        if not ended.complete:
            self._ending = None  # another call tries again
            report_incomplete(f"run {self.entry.run_id}", ended, self._bound_s)
        return ended

    async def _extinguish(self) -> Extinguished:
        return await extinguish(
            self._find, self._find_anywhere, bound_s=self._bound_s, strike=self._strike
        )

    def _strike(self, found: Mapping[int, Process]) -> None:
        """Hit many at once before each is hit by itself, so that no fork slips through."""
        for fd, process in found.items():
            if process.pid == process.group:  # in one session with the run's, so the run's
                termination.kill_group(fd)

    async def _find(self) -> list[Process]:
        async with self._scanner.turn:
            await asyncio.sleep(0)  # held over a turn of the loop, or nobody would queue
            return self._to_kill(self._near())

    async def _find_anywhere(self) -> list[Process]:
        return self._to_kill(await self._scanner.fresh())

    def _to_kill(self, result: Sorted) -> list[Process]:
        return self._members(result)

    def _near(self, *, adopted_max_age_s: float = 0.0) -> Sorted:
        return self._scanner.near(self.entry, adopted_max_age_s=adopted_max_age_s)

    def _is_last(self) -> bool:
        """Whether no other run is open: a process without any mark is this run's then."""
        others = (each for each in self._ownership.runs.values() if each is not self.entry)
        return self.entry.root is not None and all(each.ended for each in others)

    def _members(self, result: Sorted) -> list[Process]:
        """What a look, partial or not, shows alive of the run; adds up its time."""
        members = result.of(self.entry.run_id, *([STRAY] if self._is_last() else []))
        ticks = self._spent_ticks + sum(process.cpu_ticks for process in members)
        self._cpu_ticks = max(self._cpu_ticks, ticks)
        return members

    def usage(self) -> Usage:
        members: list[Process] = []
        if not self.entry.ended:
            # what cannot be looked at is left to the end, which says so
            with contextlib.suppress(OSError):
                members = self._members(self._near(adopted_max_age_s=1.0))
        running = sum(process.state in "RD" for process in members)
        stopped = sum(process.state in "Tt" for process in members)
        return Usage(
            cpu_s=self._cpu_ticks / proc.TICKS_PER_SECOND,
            running=running,
            sleeping=len(members) - running - stopped,
            stopped=stopped,
        )

    def reaped(self, process: Process) -> None:
        """Keep the time of an adopted process that this daemon has just reaped."""
        self._spent_ticks += process.cpu_ticks

    def close(self) -> None:
        self._on_closed(self.entry)
