"""The form under a delegated cgroup v2: one leaf for each run.

Nothing leaves a leaf by forking, whatever it does to its session, its parents or its
environment. The marks are set all the same and swept for: a process that was moved elsewhere by
a service manager (a login session inside the run, say) still carries them. What has moved itself
within the unit is found there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hive_subagent.containment import launcher, proc
from hive_subagent.containment.cgroupfs import Cgroup
from hive_subagent.containment.escapees import Escapees
from hive_subagent.containment.interface import Kind, Usage
from hive_subagent.containment.oom import OomAccount
from hive_subagent.containment.ownership import Entry, Sorted
from hive_subagent.containment.proc import Process
from hive_subagent.containment.process_session import SessionEnclosure, Ties
from hive_subagent.containment.run_cgroups import RunCgroups
from hive_subagent.containment.termination import Extinguished, cannot_look
from hive_subagent.models.session import ProcessInfo

logger = logging.getLogger(__name__)

_LIMITS = ("memory.max", "memory.swap.max", "pids.max")
_LOOK_S = 0.25  # for command lines before a kill; after that names must do


class CgroupEnclosure(SessionEnclosure):
    """One run in its leaf."""

    kind: Kind = "cgroup"

    def __init__(
        self,
        entry: Entry,
        ties: Ties,
        *,
        leaf: Cgroup,
        leaves: RunCgroups,
        outside: Escapees,
    ) -> None:
        super().__init__(entry, ties)
        self.leaf = leaf
        self._leaves = leaves
        self._outside = outside
        self._limits = self._limits_now()
        self._oom = OomAccount(leaf, leaves.unit, root_lives=lambda: bool(self._root()))
        self._oom_watch = leaves.watches.add(leaf.path / "memory.events", self._oom.update)
        self._last: Usage | None = None

    def launcher(self, argv: Sequence[str]) -> list[str]:
        self.entry.launching = True
        return launcher.cgroup(argv, stamp=self.entry.stamp, leaf=self.leaf.path)

    def _root(self) -> list[Process]:
        """The root as it is now, if it lives."""
        root = self.entry.root
        now = proc.look(root.pid) if root is not None else None
        lives = now is not None and root is not None and now.key == root.key and now.alive
        return [now] if now is not None and lives else []

    def _members(self, result: Sorted) -> list[Process]:
        found = {process.key: process for process in super()._members(result)}
        found |= {process.key: process for process in self._inside()}
        return self._in_order(found.values())

    def _inside(self) -> list[Process]:
        found = (proc.look(pid) for pid in self.leaf.pids())
        return [process for process in found if process is not None and process.alive]

    def _in_order(self, processes: Iterable[Process]) -> list[Process]:
        root = self.entry.root.key if self.entry.root is not None else None
        return sorted(processes, key=lambda p: (p.key != root, p.started, p.pid))

    async def _find(self) -> list[Process]:
        return self._and_strangers(await super()._find())

    async def _find_anywhere(self) -> list[Process]:
        return self._and_strangers(await super()._find_anywhere())

    def _and_strangers(self, members: list[Process]) -> list[Process]:
        """Who has left its leaf without anything that tells of which run goes with the next end."""
        strangers = self._outside.strangers(but=self.entry)
        return list({process.key: process for process in [*members, *strangers]}.values())

    def _strike(self, found: Mapping[int, Process]) -> None:
        self._outside.strike()
        self.leaf.kill()
        super()._strike(found)

    async def _extinguish(self) -> Extinguished:
        self._last = None
        async with self._scanner.turn:
            await asyncio.sleep(0)
            struck = self._strike_at_once()
        ended = await super()._extinguish()
        if ended.complete:
            ended = replace(ended, blind=await self._unseen())
        self._outside.give_up(ended.survivors)
        await self._outside.tidy()
        if ended.complete:
            # where no descriptor is left, `usage` tries again, and the log says less
            with contextlib.suppress(OSError):
                self._last = self._measured()
                self._tell_changes()
                self._tell_pids()
        living = {info.pid for info in ended.survivors}
        told = {info.pid: info for info in struck if info.pid not in living}
        told |= {info.pid: info for info in ended.killed if info.pid not in told}
        return replace(ended, killed=list(told.values()))

    async def _unseen(self) -> str:
        """Why the leaf is not known to be empty though nobody is seen in it."""
        try:
            if await self._leaves.emptied(self.leaf, timeout_s=self._bound_s):
                return ""
        except OSError as error:
            return cannot_look(error)
        return f"{self.leaf.path}: the kernel says that somebody lives in it"

    def _limits_now(self) -> dict[str, str | None]:
        return {name: self.leaf.read(name) for name in _LIMITS}

    def _lost(self) -> int | None:
        """The limit that was set and does not hold."""
        was = self._limits["memory.max"] or ""
        return int(was) if was.isdigit() and self.leaf.read("memory.max") != was else None

    def _tell_pids(self) -> None:
        refused = self.leaf.keyed("pids.events").get("max")
        if refused:
            logger.warning(
                "run %s: the kernel refused it %d processes or threads at its limit of %s",
                self.entry.run_id,
                refused,
                self.leaf.read("pids.max"),
            )

    def _tell_changes(self) -> None:
        for name, now in self._limits_now().items():
            if now != self._limits[name]:
                logger.warning(
                    "run %s: its %s was set to %s and is %s at its end: something with its user"
                    " has changed that",
                    self.entry.run_id,
                    name,
                    self._limits[name] or "nothing",
                    now or "not there",
                )

    def _strike_at_once(self) -> list[ProcessInfo]:
        """Kill all of the leaf before looking at anything closely; what was in it.

        A run that forks without end gets slower to look at with every moment.
        """
        seen: dict[tuple[int, int], ProcessInfo] = {}
        with contextlib.suppress(OSError):  # out of descriptors: what follows deals with it
            # the root may be on its way in: then it is struck, too
            there = [*self._root(), *self._inside()]
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
            memory_max_lost=self._lost(),
            oom_kills=self._oom.kills,
            oom_survived=None if self._oom.kills is None else self._oom.survived,
            oom_scope=self._oom.scope,
            pids_max=self.leaf.number("pids.max"),
            pids_refused=self.leaf.keyed("pids.events").get("max"),
            frozen=self.leaf.keyed("cgroup.events").get("frozen") == 1,
            # adding it up looks at every leaf: only where it says why a run died
            left_memory_bytes=self._leaves.left_memory() if self._oom.scope == "service" else None,
        )

    def close(self) -> None:
        self._leaves.watches.remove(self._oom_watch)
        self._oom_watch = None
        self._oom.close()
        self._leaves.remove(self.leaf)
        self._leaves.tell_left_memory()
        super().close()
