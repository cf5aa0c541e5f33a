"""The form under a delegated cgroup v2: one leaf for each run.

Nothing leaves a leaf by forking, whatever it does to its session, its parents or its environment.
The marks are set all the same and swept for: a process that was moved elsewhere by a service
manager (a login session inside the run, say) still carries them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hive_subagent.containment import marker, proc
from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.containment.interface import Kind, OomScope, ProcessInfo, Usage
from hive_subagent.containment.ownership import Entry, Sorted
from hive_subagent.containment.proc import Process
from hive_subagent.containment.process_session import SessionEnclosure, Shared
from hive_subagent.containment.run_cgroups import RunCgroups
from hive_subagent.containment.termination import Extinguished, cannot_look

logger = logging.getLogger(__name__)

# a root that lives on a second after a kill was not its victim; a victim needs milliseconds
SETTLED_S = 1.0

_LOOK_S = 0.25  # for command lines before a kill; after that names must do


class CgroupEnclosure(SessionEnclosure):
    """One run in its leaf."""

    kind: Kind = "cgroup"

    def __init__(self, entry: Entry, shared: Shared, *, leaf: Cgroup, leaves: RunCgroups) -> None:
        super().__init__(entry, shared)
        self.leaf = leaf
        self._leaves = leaves
        self._memory_max = leaf.read("memory.max") or ""
        self._oom = OomAccount(leaf, leaves.unit, root_lives=lambda: bool(self._root()))
        self._oom_watch = leaves.watches.add(leaf.path / "memory.events", self._oom.update)
        self._last: Usage | None = None

    def launcher(self, argv: Sequence[str]) -> list[str]:
        return marker.cgroup_launcher(argv, stamp=self.entry.stamp, leaf=self.leaf.path)

    def _root(self) -> list[Process]:
        """The root as it is now, if it lives."""
        root = self.entry.root
        now = proc.look(root.pid) if root is not None else None
        lives = now is not None and root is not None and now.key == root.key and now.alive
        return [now] if now is not None and lives else []

    def _members(self, result: Sorted) -> list[Process]:
        found = {process.key: process for process in super()._members(result)}
        found |= {process.key: process for process in proc.alive(self.leaf.pids())}
        return self._in_order(found.values())

    def _in_order(self, processes: Iterable[Process]) -> list[Process]:
        root = self.entry.root.key if self.entry.root is not None else None
        return sorted(processes, key=lambda p: (p.key != root, p.started, p.pid))

    def _to_kill(self, result: Sorted) -> list[Process]:
        """With the last run ends what sits in no run's leaf: nothing else can have started it."""
        marked = super()._members(result)
        try:
            foreign = self._leaves.foreign_pids() if self._is_last() else []
            found = [*marked, *proc.alive([*self.leaf.pids(), *foreign])]
        except OSError:
            # what carries a mark dies all the same; once nothing is left of that, this is raised
            if not marked:
                raise
            found = marked
        return self._in_order({process.key: process for process in found}.values())

    def _strike(self, found: Mapping[int, Process]) -> None:
        self.leaf.kill()
        if self._is_last():
            self._leaves.kill_foreign()
        super()._strike(found)

    async def _extinguish(self) -> Extinguished:
        self._last = None
        async with self._scanner.turn:
            await asyncio.sleep(0)
            struck = self._strike_at_once()
        ended = await super()._extinguish()
        if ended.complete:
            ended = replace(ended, blind=await self._unseen())
        if self._is_last():
            await self._leaves.remove_foreign()
        if ended.complete:
            # where no descriptor is left, `usage` tries again, and the log says less
            with contextlib.suppress(OSError):
                self._last = self._measured()
                self._report_refused_pids(self._last)
        living = {info.pid for info in ended.survivors}
        killed = {info.pid: info for info in struck if info.pid not in living}
        killed |= {info.pid: info for info in ended.killed if info.pid not in killed}
        return replace(ended, killed=list(killed.values()))

    async def _unseen(self) -> str:
        """Why the leaf is not known to be empty though nobody is seen in it."""
        try:
            if await self._leaves.emptied(self.leaf, timeout_s=self._bound_s):
                return ""
        except OSError as error:
            return cannot_look(error)
        return f"{self.leaf.path}: the kernel says that somebody lives in it"

    def _report_refused_pids(self, usage: Usage) -> None:
        if usage.pids_refused:
            logger.warning(
                "run %s: the kernel refused it %d processes or threads at its limit of %s",
                self.entry.run_id,
                usage.pids_refused,
                usage.pids_max,
            )

    def _strike_at_once(self) -> list[ProcessInfo]:
        """Kill all of the leaf before looking at anything closely; what was in it.

        A run that forks without end gets slower to look at with every moment.
        """
        seen: dict[tuple[int, int], ProcessInfo] = {}
        with contextlib.suppress(OSError):  # out of descriptors: what follows deals with it
            # the root may be on its way in: then it is struck, too
            there = [*self._root(), *proc.alive(self.leaf.pids())]
            deadline = time.monotonic() + _LOOK_S
            for process in there:
                if process.key not in seen:
                    hurry = time.monotonic() > deadline
                    seen[process.key] = proc.describe(process, by_name=hurry)
        self.leaf.kill()
        return list(seen.values())

    def usage(self) -> Usage:
        if self._last is not None:
            return self._last
        try:
            return self._measured()
        except OSError:  # no descriptor is left: what is unknown must cost no run its ending
            return replace(super().usage(), cpu_s=None)

    def _measured(self) -> Usage:
        """Raises OSError where descriptors have run out."""
        self._oom.update()
        microseconds = self.leaf.keyed("cpu.stat").get("usage_usec")
        seen = super().usage()
        return replace(
            seen,
            cpu_s=seen.cpu_s if microseconds is None else microseconds / 1_000_000,
            peak_memory_bytes=self.leaf.number("memory.peak"),
            memory_max_bytes=self.leaf.number("memory.max"),
            memory_max_lost=self._lost_limit(),
            oom_kills=self._oom.kills,
            oom_survived=None if self._oom.kills is None else self._oom.survived,
            oom_scope=self._oom.scope,
            pids_max=self.leaf.number("pids.max"),
            pids_refused=self.leaf.keyed("pids.events").get("max"),
            frozen=self.leaf.keyed("cgroup.events").get("frozen") == 1,
            # adding it up looks at every leaf: only where it says why a run died
            left_memory_bytes=self._leaves.left_memory() if self._oom.scope == "service" else None,
        )

    def _lost_limit(self) -> int | None:
        """The memory limit that was set and does not hold: the run's user can lift it."""
        was = self._memory_max
        return int(was) if was.isdigit() and self.leaf.read("memory.max") != was else None

    def close(self) -> None:
        self._leaves.watches.remove(self._oom_watch)
        self._oom_watch = None
        self._oom.close()
        self._leaves.remove(self.leaf)
        self._leaves.report_left_memory()
        super().close()


class OomAccount:
    """The kernel's kills in one leaf.

    The counters say how many died, and not which: `survived` counts those that the root outlived.
    """

    def __init__(self, leaf: Cgroup, unit: Cgroup, *, root_lives: Callable[[], bool]) -> None:
        self._leaf = leaf
        self._unit = unit
        self._root_lives = root_lives
        self._at_own_limit = 0
        self._at_units_limit = unit.keyed("memory.events.local").get("oom", 0)
        self._timers: set[asyncio.TimerHandle] = set()
        self.kills: int | None = 0 if leaf.read("memory.events") is not None else None
        self.survived = 0
        self.scope: OomScope | None = None

    def update(self) -> None:
        """Read the counters; to be called when they may have changed, and at the end.

        A leaf without them, or one that lets nobody read them, has lost the account: `kills` is
        None from then on. Raises OSError where descriptors have run out.
        """
        if self.kills is None:
            return
        events = self._leaf.keyed("memory.events")
        if not events:
            if os.path.isdir(self._leaf.path):
                self.kills = None
            return
        fresh = events.get("oom_kill", 0) - self.kills
        if fresh > 0:
            # before anything is counted: where it fails, the next look finds the same kills
            self.scope = self._blame(events.get("oom", 0))
            self.kills += fresh
            self._judge_later(fresh)

    def _blame(self, at_own_limit: int) -> OomScope:
        """`oom` counts at the cgroup whose limit was hit, and above; `.local` only there."""
        at_units_limit = self._unit.keyed("memory.events.local").get("oom", 0)
        own, units = at_own_limit > self._at_own_limit, at_units_limit > self._at_units_limit
        self._at_own_limit, self._at_units_limit = at_own_limit, at_units_limit
        if own:
            return "run"
        return "service" if units else "machine"

    def _judge_later(self, kills: int) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return

        def judge() -> None:
            self._timers.discard(timer)
            try:
                lives = self._root_lives()
            except OSError:  # no descriptor is left: a root that lives on still shows it later
                self._judge_later(kills)
                return
            if lives:
                self.survived += kills

        timer = loop.call_later(SETTLED_S, judge)
        self._timers.add(timer)

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
